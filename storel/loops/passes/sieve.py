"""Scans that look up a sparse row pass over the elements that it does not have.

    for q in l:h { k = idx[q]; t = t + val[q] * row[k] }

does nothing where ``row`` has no entry at k, and its marks tell that from fewer bytes than its values. So
elements are tested some at a time, without a branch for each, and where none is marked their values are not
even read:

    if marks were seldom met so far
        for blocks of 8 { if any is marked { met = met + 1; … } }; if any of the last 8 is { the rest … }
    else
        for q in l:h { … }

Whether marks are seldom met is counted while it runs, as no statistic foretells whether neighbours in a
graph have neighbours in common. Sums keep their order, unless the loop may add up in parts. It is how
bitmaps are used for the triangles of graphs (Schank, Wagner, "Finding, Counting and Listing All Triangles in
Large Graphs", WEA 2005), by blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from storel.loops.bits import bit_at
from storel.loops.dependence import declared
from storel.loops.emitter import Emitter, compare, convert, index, plus, times
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Select,
    Statement,
    Update,
    While,
)
from storel.loops.types import type_of
from storel.loops.walk import note, parts, substituted
from storel.semiring import Scalar

BLOCK = 8
"""How many elements are tested together."""

OFTEN = 4
"""Marks are often met where one of so many blocks has one."""

NEUTRAL: Mapping[str, Scalar] = {"add": 0, "minimum": math.inf, "maximum": -math.inf, "or": False}
"""What each operator combines without any effect."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of values and the marks of its entries; it holds ``fill`` where there is none."""

    marks: Buffer
    fill: Scalar


def sift(kernel: Kernel) -> Kernel:
    """Return the same kernel, with the scans that look up a marked row by blocks."""
    rows = {
        each.buffer: _Row(each.marks, each.fill)
        for each in kernel.allocations
        if each.marks is not None and each.fill is not None
    }
    if not rows:
        return kernel
    compute = kernel.compute
    taken = [local.name for local in (*compute.scalars, *declared(compute.body))]
    sifting = _Sifting(rows, Emitter(taken))
    body = sifting.block(compute.body)
    return replace(kernel, compute=replace(compute, body=(*sifting.counters, *body)))


