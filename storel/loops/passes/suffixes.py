"""Sums over suffixes are sums over prefixes of what is turned over.

    for i in L:H { s = c; for j in l(i):h { s = s + e(j) }; y[i] = s }
      =  for r in 0:H - L {
             i = H - 1 - r; s = c; for q in 0:h - l(i) { j = h - 1 - q; s = s + e(j) }; y[i] = s
         }

where l does not fall, no iteration of i asks what another one did, and sums may be added up in any order.
From there on they are carried from one to the next (``prefixes.py``, ``prefix_rows.py``); loops of which they
would not be stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from storel.loops.dependence import assigned, changing, declared, is_fixed, start_of, step
from storel.loops.emitter import Emitter, index, plus
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Sort,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.passes import prefix_rows, prefixes
from storel.loops.passes.prefixes import constant_buffers, grows, read
from storel.loops.walk import note, parts, substituted, walk

COMMUTATIVE = frozenset(("add", "multiply", "minimum", "maximum", "and", "or"))
"""Operators whose operands may come in any order, but for the rounding of real numbers."""


def turn_over(kernel: Kernel) -> Kernel:
    """Return a kernel that means the same, but for the rounding of real sums and products."""
    compute = kernel.compute
    emitter = Emitter([local.name for local in (*compute.scalars, *declared(compute.body))])
    return replace(kernel, compute=replace(compute, body=_block(compute.body, emitter)))


def _block(body: tuple[Statement, ...], emitter: Emitter) -> tuple[Statement, ...]:
    return tuple(_statement(statement, emitter) for statement in body)


def _statement(statement: Statement, emitter: Emitter) -> Statement:
    match statement:
        case For(body=body):
            return _turned(replace(statement, body=_block(body, emitter)), emitter)
        case While(body=body):
            return replace(statement, body=_block(body, emitter))
        case If(_, body, otherwise):
            return replace(statement, body=_block(body, emitter), otherwise=_block(otherwise, emitter))
        case _:
            return statement


def _turned(loop: For, emitter: Emitter) -> For:
    """Return a loop turned over, and those over suffixes inside it, if that makes them go on."""
    suffixes = dict(_suffixes(loop))
    if not suffixes or not _is_in_any_order(loop):
        return loop
    turn = emitter.fresh(loop.local.name, loop.local.type)
    place = _from_the_end(loop.high, turn)
    begins = {inner: substituted(begin, {loop.local: place}) for inner, begin in suffixes.items()}
    body = (Declare(loop.local, place), *_with_turned(loop.body, begins, emitter))
    made = For(turn, index(0), _difference(loop.high, loop.low), body, loop.role)
    return made if prefixes.carries(made) or prefix_rows.carries(made) else loop


def _suffixes(loop: For) -> Iterator[tuple[For, Expression]]:
    """Yield the loops over suffixes inside a loop, each with where it begins, said by the loop's variable."""
    moving, constant = changing(loop), constant_buffers(loop)
    known: dict[Local, Expression] = {}
    for each in loop.body:
        if isinstance(each, Declare):
            note(each, known)
    for inner in walk(loop.body):
        if isinstance(inner, For) and inner.role == Role.LOOP:
            begin = substituted(inner.low, known)
            is_suffix = grows(begin, loop.local, moving, constant) and is_fixed(inner.high, moving, constant)
            if is_suffix and _only_adds(inner):
                yield inner, begin


def _with_turned(
    body: tuple[Statement, ...], begins: Mapping[For, Expression], emitter: Emitter
) -> tuple[Statement, ...]:
    """Return the statements with loops turned over that began at ``begins``."""
    made: list[Statement] = []
    for each in body:
        match each:
            case For(local, _, high, inner) if each in begins:
                turn = emitter.fresh(local.name, local.type)
                taken = Declare(local, _from_the_end(high, turn))
                made.append(For(turn, index(0), _difference(high, begins[each]), (taken, *inner)))
            case For(body=inner) | While(body=inner):
                made.append(replace(each, body=_with_turned(inner, begins, emitter)))
            case If(_, inner, otherwise):
                branches = (_with_turned(branch, begins, emitter) for branch in (inner, otherwise))
                made.append(replace(each, body=next(branches), otherwise=next(branches)))
            case _:
                made.append(each)
    return tuple(made)


def _from_the_end(end: Expression, turn: Local) -> Expression:
    return _difference(end, plus(turn, index(1)))


def _difference(left: Expression, right: Expression) -> Expression:
    """Return ``left - right``, where that is known without two of them written so."""
    match right:
        case Constant(0):
            return left
        case Binary("subtract", minuend, subtrahend) if minuend == left:
            return subtrahend
        case _:
            return Binary("subtract", left, right)


def _only_adds(loop: For) -> bool:
    """Return whether all that a loop does is to add, in any order, to what nothing in it asks for."""
    own = set(declared(loop.body))
    added: set[tuple[Local | Buffer, str]] = set()
    times: Counter[Expression] = Counter()
    for statement in walk(loop.body):
        match statement:
            case Declare() | For() | If():
                pass
            case Assign(local) if local in own:
                pass
            case Assign(local, Binary(operator, before, value)) if before == local:
                if operator not in COMMUTATIVE or local in parts(value):
                    return False
                added.add((local, operator))
                times[local] += 1
            case Update(buffer, _, operator) if operator in COMMUTATIVE:
                added.add((buffer, operator))
            case _:
                return False
    targets = {target for target, _ in added}
    asked = Counter(each.buffer if isinstance(each, Load) else each for each in read(loop.body))
    return len(targets) == len(added) and all(
        asked[target] == (times[target] if isinstance(target, Local) else 0) for target in targets
    )


def _is_in_any_order(loop: For) -> bool:
    """Return whether each iteration writes places of its own, and reads nothing that iterations write."""
    own = {loop.local, *declared(loop.body)}
    if set(assigned(loop.body)) - own or any(isinstance(each, Fail | Sort) for each in walk(loop.body)):
        return False
    steps: dict[Local, int | None] = {**dict.fromkeys(changing(loop), None), loop.local: 1}
    for each in loop.body:
        if isinstance(each, Declare):
            steps[each.local] = step(each.value, steps)
    written = [each for each in walk(loop.body) if isinstance(each, Store | Update)]
    places: dict[Buffer, Expression] = {
        each.buffer: each.index for each in written if step(each.index, steps) == 1
    }
    rows = dict(_rows(loop.body, steps))
    if places.keys() & rows.keys() or any(
        isinstance(part, Load) and part.buffer in {*places, *rows} for part in read(loop.body)
    ):
        return False
    return all(
        each.index == places.get(each.buffer) or _is_in_row(each.index, rows.get(each.buffer))
        for each in written
    )


def _rows(
    body: tuple[Statement, ...], steps: Mapping[Local, int | None]
) -> Iterator[tuple[Buffer, Expression]]:
    """Yield the buffers that a loop writes row by row, each with where the row of an iteration starts.

    ``steps`` say by how much locals grow from one iteration to the next.
    """
    for inner in walk(body):
        if not isinstance(inner, For) or inner.low != index(0):
            continue
        for each in inner.body:
            if isinstance(each, Store | Update):
                start = start_of(each.index, inner.local)
                match start:
                    case Binary("multiply", number, length) if length == inner.high:
                        if step(number, steps) == 1 and step(length, steps) == 0:
                            yield each.buffer, start
                    case _:
                        pass


def _is_in_row(place: Expression, start: Expression | None) -> bool:
    """Return whether a place is in the row that starts there."""
    return isinstance(place, Binary) and place.operator == "add" and place.left == start
