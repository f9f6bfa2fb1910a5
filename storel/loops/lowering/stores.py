"""Stores that a ``bind`` fills: dense tables, and dense tables with a list of occupied places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.calculus.verify import Type, with_zero
from storel.loops.bits import bit_at, set_bit, word_at
from storel.loops.emitter import INDEX, Emitter, between, compare, convert, index, plus, times
from storel.loops.lowering.scope import Occupied, View
from storel.loops.lowering.targets import Dictionary, ElementTarget, Limit, Target, reduced
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Expression,
    For,
    Load,
    Local,
    Role,
    Select,
    Sort,
    Store,
    Update,
    While,
)
from storel.loops.nodes import If as Branch
from storel.loops.types import type_of
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS, Scalar


@dataclass
class TableTarget:
    """Fills the part of a dense table that ``view`` shows."""

    emitter: Emitter
    view: View

    @property
    def limit(self) -> Limit:
        return Limit(self.view.limits[0], zero_of(self.view))

    def add(self, value: Expression) -> None:
        ElementTarget(self.emitter, self.view.buffer, self.view.offset, self.view.operator).add(value)

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        view = self.view
        if len(view.extents) > 1:
            fill(TableTarget(self.emitter, row_of(self.emitter, view, key)))
            return
        element = ElementTarget(self.emitter, view.buffer, plus(view.offset, key), view.operator)
        element.receive(fill, zero_of(view), is_simple=is_simple)


@dataclass
class ListTarget(Dictionary):
    """Fills a dense row and notes each place when it is first met."""

    emitter: Emitter
    view: View

    @property
    def limit(self) -> Limit:
        return Limit(self.view.limits[0], zero_of(self.view))

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        view, occupied = self.view, _occupied(self.view)
        assert isinstance(occupied.count, Local)
        value = reduced(self.emitter, fill, view.type, view.operator, zero_of(view), is_simple=is_simple)
        place = self.emitter.declare("place", key)
        self.emitter.emit(Update(view.buffer, place, view.operator, value))
        with self.emitter.block() as unmarked:
            self.emitter.emit(set_bit(occupied.marks, place))
            self.emitter.emit(Store(occupied.places, occupied.count, place))
            self.emitter.advance(occupied.count, index(1))
        is_unmarked = compare("equal", bit_at(occupied.marks, place), Constant(0, occupied.marks.type))
        self.emitter.emit(Branch(is_unmarked, tuple(unmarked)))


@dataclass
class StreamTarget(Dictionary):
    """Hands on each entry, its key and its value, as it comes."""

    emitter: Emitter
    operator: str
    limit: Limit
    use: Callable[[Expression, Expression], None]

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        zero = self.limit.zero
        value = reduced(self.emitter, fill, zero.type, self.operator, zero, is_simple=is_simple)
        self.use(self.emitter.declare("key", key), value)


def row_of(emitter: Emitter, view: View, key: Expression) -> View:
    """Return the part of ``view`` under ``key``, which must be within its extent."""
    stride: Expression = index(1)
    for extent in view.extents[1:]:
        stride = times(stride, extent)
    offset = emitter.declare("base", plus(view.offset, times(key, stride)))
    return View(view.buffer, offset, view.extents[1:], view.limits[1:], view.zero, view.operator)


def found_in(emitter: Emitter, view: View, position: Expression, *, is_inside: bool) -> Expression:
    """Return what a dense store of one level holds at ``position``, its zero outside."""
    if is_inside:
        return Load(view.buffer, plus(view.offset, position))
    position = emitter.declare("at", position)
    found = emitter.declare("found", Constant(view.zero, view.type))
    with emitter.block() as inside:
        emitter.emit(Assign(found, Load(view.buffer, plus(view.offset, position))))
    emitter.emit(Branch(between(position, view.extents[0]), tuple(inside)))
    return found


def missing_over(emitter: Emitter, semiring: str, found: Expression, zero: Scalar) -> Expression:
    """Return ``found``, or the zero of ``semiring`` where it is the other one of its store."""
    wanted = SEMIRINGS[semiring].zero
    if wanted == zero:
        return found
    found = emitter.declare("found", found)
    own = type_of(found)
    missing = Binary("equal", found, convert(Constant(zero, own), own))
    scalar_type = with_zero(Type(own), semiring).scalar
    nothing = convert(Constant(wanted, scalar_type), scalar_type)
    return Select(missing, nothing, convert(found, scalar_type))


def holds_entries(emitter: Emitter, row: View) -> Expression:
    """Return whether any place of a row of a table is not zero, after a search for the first such place.

    A row without entries is no entry: a table may have more rows than there are keys.
    """
    places: Expression = index(1)
    for extent in row.extents:
        places = times(places, extent)
    place = emitter.declare("place", row.offset)
    end = emitter.declare("end", plus(row.offset, places))
    is_zero = compare("equal", Load(row.buffer, place), zero_of(row))
    with emitter.block() as step:
        emitter.advance(place, index(1))
    is_inside = Binary("less", place, end)
    emitter.emit(While(Binary("and", is_inside, is_zero), tuple(step), Role.WORKSPACE))
    return is_inside


def zero_of(view: View) -> Constant:
    """Return the value of a place that holds nothing."""
    zero = convert(Constant(view.zero, view.type), view.type)
    assert isinstance(zero, Constant)
    return zero


def clear_table(emitter: Emitter, view: View, length: Expression) -> None:
    """Emit a loop that sets all ``length`` places to zero."""
    counter = emitter.fresh("c")
    body = (Store(view.buffer, counter, zero_of(view)),)
    emitter.emit(For(counter, index(0), length, body, Role.WORKSPACE))


def sort_list(emitter: Emitter, view: View) -> None:
    """Emit the sort of the occupied places, so that they are scanned ascending."""
    occupied = _occupied(view)
    emitter.emit(Sort(occupied.places, index(0), occupied.count))


def clear_list(emitter: Emitter, view: View) -> None:
    """Emit the clearing of the occupied places, in their number."""
    occupied = _occupied(view)
    counter = emitter.fresh("c")
    with emitter.block() as body:
        place = emitter.declare("place", Load(occupied.places, counter))
        emitter.emit(Store(view.buffer, place, zero_of(view)))
        nothing = Constant(0, occupied.marks.type)
        emitter.emit(Store(occupied.marks, word_at(occupied.marks, place), nothing))
    emitter.emit(For(counter, index(0), occupied.count, tuple(body), Role.WORKSPACE))
    assert isinstance(occupied.count, Local)
    emitter.emit(Assign(occupied.count, index(0)))


def _occupied(view: View) -> Occupied:
    assert view.occupied is not None
    return view.occupied


def list_buffers(number: int) -> tuple[Buffer, Buffer]:
    """Return the buffers for places and marks, which are bits, of the store with this number."""
    places = Buffer(f"list.places_{number}", INDEX, Role.INDEX)
    return places, Buffer(f"list.marks_{number}", ScalarType.INT32, Role.INDEX)
