"""Rows of constant width are kept in registers, and worked on in the lanes of vectors.

    for p in l:h { …; for j in 0:64 { b[i + j] += e(p, j) } }

loads and stores the same 64 elements of b in each iteration of p. Where i stays the same and nothing else in
the loop touches b, they are a tile of that loop: read once before it, written once after it (register
tiling; Carr, Kennedy, "Improving the Ratio of Memory Operations to Floating-Point Operations in Loops",
TOPLAS 1994). Every sum keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace

from storel.loops.dependence import assigned, changing, is_fixed, start_of, step
from storel.loops.nodes import (
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
    Row,
    Sort,
    Statement,
    Store,
    Update,
    While,
)
from storel.loops.walk import all_parts, evaluated, walk

LONGEST = 128
"""The most elements of a tile: 1 KiB of numbers are half of the registers of AVX-512."""


def tile(kernel: Kernel) -> Kernel:
    """Return the same kernel, with its loops marked as ``in_lanes`` and with tiles where they can be."""
    body = _in_lanes(kernel.compute.body)
    body = _Tiling(frozenset(kernel.inputs), _origins(body)).block(body, frozenset())
    return replace(kernel, compute=replace(kernel.compute, body=body))


def holds(loop: For, tile: Row) -> bool:
    """Return whether all that ``loop`` does to the tile's buffer is what ``For`` says of a tile."""
    return not any(part.buffer == tile.buffer for part in _loads(loop)) and _stays(tile, loop.body, None)


def is_contiguous(loop: For) -> bool:
    """Return whether a loop may be ``in_lanes``, and all that it reads is fixed or consecutive as well."""
    steps: dict[Local, int | None] = {loop.local: 1}
    for statement in loop.body:
        if isinstance(statement, Declare):
            steps[statement.local] = step(statement.value, steps)
    loads = [load for statement in loop.body for load in _loads(statement)]
    return is_apart(loop) and all(step(load.index, steps) in (0, 1) for load in loads)


def is_apart(loop: For) -> bool:
    """Return whether a loop may be ``in_lanes``: what it writes is consecutive, and read nowhere else."""
    steps: dict[Local, int | None] = {loop.local: 1}
    written: dict[Buffer, Expression] = {}
    for statement in loop.body:
        match statement:
            case Declare(local, value):
                steps[local] = step(value, steps)
            case Store(buffer, place) | Update(buffer, place) if written.setdefault(buffer, place) == place:
                if step(place, steps) != 1:
                    return False
            case _:
                return False
    loads = [load for statement in loop.body for load in _loads(statement)]
    return all(written.get(load.buffer, load.index) == load.index for load in loads)


