"""Rows of a matrix that a ``bind`` stores one after the other: a compressed sparse matrix in the making.

Each row is gathered in a dense workspace with a list of its occupied places (stores.py), which is sorted and
appended. Rows whose entries arrive in any order, but by ascending keys, are counted first, and filled side by
side. Source: Gustavson, TOMS 4(3), 1978.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.loops.emitter import INDEX, Emitter, compare, index, plus
from storel.loops.lowering.scope import Rows, StoredRow, View
from storel.loops.lowering.stores import ListTarget, clear_list, sort_list, zero_of
from storel.loops.lowering.targets import Dictionary, Limit, Target, reduced
from storel.loops.nodes import Buffer, Constant, Expression, For, Load, Role, Select, Store, Update
from storel.loops.nodes import If as Branch
from storel.plan.nodes import RowsStore
from storel.scalars import ScalarType

SPARE = 2
"""How many more beginnings than rows there are: the last one's end, and what it is counted in."""


def row_buffers(number: int, scalar_type: ScalarType) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers for beginnings, keys and values of the store with this number."""
    begins = Buffer(f"rows.begins_{number}", INDEX, Role.INDEX)
    keys = Buffer(f"rows.keys_{number}", INDEX, Role.INDEX)
    return begins, keys, Buffer(f"rows.values_{number}", scalar_type)


@dataclass
class RowsTarget(Dictionary):
    """Appends each row that is entered, after it was gathered in ``workspace``."""

    emitter: Emitter
    rows: Rows
    workspace: View

    def __post_init__(self) -> None:
        self.cursor = self.emitter.declare("cursor", index(0))
        self.emitter.emit(Store(self.rows.begins, index(0), index(0)))

    @property
    def limit(self) -> Limit:
        return Limit(self.rows.limits[0], zero_of(self.workspace))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        fill(ListTarget(self.emitter, self.workspace))
        sort_list(self.emitter, self.workspace)
        self._append()
        clear_list(self.emitter, self.workspace)
        self.emitter.emit(Store(self.rows.begins, plus(key, index(1)), self.cursor))

    def _append(self) -> None:
        occupied, counter = self.workspace.occupied, self.emitter.fresh("e")
        assert occupied is not None
        with self.emitter.block() as body:
            place = self.emitter.declare("place", Load(occupied.places, counter))
            value = self.emitter.declare("x", Load(self.workspace.buffer, place))
            with self.emitter.block() as entry:
                self.emitter.emit(Store(self.rows.keys, self.cursor, place))
                self.emitter.emit(Store(self.rows.values, self.cursor, value))
                self.emitter.advance(self.cursor, index(1))
            self.emitter.emit(Branch(compare("not_equal", value, zero_of(self.workspace)), tuple(entry)))
        self.emitter.emit(For(counter, index(0), occupied.count, tuple(body), Role.WORKSPACE))


def fill_counted(emitter: Emitter, rows: Rows, store: RowsStore, run: Callable[[Target], None]) -> None:
    """Emit what counts each row's entries, makes room for them, and fills it; ``run`` enters them.

    The length of row r is counted in ``begins[r + 2]``; then ``begins[r + 1]`` is where its next entry goes
    and, at last, where row r + 1 begins.
    """
    height, row = rows.extents[0], emitter.fresh("r")
    emitter.emit(
        For(row, index(0), plus(height, index(SPARE)), (Store(rows.begins, row, index(0)),), Role.WORKSPACE)
    )
    run(_CountTarget(emitter, rows))
    row = emitter.fresh("r")
    added = Update(rows.begins, plus(row, index(2)), "add", Load(rows.begins, plus(row, index(1))))
    emitter.emit(For(row, index(0), height, (added,), Role.WORKSPACE))
    run(_NextTarget(emitter, rows, store))


@dataclass
class _CountTarget(Dictionary):
    """Counts the entries of each row."""

    emitter: Emitter
    rows: Rows

    @property
    def limit(self) -> Limit:
        return Limit(self.rows.limits[0], Constant(0, INDEX))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        self.emitter.emit(Update(self.rows.begins, plus(key, index(2)), "add", index(1)))


@dataclass
class _NextTarget(Dictionary):
    """Puts the entry of a row where its next one goes."""

    emitter: Emitter
    rows: Rows
    store: RowsStore

    @property
    def limit(self) -> Limit:
        return Limit(self.rows.limits[0], Constant(0, INDEX))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        after = self.emitter.declare("after", plus(key, index(1)))
        place = self.emitter.declare("place", Load(self.rows.begins, after))
        fill(_PlaceTarget(self.emitter, self.rows, self.store, place))
        self.emitter.emit(Store(self.rows.begins, after, plus(place, index(1))))


@dataclass
class _PlaceTarget(Dictionary):
    """Takes the only entry that goes to a place."""

    emitter: Emitter
    rows: Rows
    store: RowsStore
    place: Expression

    @property
    def limit(self) -> Limit:
        return Limit(self.rows.limits[1], Constant(0, INDEX))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        zero, own = Constant(self.store.zero, self.store.type), self.store.type
        value = reduced(self.emitter, fill, own, self.store.operator, zero, is_simple=is_simple)
        self.emitter.emit(Store(self.rows.keys, self.place, key), Store(self.rows.values, self.place, value))


def stored_row(emitter: Emitter, rows: Rows, key: Expression, inside: Expression | None) -> StoredRow:
    """Return the row under ``key``; an empty one unless ``inside`` (None: it is known) holds."""
    place = key if inside is None else emitter.declare("row", Select(inside, key, index(0)))
    first = emitter.declare("first", Load(rows.begins, place))
    end = Load(rows.begins, plus(place, index(1)))
    return StoredRow(
        rows, first, emitter.declare("end", end if inside is None else Select(inside, end, first))
    )


def scan_row(emitter: Emitter, row: StoredRow, body: Callable[[Expression, Expression], None]) -> None:
    """Emit a loop over the entries of ``row``, by ascending keys."""
    each = emitter.fresh("e")
    with emitter.block() as statements:
        key = emitter.declare("key", Load(row.rows.keys, each))
        body(key, emitter.declare("x", Load(row.rows.values, each)))
    emitter.emit(For(each, row.first, row.end, tuple(statements)))
