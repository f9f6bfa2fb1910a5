"""Sums over prefixes go on from one another: what was added up for one is not added up again for the next.

    for i in O { s = c; for j in l:h(i) { s = s + e(j) }; … }
      =  s = c; d = l; for i in O { for j in d:h(i) { s = s + e(j) }; d = max(d, h(i)); … }

where e does not depend on i, h does not fall as i grows, and nothing else changes s; so it is with least and
greatest elements and with all that a loop keeps in locals. Elements are added in the order in which they
were: the sum is the same to the last bit. Cumulative sums take as many steps as there are elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from itertools import count

from storel.loops.dependence import assigned, changing, declared, is_fixed, step
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
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
from storel.loops.walk import all_parts, evaluated, parts, walk
from storel.scalars import ScalarType


def accumulate(kernel: Kernel) -> Kernel:
    """Return the same kernel with the sums over prefixes carried from one to the next."""
    body = kernel.compute.body
    taken = {local.name for local in (*kernel.compute.scalars, *declared(body))}
    made = _block(body, (name for n in count(1) if (name := f"done_{n}") not in taken))
    return replace(kernel, compute=replace(kernel.compute, body=made))


def carries(loop: For) -> bool:
    """Return whether iterations of a loop hand on what a loop inside it has added up."""
    return any(
        isinstance(inner, For) and _prefix(loop, position, inner) is not None
        for position, inner in enumerate(loop.body)
    )


def _block(body: tuple[Statement, ...], fresh: Iterator[str]) -> tuple[Statement, ...]:
    return tuple(made for statement in body for made in _statement(statement, fresh))


def _statement(statement: Statement, fresh: Iterator[str]) -> tuple[Statement, ...]:
    match statement:
        case For(body=body):
            return _carried(replace(statement, body=_block(body, fresh)), fresh)
        case While(body=body):
            return (replace(statement, body=_block(body, fresh)),)
        case If(_, body, otherwise):
            made = replace(statement, body=_block(body, fresh), otherwise=_block(otherwise, fresh))
            return (made,)
        case _:
            return (statement,)


def _carried(outer: For, fresh: Iterator[str]) -> tuple[Statement, ...]:
    """Return a loop behind what its iterations now hand on, for as many loops inside it as allow it."""
    for position, inner in enumerate(outer.body):
        prefix = _prefix(outer, position, inner) if isinstance(inner, For) else None
        if prefix is None:
            continue
        done = Local(next(fresh), ScalarType.INT64)
        reached = Assign(done, Binary("maximum", done, prefix.loop.high))
        kept = tuple(each for each in outer.body[:position] if each not in prefix.starts)
        body = (*kept, replace(prefix.loop, low=done), reached, *outer.body[position + 1 :])
        return (*prefix.starts, Declare(done, prefix.loop.low), *_carried(replace(outer, body=body), fresh))
    return (outer,)


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A loop over a prefix, and the declarations of what it adds up."""

    loop: For
    starts: tuple[Declare, ...]


def _prefix(outer: For, position: int, inner: For) -> _Prefix | None:
    """Return a loop as one over a prefix that grows with the loop around it, if it is such a loop."""
    own = {inner.local, *declared(inner.body)}
    sums = set(assigned(inner.body)) - own
    starts = [each for each in outer.body[:position] if isinstance(each, Declare) and each.local in sums]
    others = (*outer.body[:position], *outer.body[position + 1 :])
    if not sums or len(starts) < len(sums) or sums & set(assigned(others)) or inner.role != Role.LOOP:
        return None
    if any(part in sums for each in outer.body[:position] for part in read((each,))):
        return None
    constant = constant_buffers(outer)
    moving = changing(outer)
    inside = tuple(read(inner.body))
    is_alone = not written(inner.body) and all(
        part in own or part in sums or part not in moving for part in inside if isinstance(part, Local)
    )
    reads_constants = all(part.buffer in constant for part in inside if isinstance(part, Load))
    begins_alike = all(is_fixed(each, moving, constant) for each in (inner.low, *(s.value for s in starts)))
    is_growing = grows(inner.high, outer.local, moving, constant)
    if not (is_alone and reads_constants and begins_alike and is_growing):
        return None
    if step(inner.high, {outer.local: 1}) == 1:  # one element at a time fills no lanes
        inner = replace(inner, reductions=(), partial=None)
    return _Prefix(inner, tuple(starts))


def grows(end: Expression, local: Local, moving: Set[Local], constant: Set[Buffer]) -> bool:
    """Return whether an end changes with a loop's variable, and never falls while that counts up."""
    if local not in parts(end):
        return False

    def moves(part: Expression, *, up: bool) -> bool:
        """Return whether a part never moves the other way."""
        if is_fixed(part, moving, constant):
            return True
        match part:
            case Local():
                return up and part == local
            case Binary("add" | "minimum" | "maximum", left, right):
                return moves(left, up=up) and moves(right, up=up)
            case Binary("subtract", left, right):
                return moves(left, up=up) and moves(right, up=not up)
            case Binary("multiply", factor, Constant(number)) | Binary("multiply", Constant(number), factor):
                return moves(factor, up=up == (number >= 0))
            case Binary("floor_divide", number, Constant(divisor)):
                return divisor > 0 and moves(number, up=up)
            case _:
                return False

    return moves(end, up=True)


def constant_buffers(loop: For) -> set[Buffer]:
    """Return the buffers that a loop reads and does not write."""
    return {each.buffer for each in read((loop,)) if isinstance(each, Load)} - written(loop.body)


def read(body: tuple[Statement, ...]) -> Iterator[Expression]:
    """Yield all that a body evaluates, and everything inside it."""
    return all_parts(part for statement in walk(body) for part in evaluated(statement))


def written(body: tuple[Statement, ...]) -> set[Buffer]:
    """Return the buffers that a body writes."""
    return {each.buffer for each in walk(body) if isinstance(each, Store | Update | Sort)}
