"""Sources of a plan to loops: scans, searches, and co-iteration of sorted arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from storel.calculus.binding import shift
from storel.calculus.domains import Domain
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Term
from storel.loops.emitter import INDEX, compare, convert, index, plus, times
from storel.loops.expressions import ExpressionLowering
from storel.loops.hashing import scan
from storel.loops.nodes import (
    Assign,
    Binary,
    Cast,
    Expression,
    For,
    Load,
    Local,
    Role,
    While,
)
from storel.loops.nodes import If as Branch
from storel.loops.scope import HashRow, Scope, Value, View
from storel.loops.stores import holds_entries, row_of, zero_of
from storel.plan.nodes import Elements, Entries, Intersection, Matches, Positions, Source
from storel.symbols import ArraySymbol

NO_ELEMENT = 2**63 - 1
"""What stands for the element of an exhausted array: larger than any key."""

FAR_LONGER = 32
"""How many times as long an array must be for elements to be searched for in it rather than scanned to."""


@dataclass(frozen=True, slots=True)
class Part:
    """What source ``number`` gives to an element of a union, where ``is_here``: None if it always has it."""

    number: int
    is_here: Expression | None
    scope: Scope


@dataclass
class IterationLowering:
    """Emits loops; the body is what the caller emits when it is handed the scope inside."""

    expressions: ExpressionLowering

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter

    def loop(self, source: Source, scope: Scope, body: Callable[[Scope], None]) -> None:
        """Emit a loop over ``source`` around ``body``."""
        match source:
            case Positions(low, high):
                self._positions(low, high, scope, body)
            case Elements():
                self._elements(source, scope, body)
            case Entries(store):
                view = self.expressions.view(store, scope)
                if isinstance(view, View):
                    self._entries(view, scope, body)
                else:
                    self._hashed(view, scope, body)
            case Matches():
                self._matches(source, scope, body)
            case Intersection(left, right):
                self._intersection(left, right, scope, body)

    def _positions(self, low: Term, high: Term, scope: Scope, body: Callable[[Scope], None]) -> None:
        first, last = self.expressions.key(low, scope), self.expressions.key(high, scope)
        interval = self._between(low, high, scope)
        counter = self.emitter.fresh("i")
        inner = scope.bind(Value(counter), interval, Domain(low, high))
        inner = inner.bind(Value(counter), interval, Domain(shift(low, 1), shift(high, 1)))
        with self.emitter.block() as statements:
            body(inner)
        self.emitter.emit(For(counter, first, last, tuple(statements)))

    def _elements(self, source: Elements, scope: Scope, body: Callable[[Scope], None]) -> None:
        first, last = self._segment(source, scope)
        position = self.emitter.fresh("p")
        with self.emitter.block() as statements:
            element = self._element(source.array, position)
            interval = self._between(source.low, source.high, scope)
            inner = scope.bind(Value(position), interval, Domain(source.low, source.high))
            body(inner.bind(Value(element), self._element_interval(source.array)))
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

    def _matches(self, source: Matches, scope: Scope, body: Callable[[Scope], None]) -> None:
        """Emit a binary search for the first match, and a step or a scan from there."""
        first, last = self._segment(Elements(source.array, source.low, source.high), scope)
        key = self.emitter.declare("wanted", self.expressions.key(source.key, scope))
        low = self.emitter.declare("low", first)
        stop = self.emitter.declare("stop", last)
        self._search(source.array, low, stop, key)
        inner = scope.bind(Value(low), self._between(source.low, source.high, scope))
        with self.emitter.block() as statements:
            body(inner)
        here = compare("equal", self._load(source.array, low), key)
        is_match = Binary("and", Binary("less", low, stop), here)
        if source.is_unique:
            self.emitter.emit(Branch(is_match, tuple(statements)))
        else:
            step = Assign(low, plus(low, index(1)))
            self.emitter.emit(While(is_match, (*statements, step)))

    def _search(self, array: str, low: Local, stop: Expression, key: Expression) -> None:
        """Emit a binary search that moves ``low`` to the first element before ``stop`` that is not below."""
        high = self.emitter.declare("high", stop)
        with self.emitter.block() as search:
            sum_of_ends = Binary("add", low, high)
            middle = self.emitter.declare("middle", Binary("shift_right", sum_of_ends, index(1)))
            element = self._element(array, middle)
            is_below = Binary("less", element, key)
            self.emitter.emit(
                Branch(is_below, (Assign(low, plus(middle, index(1))),), (Assign(high, middle),))
            )
        self.emitter.emit(While(Binary("less", low, high), tuple(search), Role.SEARCH))

    def _intersection(
        self, left: Elements, right: Elements, scope: Scope, body: Callable[[Scope], None]
    ) -> None:
        """Emit a two-pointer scan: both pointers advance without a branch, that of a far longer side by search."""
        p, p_end = self._pointer(left, scope)
        q, q_end = self._pointer(right, scope)
        starts = self.emitter.declare("first", p), self.emitter.declare("first", q)
        lengths = Binary("subtract", p_end, p), Binary("subtract", q_end, q)
        left_is_long = self.emitter.declare("left_is_long", _is_far_longer(*lengths))
        right_is_long = self.emitter.declare("right_is_long", _is_far_longer(*reversed(lengths)))
        is_skewed = self.emitter.declare("is_skewed", Binary("or", left_is_long, right_is_long))
        with self.emitter.block() as statements:
            x = self._element(left.array, p)
            y = self._element(right.array, q)
            inner = scope.bind(Value(p), self._between(left.low, left.high, scope))
            inner = inner.bind(Value(q), self._between(right.low, right.high, scope))
            with self.emitter.block() as common:
                body(inner.bind(Value(x), self._element_interval(left.array)))
            self.emitter.emit(Branch(Binary("equal", x, y), tuple(common)))
            self.emitter.advance(p, Cast(INDEX, Binary("less_equal", x, y)))
            self.emitter.advance(q, Cast(INDEX, Binary("less_equal", y, x)))
            with self.emitter.block() as skips:
                self._skip(left_is_long, left.array, (starts[0], p, p_end), right.array, (q, q_end))
                self._skip(right_is_long, right.array, (starts[1], q, q_end), left.array, (p, p_end))
            self.emitter.emit(Branch(is_skewed, tuple(skips)))
        running = Binary("and", Binary("less", p, p_end), Binary("less", q, q_end))
        self.emitter.emit(While(running, tuple(statements)))

    def _skip(
        self,
        is_long: Expression,
        array: str,
        ends: tuple[Local, Local, Local],
        other: str,
        others: tuple[Local, Local],
    ) -> None:
        """Emit the search in the long side of an intersection for the next element of the short one.

        All searches start from the same ends, so that the elements that they meet first stay in a cache.
        """
        first, pointer, end = ends
        with self.emitter.block() as statements:
            wanted = self._element(other, others[0])
            self.emitter.emit(Assign(pointer, first))
            self._search(array, pointer, end, wanted)
        self.emitter.emit(Branch(Binary("and", is_long, Binary("less", *others)), tuple(statements)))

    def union(
        self,
        sources: Sequence[Source],
        scope: Scope,
        step: Callable[[Expression, list[tuple[Expression, Scope]]], None],
    ) -> None:
        """Emit one ascending pass over the elements of all ``sources``.

        ``step(key, present)`` emits what happens at each distinct element; ``present`` says for each source
        under which condition it has that element, and the scope that its body runs in.
        """
        heads: list[tuple[Elements, Local, Local, Local]] = []
        for source in sources:
            assert isinstance(source, Elements)
            pointer, end = self._pointer(source, scope)
            head = self.emitter.declare("head", index(NO_ELEMENT))
            self.emitter.emit(Branch(Binary("less", pointer, end), (self._read_head(source, pointer, head),)))
            heads.append((source, pointer, end, head))
        smallest = self.emitter.declare("key", _least([head for *_, head in heads]))
        with self.emitter.block() as statements:
            present: list[tuple[Expression, Scope]] = []
            for source, pointer, _, head in heads:
                inner = scope.bind(Value(pointer), self._between(source.low, source.high, scope))
                inner = inner.bind(Value(smallest), self._element_interval(source.array))
                present.append((Binary("equal", head, smallest), inner))
            step(smallest, present)
            for source, pointer, end, head in heads:
                with self.emitter.block() as advance:
                    self.emitter.advance(pointer, index(1))
                    read = self._read_head(source, pointer, head)
                    done = Assign(head, index(NO_ELEMENT))
                    self.emitter.emit(Branch(Binary("less", pointer, end), (read,), (done,)))
                self.emitter.emit(Branch(Binary("equal", head, smallest), tuple(advance)))
            self.emitter.emit(Assign(smallest, _least([head for *_, head in heads])))
        running = Binary("not_equal", smallest, index(NO_ELEMENT))
        self.emitter.emit(While(running, tuple(statements)))

    def regions(
        self,
        sources: Sequence[Source],
        scope: Scope,
        step: Callable[[Expression, Sequence[Part]], None],
    ) -> None:
        """Emit one ascending pass as ``union`` does, as a loop for each set of sources not yet exhausted.

        These are the points of a merge lattice, the largest sets first. No step branches: where a source
        does not have the element, its scope is that of its next one, at which its body may be run as well.
        """
        scans = [source for source in sources if isinstance(source, Elements)]
        ends = [self._pointer(source, scope) for source in scans]
        for size in range(len(scans), 0, -1):
            for region in combinations(range(len(scans)), size):
                self._region(region, scans, ends, scope, step)

    def _region(
        self,
        region: Sequence[int],
        scans: Sequence[Elements],
        ends: Sequence[tuple[Local, Local]],
        scope: Scope,
        step: Callable[[Expression, Sequence[Part]], None],
    ) -> None:
        """Emit the ascending pass until one of the sources in ``region`` is exhausted."""
        with self.emitter.block() as statements:
            heads = [self._element(scans[number].array, ends[number][0]) for number in region]
            key = heads[0] if len(heads) == 1 else self.emitter.declare("key", _least(heads))
            parts: list[Part] = []
            for number, head in zip(region, heads, strict=True):
                source, (pointer, _) = scans[number], ends[number]
                inner = scope.bind(Value(pointer), self._between(source.low, source.high, scope))
                inner = inner.bind(Value(head), self._element_interval(source.array))
                parts.append(Part(number, None if key is head else Binary("equal", head, key), inner))
            step(key, parts)
            for part in parts:
                taken = index(1) if part.is_here is None else Cast(INDEX, part.is_here)
                self.emitter.advance(ends[part.number][0], taken)
        conditions = [Binary("less", *ends[number]) for number in region]
        running = reduce(lambda one, other: Binary("and", one, other), conditions)
        self.emitter.emit(While(running, tuple(statements)))

    def _read_head(self, source: Elements, pointer: Local, head: Local) -> Assign:
        return Assign(head, self._load(source.array, pointer))

    def _pointer(self, source: Elements, scope: Scope) -> tuple[Local, Local]:
        first, last = self._segment(source, scope)
        return self.emitter.declare("p", first), self.emitter.declare("end", last)

    def _segment(self, source: Elements, scope: Scope) -> tuple[Expression, Expression]:
        """Return the ends of a scan, after a check that it stays inside the array unless that is proved."""
        first, last = self.expressions.key(source.low, scope), self.expressions.key(source.high, scope)
        fact = self.expressions.symbols[source.array]
        assert isinstance(fact, ArraySymbol)
        low, high = (
            self.expressions.interval(source.low, scope),
            self.expressions.interval(source.high, scope),
        )
        starts_inside = low.low is not None and low.low >= 0
        if not (starts_inside and high.high is not None and high.high <= fact.length):
            first, last = self.emitter.declare("first", first), self.emitter.declare("last", last)
            is_empty = Binary("greater_equal", first, last)
            starts = Binary("greater_equal", first, index(0))
            ends = Binary("less_equal", last, index(fact.length))
            message = f"array {source.array} is read up to position {{}}, outside 0:{fact.length}"
            inside = Binary("or", is_empty, Binary("and", starts, ends))
            self.expressions.fail_unless(inside, message, last)
        return first, last

    def _load(self, array: str, position: Expression) -> Expression:
        return convert(Load(self.expressions.array(array), position), INDEX)

    def _element(self, array: str, position: Expression) -> Local:
        """Declare the element at ``position``, an index widened so that keys are of one type."""
        load = Load(self.expressions.array(array), position)
        if load.buffer.type.is_integer:
            return self.emitter.declare("k", load, INDEX)
        return self.emitter.declare("x", load)

    def _element_interval(self, array: str) -> Interval:
        fact = self.expressions.symbols[array]
        assert isinstance(fact, ArraySymbol)
        return Interval(fact.low, fact.high)

    def _between(self, low: Term, high: Term, scope: Scope) -> Interval:
        first, last = self.expressions.interval(low, scope), self.expressions.interval(high, scope)
        return Interval(first.low, None if last.high is None else last.high - 1)


def _is_far_longer(length: Expression, other: Expression) -> Expression:
    return Binary("less", times(other, index(FAR_LONGER)), length)


def _least(heads: list[Local]) -> Expression:
    least: Expression = heads[0]
    for head in heads[1:]:
        least = Binary("minimum", least, head)
    return least
