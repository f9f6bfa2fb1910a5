"""Sources of a plan to loops: scans and searches here, co-iteration in ``coiteration.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.calculus.binding import free_variables, shift
from storel.calculus.domains import Domain
from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Term, Variable
from storel.loops.emitter import compare, index, plus
from storel.loops.lowering.coiteration import Coiteration
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.hashing import scan
from storel.loops.lowering.rows import scan_row
from storel.loops.lowering.scans import Scans, Search
from storel.loops.lowering.scope import Arrived, HashRow, Rows, Scope, StoredRow, Value, View
from storel.loops.lowering.stores import holds_entries, row_of, zero_of
from storel.loops.nodes import (
    Binary,
    Expression,
    For,
    Load,
)
from storel.loops.nodes import If as Branch
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
                    case Arrived():
                        self._arrived(view, scope, body)
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
        value = Value(counter, self.emitter.depth)
        inner = scope.bind(value, interval, Domain(low, high))
        inner = inner.bind(value, interval, Domain(shift(low, 1), shift(high, 1)))
        with self.emitter.block() as statements:
            body(inner)
        self.emitter.emit(For(counter, first, last, tuple(statements)))

    def _elements(self, source: Elements, scope: Scope, body: Callable[[Scope], None]) -> None:
        first, last = self.scans.segment(source, scope)
        position = self.emitter.fresh("p")
        depth = self.emitter.depth
        ascends_at = depth if self.scans.is_ascending(source.array) else None
        with self.emitter.block() as statements:
            element = self.scans.element(source.array, position)
            interval = self.scans.between(source.low, source.high, scope)
            inner = scope.bind(Value(position, depth), interval, Domain(source.low, source.high))
            body(inner.bind(Value(element, ascends_at), self.scans.element_interval(source.array)))
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
                    body(scope.bind(Value(key), interval).bind(row, ANY))
                self.emitter.emit(Branch(holds_entries(self.emitter, row), tuple(entry)))
            else:
                value = self.emitter.declare("x", Load(view.buffer, plus(view.offset, key)))
                with self.emitter.block() as nonzero:
                    body(scope.bind(Value(key), interval).bind(Value(value), ANY))
                self.emitter.emit(Branch(compare("not_equal", value, zero_of(view)), tuple(nonzero)))
        self.emitter.emit(For(counter, index(0), high, tuple(statements)))

    def _hashed(self, row: HashRow, scope: Scope, body: Callable[[Scope], None]) -> None:
        interval = Interval(0, row.limits[0] - 1)

        def step(key: Expression, found: Expression | HashRow) -> None:
            value = found if isinstance(found, HashRow) else Value(found)
            body(scope.bind(Value(key), interval).bind(value, ANY))

        scan(self.emitter, row, step)

    def _row(self, row: StoredRow, scope: Scope, body: Callable[[Scope], None]) -> None:
        interval = Interval(0, row.rows.limits[1] - 1)

        def step(key: Expression, value: Expression) -> None:
            body(scope.bind(Value(key), interval).bind(Value(value), ANY))

        scan_row(self.emitter, row, step)

    def _arrived(self, entry: Arrived, scope: Scope, body: Callable[[Scope], None]) -> None:
        interval = Interval(0, entry.extent - 1)
        with self.emitter.block() as statements:
            body(scope.bind(Value(entry.key), interval).bind(Value(entry.value), ANY))
        self.emitter.emit(Branch(compare("not_equal", entry.value, entry.zero), tuple(statements)))

    def _matches(self, source: Matches, scope: Scope, body: Callable[[Scope], None]) -> None:
        """Emit a search for the first match, and a step or a loop over all of them.

        Where keys ascend from one search to the next, each begins where the last one ended; where a union
        stands at the key, it has found it.
        """
        if (met := scope.answer(source)) is not None:
            with self.emitter.block() as statements:
                body(scope.bind(Value(met.position), met.positions))
            self.emitter.emit(Branch(met.is_here, tuple(statements)))
            return
        first, last = self.scans.segment(Elements(source.array, source.low, source.high), scope)
        key = self.emitter.declare("wanted", self.expressions.key(source.key, scope))
        stop = self.emitter.declare("stop", last)
        search = Search(source.array, first, stop, key, _ascends_at(source, scope))
        positions = self.scans.between(source.low, source.high, scope)
        if source.is_unique:
            found = self.scans.first_match(search)
            with self.emitter.block() as statements:
                body(scope.bind(Value(found), positions))
            is_match = compare("equal", self.scans.load(source.array, found), key)
            self.emitter.emit(Branch(Binary("and", Binary("less", found, stop), is_match), tuple(statements)))
            return
        begin, end = self.scans.run(search)
        position = self.emitter.fresh("p")
        with self.emitter.block() as statements:
            body(scope.bind(Value(position), positions))
        self.emitter.emit(For(position, begin, end, tuple(statements), until=stop))


def _ascends_at(source: Matches, scope: Scope) -> int | None:
    """Return how many blocks enclose the loop whose variable is the key, if nothing else changes in it.

    The loop may bind another variable, outside of the key's.
    """
    if not isinstance(source.key, Variable):
        return None
    index = source.key.index
    inner = free_variables(source.low) | free_variables(source.high)
    key = scope.bindings[index]
    return key.ascends_at if isinstance(key, Value) and all(each > index + 1 for each in inner) else None
