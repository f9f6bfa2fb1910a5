"""Hash tables that a ``bind`` fills: open addressing, and the list of the slots in use.

    hash(k)  = high bits of (k xor k >> 32) · 2^64 / φ        Knuth's multiplicative hashing, TAOCP 3, 6.4
    probe k  : slot hash(k), then the next one, until it holds k or nothing
    key      = row-major number of the key tuple, less 2^63: 0 is an empty slot, so that fresh pages are empty

The capacity is a power of two and at least twice what is ever inserted, so that a probe ends soon. The list
of slots in use lets a table be cleared in time proportional to them and, once sorted by key, scanned: a row
of a store of several levels is then a stretch of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from storel.loops.emitter import INDEX, Emitter, compare, convert, index, plus, times
from storel.loops.lowering.scope import HashRow, HashTable
from storel.loops.lowering.targets import Dictionary, Limit, Target, reduced
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
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.nodes import If as Branch
from storel.plan.nodes import HashStore
from storel.scalars import ScalarType

MULTIPLIER = 0x9E3779B97F4A7C15 - 2**64
"""2^64 / φ, odd, as a signed integer."""

SIGN = -(2**63)
"""What is toggled in a number that is stored: all are below zero then, in the same order."""

NO_ROW = -2
"""What stands for a row that no key can be in: all its keys have negative numbers, which are not stored."""

Body: TypeAlias = Callable[[Expression, Expression | HashRow], None]
"""What is emitted for a key and its value, or its row."""


def hash_buffers(number: int, scalar_type: ScalarType) -> tuple[Buffer, Buffer, Buffer]:
    """Return the buffers for keys, values and slots in use of the hash store with this number."""
    keys = Buffer(f"hash.keys_{number}", INDEX, Role.INDEX)
    slots = Buffer(f"hash.slots_{number}", INDEX, Role.INDEX)
    return keys, Buffer(f"hash.values_{number}", scalar_type), slots


def capacity_for(emitter: Emitter, keys: Expression) -> Local:
    """Emit the computation of the capacity of a table for so many keys."""
    capacity = emitter.declare("capacity", index(2))
    doubled = Assign(capacity, Binary("shift_left", capacity, index(1)))
    is_short = Binary("less", capacity, Binary("shift_left", keys, index(1)))
    emitter.emit(While(is_short, (doubled,), Role.WORKSPACE))
    return capacity


def open_table(emitter: Emitter, number: int, store: HashStore, capacity: Expression) -> HashTable:
    """Emit the locals of an empty table."""
    keys, values, slots = hash_buffers(number, store.type)
    mask = emitter.declare("mask", Binary("subtract", capacity, index(1)))
    shift = emitter.declare("shift", Binary("subtract", index(64), Unary("popcount", mask)))
    count = emitter.declare("count", index(0))
    zero = convert(Constant(store.zero, store.type), store.type)
    assert isinstance(zero, Constant)
    return HashTable(keys, values, slots, count, mask, shift, zero, store.operator)


@dataclass
class HashTarget(Dictionary):
    """Fills a hash table, or the row of it under some keys."""

    emitter: Emitter
    row: HashRow

    @property
    def limit(self) -> Limit:
        return Limit(self.row.limits[0], self.row.table.zero)

    def enter(self, key: Expression, fill: Callable[[Target], None], *, is_simple: bool) -> None:
        if len(self.row.extents) > 1:
            fill(HashTarget(self.emitter, _child(self.emitter, self.row, _number(self.row, key))))
            return
        table, emitter = self.row.table, self.emitter
        value = reduced(emitter, fill, table.values.type, table.operator, table.zero, is_simple=is_simple)
        stored = emitter.declare("wanted", _toggled(_number(self.row, key)))
        slot = _probe(emitter, table, stored)
        with emitter.block() as fresh:
            emitter.emit(Store(table.keys, slot, stored))
            emitter.emit(Store(table.values, slot, table.zero))
            emitter.emit(Store(table.slots, table.count, slot))
            emitter.advance(table.count, index(1))
        emitter.emit(Branch(_is_empty(table, slot), tuple(fresh)))
        emitter.emit(Update(table.values, slot, table.operator, value))


def row_at(emitter: Emitter, row: HashRow, key: Expression, inside: Expression | None) -> HashRow:
    """Return the row of ``row`` under ``key``; an empty one unless ``inside`` (None: it is known) holds."""
    number = _number(row, key)
    return _child(emitter, row, number if inside is None else Select(inside, number, index(NO_ROW)))


def find(emitter: Emitter, row: HashRow, key: Expression, inside: Expression | None) -> Local:
    """Emit the lookup of ``key`` in a row of one level; zero unless ``inside`` (None: it is known) holds."""
    table = row.table
    found = emitter.declare("found", table.zero)
    with emitter.block() as lookup:
        stored = emitter.declare("wanted", _toggled(_number(row, key)))
        slot = _probe(emitter, table, stored)
        taken = Assign(found, Load(table.values, slot))
        emitter.emit(Branch(Unary("not", _is_empty(table, slot)), (taken,)))
    emitter.emit(*lookup) if inside is None else emitter.emit(Branch(inside, tuple(lookup)))
    return found


def sort_slots(emitter: Emitter, table: HashTable) -> None:
    """Emit the sort of the slots in use by their keys: the keys are sorted, then found again."""
    each = emitter.fresh("e")
    emitter.emit(_for_all(table, each, (Store(table.slots, each, _key(table, each)),)))
    emitter.emit(Sort(table.slots, index(0), table.count))
    each = emitter.fresh("e")
    with emitter.block() as back:
        slot = _probe(emitter, table, emitter.declare("wanted", Load(table.slots, each)))
        emitter.emit(Store(table.slots, each, slot))
    emitter.emit(_for_all(table, each, tuple(back)))


def clear(emitter: Emitter, table: HashTable) -> None:
    """Emit the clearing of the slots in use, in their number."""
    each = emitter.fresh("e")
    emitter.emit(_for_all(table, each, (Store(table.keys, Load(table.slots, each), index(0)),)))
    emitter.emit(Assign(table.count, index(0)))


def scan(emitter: Emitter, row: HashRow, body: Body) -> None:
    """Emit a loop over the entries that are not zero, or over the rows, of ``row``, by ascending keys."""
    first, end = row.ends or _stretch(emitter, row)
    if len(row.extents) > 1:
        _scan_rows(emitter, row, first, end, body)
        return
    table, each = row.table, emitter.fresh("e")
    with emitter.block() as statements:
        slot = emitter.declare("slot", Load(table.slots, each))
        key = emitter.declare("key", _key_in(row, _toggled(Load(table.keys, slot))))
        value = emitter.declare("x", Load(table.values, slot))
        with emitter.block() as nonzero:
            body(key, value)
        emitter.emit(Branch(compare("not_equal", value, table.zero), tuple(nonzero)))
    emitter.emit(For(each, first, end, tuple(statements)))


def _scan_rows(emitter: Emitter, row: HashRow, first: Expression, end: Expression, body: Body) -> None:
    """Emit a loop over the rows of ``row``: each is a stretch of the slots as sorted."""
    table, places = row.table, _places(row.extents[1:])
    each = emitter.declare("e", first)
    with emitter.block() as statements:
        number = emitter.declare("row", Binary("floor_divide", _toggled(_key(table, each)), places))
        key = emitter.declare("key", _key_in(row, number))
        after = emitter.declare("after", _toggled(times(plus(number, index(1)), places)))
        stop = emitter.declare("stop", plus(each, index(1)))
        belongs = Binary("less", _key(table, stop), after)
        goes_on = Binary("and", Binary("less", stop, end), belongs)
        step = Assign(stop, plus(stop, index(1)))
        emitter.emit(While(goes_on, (step,), Role.WORKSPACE))
        body(key, HashRow(table, number, row.extents[1:], row.limits[1:], (each, stop)))
        emitter.emit(Assign(each, stop))
    emitter.emit(While(Binary("less", each, end), tuple(statements)))


def _stretch(emitter: Emitter, row: HashRow) -> tuple[Expression, Expression]:
    """Emit two binary searches; return where the keys of ``row`` begin and end in the slots as sorted."""
    places = _places(row.extents)
    first = _lower_bound(emitter, row.table, _toggled(times(row.number, places)))
    after = times(plus(row.number, index(1)), places)
    return first, _lower_bound(emitter, row.table, _toggled(after))


def _lower_bound(emitter: Emitter, table: HashTable, stored: Expression) -> Local:
    """Emit the search for the first slot as sorted whose key is not below ``stored``."""
    stored = emitter.declare("wanted", stored)
    low, high = emitter.declare("low", index(0)), emitter.declare("high", table.count)
    with emitter.block() as search:
        middle = emitter.declare("middle", Binary("shift_right", plus(low, high), index(1)))
        is_below = Binary("less", _key(table, middle), stored)
        emitter.emit(Branch(is_below, (Assign(low, plus(middle, index(1))),), (Assign(high, middle),)))
    emitter.emit(While(Binary("less", low, high), tuple(search), Role.SEARCH))
    return low


def _probe(emitter: Emitter, table: HashTable, stored: Expression) -> Local:
    """Emit the search for the slot that holds the key ``stored``, or that it would be put in."""
    folded = Binary("bit_xor", stored, Binary("shift_right", stored, index(32)))
    spread = Binary("shift_right", Binary("multiply", folded, index(MULTIPLIER)), table.shift)
    slot = emitter.declare("slot", Binary("bit_and", spread, table.mask))
    is_other = Binary("not_equal", Load(table.keys, slot), stored)
    goes_on = Binary("and", is_other, Unary("not", _is_empty(table, slot)))
    step = Assign(slot, Binary("bit_and", plus(slot, index(1)), table.mask))
    emitter.emit(While(goes_on, (step,), Role.SEARCH))
    return slot


def _is_empty(table: HashTable, slot: Local) -> Expression:
    return Binary("equal", Load(table.keys, slot), index(0))


def _key(table: HashTable, each: Expression) -> Expression:
    """Return what the slot that is listed at ``each`` holds."""
    return Load(table.keys, Load(table.slots, each))


def _for_all(table: HashTable, each: Local, body: tuple[Statement, ...]) -> For:
    return For(each, index(0), table.count, body, Role.WORKSPACE)


def _number(row: HashRow, key: Expression) -> Expression:
    """Return the row-major number of ``key`` in ``row``."""
    return plus(times(row.number, row.extents[0]), key)


def _toggled(number: Expression) -> Expression:
    """Return what is stored for a number, or the number of what is stored."""
    return Binary("bit_xor", number, index(SIGN))


def _key_in(row: HashRow, number: Expression) -> Expression:
    """Return the key in ``row`` that has this number."""
    if row.number == index(0):
        return number
    return Binary("subtract", number, times(row.number, row.extents[0]))


def _places(extents: tuple[Expression, ...]) -> Expression:
    return reduce(times, extents, index(1))


def _child(emitter: Emitter, row: HashRow, number: Expression) -> HashRow:
    return HashRow(row.table, emitter.declare("row", number), row.extents[1:], row.limits[1:])