class _Sifting:
    """Rewrites blocks; ``counters`` are the statements that must come before all others."""

    def __init__(self, rows: Mapping[Buffer, _Row], emitter: Emitter) -> None:
        self.rows = rows
        self.emitter = emitter
        self.counters: tuple[Statement, ...] = ()

    def block(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(self._statement(statement) for statement in body)

    def _statement(self, statement: Statement) -> Statement:
        match statement:
            case For():
                marked = self._marked(statement)
                if marked is None:
                    return replace(statement, body=self.block(statement.body))
                return self._sifted(statement, marked)
            case While(body=body):
                return replace(statement, body=self.block(body))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body), otherwise=self.block(otherwise))
            case _:
                return statement

    def _marked(self, loop: For) -> Expression | None:
        """Return the mark, by the loop's variable, without which an iteration has no effect, if there is one.

        It is 0 or 1.
        """
        known: dict[Local, Expression] = {}
        for statement in loop.body[:-1]:
            if not isinstance(statement, Declare) or not note(statement, known):
                return None
        match loop.body[-1:]:
            case (Assign(local, Binary(operator, accumulated, value)),) if local == accumulated:
                value = substituted(value, known)
                if local in parts(value):
                    return None
            case (Update(buffer, _, operator, value),) if buffer not in self.rows:
                value = substituted(value, known)
            case _:
                return None
        looked_up = [
            part
            for part in parts(value)
            if isinstance(part, Load) and part.buffer in self.rows and _is_scattered(part, loop.local)
        ]
        for load in looked_up:
            row = self.rows[load.buffer]
            if operator in NEUTRAL and _value(value, load, row.fill) == NEUTRAL[operator]:
                return bit_at(row.marks, load.index)
        return None

    def _sifted(self, loop: For, marked: Expression) -> Statement:
        emitter = self.emitter
        met, tried, nothing = emitter.fresh("met"), emitter.fresh("tried"), Constant(0, type_of(marked))
        self.counters += (Declare(met, index(0)), Declare(tried, index(0)))

        def is_marked(place: Expression) -> Expression:
            return substituted(marked, {loop.local: place})

        with emitter.block() as seldom:
            begin = emitter.declare("begin", loop.low)
            end = emitter.declare("end", loop.high)
            count = Binary("maximum", Binary("subtract", end, begin), index(0))
            blocks = emitter.declare("blocks", Binary("floor_divide", count, index(BLOCK)))
            with emitter.block() as inside:
                number = emitter.fresh("block")
                first = emitter.declare("first", plus(begin, times(number, index(BLOCK))))
                found = emitter.declare("found", nothing)
                emitter.emit(self._test(found, is_marked, first, plus(first, index(BLOCK)), loop.role))
                with emitter.block() as here:
                    emitter.advance(met, index(1))
                    lane = emitter.fresh("lane")
                    body = emitter.iteration(loop, plus(first, lane))
                    hit = For(lane, index(0), index(BLOCK), body, Role.INDEX, partial=loop.partial)
                    emitter.emit(hit)
                emitter.emit(If(compare("not_equal", found, nothing), tuple(here)))
            emitter.emit(For(number, index(0), blocks, tuple(inside), Role.INDEX))
            emitter.advance(tried, blocks)
            self._rest(loop, is_marked, begin, end, blocks, nothing)
        is_seldom = compare("less_equal", times(met, index(OFTEN)), tried)
        return If(is_seldom, tuple(seldom), (loop,))

    def _rest(
        self,
        loop: For,
        is_marked: Callable[[Expression], Expression],
        begin: Expression,
        end: Expression,
        blocks: Expression,
        nothing: Constant,
    ) -> None:
        """Emit the iterations after the blocks, run if any of the last elements is marked. A test of a whole
        block needs no branches, so it covers the last ``BLOCK`` elements, where there are as many.
        """
        emitter = self.emitter
        found = emitter.declare("found", nothing)
        last = self._test(found, is_marked, plus(end, index(-BLOCK)), end, loop.role)
        few = self._test(found, is_marked, begin, end, loop.role)
        emitter.emit(If(compare("less", index(0), blocks), (last,), (few,)))
        rest = emitter.fresh(loop.local.name)
        first = plus(begin, times(blocks, index(BLOCK)))
        is_hit = compare("not_equal", found, nothing)
        emitter.emit(If(is_hit, (For(rest, first, end, emitter.iteration(loop, rest), Role.INDEX),)))

    def _test(
        self,
        found: Local,
        is_marked: Callable[[Expression], Expression],
        first: Expression,
        end: Expression,
        role: Role,
    ) -> For:
        """Return a loop that notes whether an element from ``first`` to before ``end`` is marked.

        It does so in a number, whose bits are combined without asking which ones there are already.
        """
        place = self.emitter.fresh("place")
        return For(place, first, end, (Assign(found, Binary("bit_or", found, is_marked(place))),), role)


def _is_scattered(load: Load, local: Local) -> bool:
    """Return whether the place that is read is itself read at a place of the loop."""
    return any(isinstance(part, Load) and local in parts(part.index) for part in parts(load.index))


def _value(expression: Expression, load: Load, fill: Scalar) -> Scalar | None:
    """Return what an expression is wherever ``load`` gives ``fill``; None where that is not known.

    A product of reals stands alone only where its factors are finite, so that zero annihilates.
    """
    if expression == load:
        return fill
    match expression:
        case Constant(value):
            return value
        case Cast(to, operand):
            value = _value(operand, load, fill)
            held = None if value is None else convert(Constant(value, to), to)
            return held.value if isinstance(held, Constant) else None
        case Binary(operator, left, right):
            return _combined(operator, _value(left, load, fill), _value(right, load, fill))
        case Select(condition, positive, negative):
            match _value(condition, load, fill):
                case True:
                    return _value(positive, load, fill)
                case False:
                    return _value(negative, load, fill)
                case _:
                    return None
        case _:
            return None


def _combined(operator: str, left: Scalar | None, right: Scalar | None) -> Scalar | None:
    known = {left, right} - {None}
    match operator:
        case "multiply" if 0 in known:
            return 0
        case "add" if known & {math.inf, -math.inf} and len(known) == 1:
            return known.pop()
        case "and" if False in known:
            return False
        case "or" if True in known:
            return True
        case "equal" if None not in (left, right):
            return left == right
        case _:
            return None
