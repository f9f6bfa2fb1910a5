"""Rows of a large table that a loop looks up are asked for before they are needed.

    for i in 0:n { for p in pos[i]:pos[i + 1] { k = idx[p]; for j in 0:64 { … d[k * 64 + j] … } } }

The processor cannot foresee where the next row is, but the program can look it up: the row of idx[p + 8] may
be fetched while this one is worked on. Segments follow each other, so all positions up to pos[n] are those
of this loop or of its next ones, and idx may be read there (Mowry, Lam, Gupta, "Design and Evaluation of a
Compiler Algorithm for Prefetching", ASPLOS 1992; Ainsworth, Jones, "Software Prefetching for Indirect Memory
Accesses", CGO 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from storel.loops.dependence import assigned, changing, is_fixed, start_of
from storel.loops.nodes import (
    Ahead,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Row,
    Statement,
    While,
)
from storel.loops.walk import all_parts, evaluated, parts, substituted, walk
from storel.symbols import ArraySymbol, Fact, Symbols

NEAR = 1 << 20
"""Bytes of a table that stays in the cache next to the core: nothing is gained by asking for it."""

LONGEST = 128
"""The most elements of a row: longer ones the processor foresees."""


def look_ahead(kernel: Kernel, symbols: Symbols) -> Kernel:
    """Return the same kernel, with the rows that its loops look up in large inputs."""
    constant = frozenset(kernel.inputs)
    large = frozenset(buffer for buffer in kernel.inputs if _is_large(buffer, symbols.get(buffer.name)))
    body = _Looking(constant, large).block(kernel.compute.body, None)
    return replace(kernel, compute=replace(kernel.compute, body=body))


def _is_large(buffer: Buffer, fact: Fact | None) -> bool:
    """Return whether an input is a large array; of the stores of other kernels nothing is known."""
    return isinstance(fact, ArraySymbol) and fact.length * buffer.type.itemsize > NEAR


def _may_fail(statement: Statement) -> bool:
    return any(isinstance(inner, Fail) for inner in walk((statement,)))


class _Looking:
    """Rewrites blocks from the outside in; ``constant`` buffers are only read, ``large`` ones far away."""

    def __init__(self, constant: Set[Buffer], large: Set[Buffer]) -> None:
        self.constant = constant
        self.large = large

    def block(self, body: tuple[Statement, ...], outer: For | None) -> tuple[Statement, ...]:
        """Return the statements, which are the body of ``outer`` if it is given.

        What comes after a failure may only exist where nothing failed, so the last iteration tells nothing.
        """
        made: list[Statement] = []
        for statement in body:
            made.append(self._statement(statement, outer))
            outer = None if _may_fail(statement) else outer
        return tuple(made)

    def _statement(self, statement: Statement, outer: For | None) -> Statement:
        match statement:
            case For(body=body):
                rows = tuple(self._rows(statement))
                ahead = Ahead(rows, _end(statement, outer, self.constant)) if rows else None
                return replace(statement, body=self.block(body, statement), ahead=ahead)
            case While(body=body):
                return replace(statement, body=self.block(body, None))
            case If(_, body, otherwise):
                return replace(statement, body=self.block(body, None), otherwise=self.block(otherwise, None))
            case _:
                return statement

    def _rows(self, loop: For) -> Iterator[Row]:
        """Yield each row that a loop directly inside of ``loop`` reads at a place looked up for it.

        A failure before it may be what keeps its place in bounds.
        """
        moving, reassigned = changing(loop), frozenset(assigned(loop.body))
        known: dict[Local, Expression] = {}
        seen: set[Buffer] = set()
        for statement in loop.body:
            match statement:
                case Declare(local, value) if local not in reassigned:
                    known[local] = substituted(value, known)
                case _ if _may_fail(statement):
                    return
                case For(local, Constant(0), Constant(high), body) if 1 < high <= LONGEST:
                    for load in (part for inner in body for part in all_parts(evaluated(inner))):
                        if not isinstance(load, Load) or load.buffer not in self.large - seen:
                            continue
                        start = start_of(load.index, local)
                        start = start if start is None else substituted(start, known)
                        if start is not None and self._is_looked_up(start, loop.local, moving):
                            seen.add(load.buffer)
                            yield Row(load.buffer, start, int(high))
                case _:
                    pass

    def _is_looked_up(self, start: Expression, local: Local, moving: Set[Local]) -> bool:
        """Return whether a place depends on the loop's variable by what constant buffers hold at it."""
        loads = [part for part in parts(start) if isinstance(part, Load)]
        return is_fixed(start, moving - {local}, self.constant) and any(load.index == local for load in loads)


def _end(loop: For, outer: For | None, constant: Set[Buffer]) -> Expression:
    """Return where the last of consecutive segments ends, if the loop goes over one, else where it ends."""
    if outer is not None and is_fixed(outer.high, changing(outer), constant):
        last = _last_boundary(loop.low, loop.high, outer, constant)
        if last is not None:
            return last
    return loop.high


def _last_boundary(low: Expression, high: Expression, outer: For, constant: Set[Buffer]) -> Expression | None:
    """Return boundary[n] for boundary[i] and boundary[i + 1], where i is the variable of a loop up to n."""
    match low, high:
        case Cast(_, low), Cast(to, high):
            last = _last_boundary(low, high, outer, constant)
            return None if last is None else Cast(to, last)
        case Load(boundaries, first), Load(other, Binary("add", position, Constant(1))) if (
            first == position == outer.local and boundaries == other and boundaries in constant
        ):
            return Load(boundaries, outer.high)
        case _:
            return None
