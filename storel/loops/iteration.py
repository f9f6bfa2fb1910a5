"""Sources of a plan to loops: scans and searches here, co-iteration in ``coiteration.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.calculus.binding import shift
from storel.calculus.domains import Domain
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Term
from storel.loops.coiteration import Coiteration
from storel.loops.emitter import compare, index, plus
from storel.loops.expressions import ExpressionLowering
from storel.loops.hashing import scan
from storel.loops.nodes import (
    Assign,
    Binary,
    Expression,
    For,
    Load,
    While,
)
from storel.loops.nodes import If as Branch
from storel.loops.rows import scan_row
from storel.loops.scans import Scans
from storel.loops.scope import HashRow, Rows, Scope, StoredRow, Value, View
from storel.loops.stores import holds_entries, row_of, zero_of
from storel.plan.nodes import Elements, Entries, Intersection, Matches, Positions, Source


@dataclass
class IterationLowering:
    """Emits loops; the body is what the caller emits when it is handed the scope inside."""

    expressions: ExpressionLowering

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter
        self.scans = Scans(self.expressions)
        self.coiteration = Coiteration(self.scans)

    def loop(self, source: Source, scope: Scope, body: Callable[[Scope], None]) -> None:
        """Emit a loop over ``source`` around ``body``."""
        match source:
            case Positions(low, high):
                self._positions(low, high, scope, body)
            case Elements():
                self._elements(source, scope, body)
            case Entries(store):
                view = self.expressions.view(store, scope)
                match view:
                    case View():
                        self._entries(view, scope, body)
                    case HashRow():
                        self._hashed(view, scope, body)
                    case StoredRow():
                        self._row(view, scope, body)
                    case Rows():
                        raise AssertionError("of stored rows each one is scanned alone")
            case Matches():
                self._matches(source, scope, body)
            case Intersection(left, right):
                self.coiteration.intersection(left, right, scope, body)

    def _positions(self, low: Term, high: Term, scope: Scope, body: Callable[[Scope], None]) -> None:
        first, last = self.expressions.key(low, scope), self.expressions.key(high, scope)
        interval = self.scans.between(low, high, scope)
        counter = self.emitter.fresh("i")
        inner = scope.bind(Value(counter), interval, Domain(low, high))
        inner = inner.bind(Value(counter), interval, Domain(shift(low, 1), shift(high, 1)))
        with self.emitter.block() as statements:
            body(inner)
        self.emitter.emit(For(counter, first, last, tuple(statements)))

    def _elements(self, source: Elements, scope: Scope, body: Callable[[Scope], None]) -> None:
        first, last = self.scans.segment(source, scope)
        position = self.emitter.fresh("p")
        with self.emitter.block() as statements:
            element = self.scans.element(source.array, position)
            interval = self.scans.between(source.low, source.high, scope)
            inner = scope.bind(Value(position), interval, Domain(source.low, source.high))
            body(inner.bind(Value(element), self.scans.element_interval(source.array)))
        self.emitter.emit(For(position, first, last, tuple(statements)))

    def _entries(self, view: View, scope: Scope, body: Callable[[Scope], None]) -> None:
        counter = self.emitter.fresh("e")
        occupied = view.occupied
        high = view.extents[0] if occupied is None else occupied.count
        interval = Interval(0, view.limits[0] - 1)
        with self.emitter.block() as statements:
            key = counter if occupied is None else self.emitter.declare("key", Load(occupied.places, counter))
            if len(view.extents) > 1:
                row = row_of(self.emitter, view, key)
                with self.emitter.block() as entry:
                    body(scope.bind(Value(key), interval).bind(row, Interval()))
                self.emitter.emit(Branch(holds_entries(self.emitter, row), tuple(entry)))
            else:
                value = self.emitter.declare("x", Load(view.buffer, plus(view.offset, key)))
                with self.emitter.block() as nonzero:
                    body(scope.bind(Value(key), interval).bind(Value(value), Interval()))
                self.emitter.emit(Branch(compare("not_equal", value, zero_of(view)), tuple(nonzero)))
        self.emitter.emit(For(counter, index(0), high, tuple(statements)))

    def _hashed(self, row: HashRow, scope: Scope, body: Callable[[Scope], None]) -> None:
        interval = Interval(0, row.limits[0] - 1)

        def step(key: Expression, found: Expression | HashRow) -> None:
            value = found if isinstance(found, HashRow) else Value(found)
            body(scope.bind(Value(key), interval).bind(value, Interval()))

        scan(self.emitter, row, step)

    def _row(self, row: StoredRow, scope: Scope, body: Callable[[Scope], None]) -> None:
        interval = Interval(0, row.rows.limits[1] - 1)

        def step(key: Expression, value: Expression) -> None:
            body(scope.bind(Value(key), interval).bind(Value(value), Interval()))

        scan_row(self.emitter, row, step)

    def _matches(self, source: Matches, scope: Scope, body: Callable[[Scope], None]) -> None:
        """Emit a binary search for the first match, and a step or a scan from there."""
        first, last = self.scans.segment(Elements(source.array, source.low, source.high), scope)
        key = self.emitter.declare("wanted", self.expressions.key(source.key, scope))
        low = self.emitter.declare("low", first)
        stop = self.emitter.declare("stop", last)
        self.scans.search(source.array, low, stop, key)
        inner = scope.bind(Value(low), self.scans.between(source.low, source.high, scope))
        with self.emitter.block() as statements:
            body(inner)
        here = compare("equal", self.scans.load(source.array, low), key)
        is_match = Binary("and", Binary("less", low, stop), here)
        if source.is_unique:
            self.emitter.emit(Branch(is_match, tuple(statements)))
        else:
            step = Assign(low, plus(low, index(1)))
            self.emitter.emit(While(is_match, (*statements, step)))
