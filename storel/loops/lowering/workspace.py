"""A row assembled out of order: a dense array of values, and what remembers its occupied places.

Two ways to remember, chosen by the plan: a bitmap with one bit per place and a summary with one bit
per word of it, scanned in order when the row is drained; or a list of places, each marked when it is
first met, sorted when drained. A short row is scanned instead, since marking a place takes longer than
reading it. Between rows all values are zero and nothing is marked.
Source: Gustavson, TOMS 4(3), 1978, for the dense row with a list; the bitmap replaces its sort.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from storel.loops.bits import set_bit, word_at, words_of
from storel.loops.emitter import INDEX, Emitter, convert, index, plus, times
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
    Sort,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.nodes import If as Branch
from storel.plan.nodes import Gather, ScalarStore
from storel.scalars import ScalarType

SHORT = 32
"""The most places of a row that is scanned."""

VALUES = "row.values"
WORDS = Buffer("row.words", INDEX, Role.INDEX)
SUMMARY = Buffer("row.summary", INDEX, Role.INDEX)
PLACES = Buffer("row.places", INDEX, Role.INDEX)
MARKS = Buffer("row.marks", ScalarType.BOOL, Role.INDEX)


@dataclass
class Workspace:
    """The row workspace of the last level of a result; ``extent`` is the length of a row."""

    emitter: Emitter
    level: Gather
    leaf: ScalarStore
    extent: Expression
    count: Local | None = None

    @property
    def values(self) -> Buffer:
        return Buffer(VALUES, self.leaf.type)

    @property
    def zero(self) -> Expression:
        return convert(Constant(self.leaf.zero or 0, self.leaf.type), self.leaf.type)

    @property
    def is_scanned(self) -> bool:
        """Whether no place is marked, because all are looked at when the row is drained."""
        is_short = isinstance(self.extent, Constant) and self.extent.value <= SHORT
        return is_short and self.leaf.zero is not None

    def begin(self) -> None:
        """Emit the initial state."""
        if not (self.is_scanned or self.level.by_bitmap):
            self.count = self.emitter.declare("row_count", index(0))

    def lengths(self, extent: Expression) -> list[tuple[Buffer, Expression, bool | int | float | None]]:
        """Return the buffers that are needed, with their lengths and initial values."""
        values = (self.values, extent, self.leaf.zero)
        if self.is_scanned:
            return [values]
        if not self.level.by_bitmap:
            return [values, (PLACES, extent, None), (MARKS, extent, False)]
        words = words_of(extent, WORDS.type)
        return [values, (WORDS, words, 0), (SUMMARY, words_of(words, SUMMARY.type), 0)]

    def insert(self, key: Expression, value: Expression) -> None:
        """Emit the addition of ``value`` at ``key``."""
        value = self.emitter.declare("x", value, self.leaf.type)
        if self.is_scanned:
            self.emitter.emit(Update(self.values, key, self.leaf.operator, value))
            return
        place = self.emitter.declare("place", key)
        self.emitter.emit(Update(self.values, place, self.leaf.operator, value))
        if self.level.by_bitmap:
            self.emitter.emit(set_bit(WORDS, place), set_bit(SUMMARY, word_at(WORDS, place)))
            return
        assert self.count is not None
        with self.emitter.block() as unmarked:
            self.emitter.emit(Store(MARKS, place, Constant(True, ScalarType.BOOL)))
            self.emitter.emit(Store(PLACES, self.count, place))
            self.emitter.advance(self.count, index(1))
        self.emitter.emit(Branch(Unary("not", Load(MARKS, place)), tuple(unmarked)))

    def drain(self, consume: Callable[[Expression, Expression], None], extent: Expression) -> None:
        """Emit a loop over the occupied places, ascending, that consumes and clears them."""
        if self.is_scanned:
            self._drain_all(consume)
        elif self.level.by_bitmap:
            self._drain_bitmap(consume, extent)
        else:
            self._drain_list(consume)

    def _take(self, place: Expression, consume: Callable[[Expression, Expression], None]) -> None:
        value = self.emitter.declare("x", Load(self.values, place))
        self.emitter.emit(Store(self.values, place, self.zero))
        consume(place, value)

    def _drain_all(self, consume: Callable[[Expression, Expression], None]) -> None:
        place = self.emitter.fresh("place")
        with self.emitter.block() as occupied:
            consume(place, self.emitter.declare("x", Load(self.values, place)))
        is_occupied = Binary("not_equal", Load(self.values, place), self.zero)
        body = (Branch(is_occupied, tuple(occupied)),)
        self.emitter.emit(For(place, index(0), self.extent, body, Role.WORKSPACE))
        cleared = self.emitter.fresh("place")
        clear = (Store(self.values, cleared, self.zero),)  # by vectors, as it is read again
        self.emitter.emit(For(cleared, index(0), self.extent, clear, Role.WORKSPACE))

    def _drain_list(self, consume: Callable[[Expression, Expression], None]) -> None:
        assert self.count is not None
        self.emitter.emit(Sort(PLACES, index(0), self.count))
        counter = self.emitter.fresh("n")
        with self.emitter.block() as body:
            place = self.emitter.declare("place", Load(PLACES, counter))
            self.emitter.emit(Store(MARKS, place, Constant(False, ScalarType.BOOL)))
            self._take(place, consume)
        self.emitter.emit(For(counter, index(0), self.count, tuple(body), Role.WORKSPACE))
        self.emitter.emit(Assign(self.count, index(0)))

    def _drain_bitmap(self, consume: Callable[[Expression, Expression], None], extent: Expression) -> None:
        group = self.emitter.fresh("group")
        bits = self._bits
        with self.emitter.block() as groups, bits(SUMMARY, group) as word, bits(WORDS, word) as place:
            self._take(place, consume)
        high = words_of(words_of(extent, WORDS.type), SUMMARY.type)
        self.emitter.emit(For(group, index(0), high, tuple(groups), Role.WORKSPACE))

    @contextmanager
    def _bits(self, words: Buffer, number: Expression) -> Generator[Local]:
        """Loop over the set bits of a word, ascending; the word is left zero."""
        bits = self.emitter.declare("bits", Load(words, number))
        self.emitter.emit(Store(words, number, index(0)))
        with self.emitter.block() as body:
            lowest = Unary("trailing_zeros", bits)
            yield self.emitter.declare("bit", plus(times(index(8 * words.type.itemsize), number), lowest))
            without_lowest = Binary("bit_and", bits, Binary("subtract", bits, index(1)))
            self.emitter.emit(Assign(bits, without_lowest))
        self.emitter.emit(While(Binary("not_equal", bits, index(0)), tuple(body), Role.WORKSPACE))