def _in_lanes(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return the statements with every loop marked that is short and contiguous."""
    made: list[Statement] = []
    for statement in body:
        match statement:
            case For() if _width(statement) is not None and is_contiguous(statement):
                made.append(replace(statement, in_lanes=True))
            case For(body=inner) | While(body=inner):
                made.append(replace(statement, body=_in_lanes(inner)))
            case If(_, inner, otherwise):
                made.append(replace(statement, body=_in_lanes(inner), otherwise=_in_lanes(otherwise)))
            case _:
                made.append(statement)
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Tiling:
    """Marks loops; ``constant`` buffers are only read, ``origins`` are what locals are made of."""

    constant: Set[Buffer]
    origins: Mapping[Local, frozenset[Local]]

    def block(self, body: tuple[Statement, ...], held: frozenset[Buffer]) -> tuple[Statement, ...]:
        """Return the statements with tiles for the buffers that no outer loop holds."""
        made: list[Statement] = []
        for statement in body:
            match statement:
                case For(body=inner):
                    candidates = self._candidates(statement, held)
                    found = tuple(each for each in candidates if holds(statement, each))
                    within = held.union(each.buffer for each in found)
                    made.append(replace(statement, body=self.block(inner, within), tiles=found))
                case While(body=inner):
                    made.append(replace(statement, body=self.block(inner, held)))
                case If(_, inner, otherwise):
                    branches = self.block(inner, held), self.block(otherwise, held)
                    made.append(replace(statement, body=branches[0], otherwise=branches[1]))
                case _:
                    made.append(statement)
        return tuple(made)

    def _candidates(self, loop: For, held: frozenset[Buffer]) -> Iterator[Row]:
        """Yield the rows that iterations write, at a place that does not change.

        There are none in a loop that may fail: it may end before it comes to a place, which then need not
        exist. Nor are there any under a condition on the place, which may be what keeps it in bounds.
        """
        if any(isinstance(inner, Fail) for inner in walk(loop.body)):
            return
        moving, seen = changing(loop), set(held)
        for inner, conditions in _conditional(loop.body, ()):
            asked = _locals(conditions, self.origins) - moving
            for statement in inner.body:
                if isinstance(statement, Store | Update) and statement.buffer not in seen:
                    seen.add(statement.buffer)
                    start, length = start_of(statement.index, inner.local), _width(inner)
                    if start is None or length is None or not is_fixed(start, moving, self.constant):
                        continue
                    if asked.isdisjoint(_locals((start,), self.origins)):
                        yield Row(statement.buffer, start, length)


def _origins(body: tuple[Statement, ...]) -> dict[Local, frozenset[Local]]:
    """Return which other locals those that never change are made of."""
    reassigned = frozenset(assigned(body))
    found: dict[Local, frozenset[Local]] = {}
    for statement in walk(body):
        if isinstance(statement, Declare) and statement.local not in reassigned:
            found[statement.local] = _locals((statement.value,), found)
    return found


def _locals(expressions: Iterable[Expression], origins: Mapping[Local, frozenset[Local]]) -> frozenset[Local]:
    """Return the locals that expressions depend on, but for those that are made of others."""
    named = (part for part in all_parts(expressions) if isinstance(part, Local))
    return frozenset[Local]().union(*(origins.get(local, {local}) for local in named))


def _conditional(
    body: tuple[Statement, ...], conditions: tuple[Expression, ...]
) -> Iterator[tuple[For, tuple[Expression, ...]]]:
    """Yield the loops in lanes that no other loop encloses, with the conditions under which they run."""
    for statement in body:
        match statement:
            case For(in_lanes=True):
                yield statement, conditions
            case If(condition, inner, otherwise):
                yield from _conditional(inner, (*conditions, condition))
                yield from _conditional(otherwise, (*conditions, condition))
            case _:
                pass


def _stays(tile: Row, body: tuple[Statement, ...], lane: Local | None) -> bool:
    """Return whether the statements, in a loop of ``lane``, touch the tile's buffer in the tile only."""
    for statement in body:
        indices = [load.index for load in _loads(statement) if load.buffer == tile.buffer]
        match statement:
            case Store(buffer, index) | Update(buffer, index) if buffer == tile.buffer:
                indices.append(index)
            case Sort(buffer) if buffer == tile.buffer:
                return False
            case _:
                pass
        if indices and (lane is None or any(start_of(index, lane) != tile.start for index in indices)):
            return False
        match statement:
            case For(local, body=inner):
                width = _width(statement) if statement.in_lanes else None
                stays = _stays(tile, inner, local if width is not None and width <= tile.length else None)
            case While(body=inner):
                stays = _stays(tile, inner, None)
            case If(_, inner, otherwise):
                stays = _stays(tile, inner, None) and _stays(tile, otherwise, None)
            case _:
                stays = True
        if not stays:
            return False
    return True


def _width(loop: For) -> int | None:
    """Return the number of iterations if it is constant and small, and they start at 0."""
    match loop:
        case For(_, Constant(0), Constant(high)) if 1 < high <= LONGEST:
            return int(high)
        case _:
            return None


def _loads(statement: Statement) -> list[Load]:
    return [part for part in all_parts(evaluated(statement)) if isinstance(part, Load)]
