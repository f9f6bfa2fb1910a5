"""The buffers that a kernel needs: how long each is at most, and what becomes of it.

Lengths are emitted into the procedure ``bound``, by functions of its frame. Elements of ``LENGTHS`` take
the final length of each output that is not as long as its extents say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.nodes import Term
from storel.loops.bits import words_of
from storel.loops.emitter import index, plus, times
from storel.loops.lowering.assembly import Assembly
from storel.loops.lowering.bindings import Request
from storel.loops.lowering.coordinates import CoordinatesTarget
from storel.loops.lowering.frame import Frame
from storel.loops.lowering.rows import SPARE
from storel.loops.lowering.scope import HashTable, Rows
from storel.loops.nodes import Buffer, Expression, Join
from storel.plan.count import insertions
from storel.plan.nodes import Action, Coordinates, Gather, HashStore, Level, Place, RowsStore
from storel.semiring import Scalar

Length: TypeAlias = Callable[[Frame], Expression]


@dataclass(frozen=True, slots=True)
class Need:
    """A buffer of ``compute`` before it has a slot; ``is_checked`` if the kernel checks its capacity."""

    buffer: Buffer
    length: Length
    fill: Scalar | None = None
    is_output: bool = False
    used: int | None = None
    join: Join | None = None
    into: int | None = None
    is_checked: bool = False
    marks: Buffer | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """The elements of ``LENGTHS`` that take the final lengths of a result's buffers, by level.

    A buffer with an element for each place of dense levels has no slot; ``count`` is the number of slots.
    """

    idx: Mapping[int, int]
    pos: Mapping[int, int]
    val: int | None
    count: int


def slots_of(levels: tuple[Level, ...]) -> Slots:
    """Return the slots of a result with such levels."""
    appending = [number for number, level in enumerate(levels) if not isinstance(level, Place)]
    idx = {number: slot for slot, number in enumerate(appending)}
    pos = {number: slot for slot, number in enumerate(appending[1:], len(idx))}
    count = len(idx) + len(pos)
    if not appending:
        return Slots(idx, pos, None, count)
    if appending[-1] == len(levels) - 1:
        return Slots(idx, pos, idx[appending[-1]], count)
    return Slots(idx, pos, count, count + 1)


def level_needs(
    action: Action,
    assembly: Assembly,
    slots: Slots,
    extents: tuple[Term, ...],
    dense: Join,
    *,
    is_cleared: bool,
) -> list[Need]:
    """Return the output buffers of a result that is assembled level by level.

    ``dense`` joins dense ones; the values of such ``is_cleared`` as they are assembled.
    """
    needs: list[Need] = []
    positions: Length = _one
    for number, level in enumerate(assembly.levels):
        above = positions
        if isinstance(level, Place):
            positions = _scaled(above, level.extent)
            continue
        positions = _counted(action, number, extents)
        used = slots.idx[number]
        needs.append(Need(assembly.idx(number), positions, None, True, used, Join.APPENDED, is_checked=True))
        if number in slots.pos:
            shifted = Join.SHIFTED
            needs.append(
                Need(assembly.pos(number), _next(above), None, True, slots.pos[number], shifted, used)
            )
        elif number > 0:
            needs.append(Need(assembly.pos(number), _next(above), None, True, None, Join.ADDED))
    is_appended = bool(assembly.levels) and not isinstance(assembly.levels[-1], Place)
    fill = None if is_appended or is_cleared else assembly.plan.leaf.zero
    join = dense if slots.val is None else Join.APPENDED
    needs.append(Need(assembly.val, positions, fill, True, slots.val, join, is_checked=is_appended))
    return needs


def row_needs(assembly: Assembly) -> list[Need]:
    """Return the buffers of the workspace in which the rows of a result are gathered, if they are."""
    workspace = assembly.workspace
    if workspace is None:
        return []
    gather = assembly.levels[-1]
    assert isinstance(gather, Gather)

    def length(position: int) -> Length:
        return lambda bound: workspace.lengths(bound.extent(gather.extent))[position][1]

    buffers = enumerate(workspace.lengths(index(0)))
    return [Need(buffer, length(position), fill) for position, (buffer, _, fill) in buffers]


def entry_needs(action: Action, destination: Coordinates, target: CoordinatesTarget) -> list[Need]:
    """Return the buffers of a result that is listed as coordinates."""

    def length(bound: Frame) -> Expression:
        return bound.count(action, destination.rank - 1, None)

    buffers = [*target.coordinates, target.val]
    return [Need(buffer, length, None, True, 0, Join.APPENDED, is_checked=True) for buffer in buffers]


def store_needs(compute: Frame, action: Action) -> list[Need]:
    """Return the buffers of the stores that ``action`` binds."""

    def length_of(request: Request) -> Length:
        def length(bound: Frame) -> Expression:
            places = bound.product(request.extents)
            return words_of(places, request.buffer.type) if request.are_bits else places

        return length

    bindings = compute.actions.bindings
    dense = [Need(each.buffer, length_of(each), each.fill, marks=each.marks) for each in bindings.requests]
    counts = zip(bindings.tables, insertions(action, compute.extents), strict=True)
    hashed = [
        need
        for number, ((store, table), counted) in enumerate(counts)
        for need in _table_needs(number, store, table, counted, bindings.lengths + number)
    ]
    return dense + hashed


def _table_needs(
    number: int, store: HashStore | RowsStore, table: HashTable | Rows, counted: Action | None, used: int
) -> list[Need]:
    """Return the buffers of a store; the capacity of a hash table is the element ``used`` of ``LENGTHS``."""

    def keys(bound: Frame) -> Expression:
        return bound.inserted(number, store, counted)[0]

    def capacity(bound: Frame) -> Expression:
        return bound.inserted(number, store, counted)[1]

    if isinstance(table, Rows):
        return [
            Need(table.keys, keys, used=used),
            Need(table.values, keys),
            Need(table.begins, lambda bound: plus(bound.extent(store.extents[0]), index(SPARE))),
        ]
    return [
        Need(table.keys, capacity, 0, used=used),
        Need(table.values, capacity),
        Need(table.slots, keys),
    ]


def _one(bound: Frame) -> Expression:
    return index(1)


def _scaled(length: Length, extent: Term) -> Length:
    return lambda bound: times(length(bound), bound.extent(extent))


def _next(length: Length) -> Length:
    return lambda bound: plus(length(bound), index(1))


def _counted(action: Action, level: int, extents: tuple[Term, ...]) -> Length:
    return lambda bound: bound.count(action, level, extents)
