"""Parts of stored arrays: their ends, their elements, and searches in them."""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.bounds import elements
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Symbol, Term
from storel.loops.emitter import INDEX, convert, index, plus
from storel.loops.lowering.expressions import ExpressionLowering
from storel.loops.lowering.scope import Scope
from storel.loops.nodes import Assign, Binary, Expression, Load, Local, Role, While
from storel.loops.nodes import If as Branch
from storel.plan.nodes import Elements, Positions
from storel.symbols import ArraySymbol


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for in an ascending array from ``first`` up to ``stop``, exclusive.

    Keys that ascend from search to search do so in a loop that ``ascends_at`` blocks enclose.
    """

    array: str
    first: Expression
    stop: Local
    key: Local
    ascends_at: int | None


@dataclass
class Scans:
    """Emits what reads an array from position to position."""

    expressions: ExpressionLowering

    def __post_init__(self) -> None:
        self.emitter = self.expressions.emitter

    def pointer(self, source: Elements | Positions, scope: Scope) -> tuple[Local, Local]:
        """Declare the position that a scan starts at, to be advanced, and the one that it ends before."""
        if isinstance(source, Positions):
            first, last = (self.expressions.key(term, scope) for term in (source.low, source.high))
        else:
            first, last = self.segment(source, scope)
        return self.emitter.declare("p", first), self.emitter.declare("end", last)

    def segment(self, source: Elements, scope: Scope) -> tuple[Expression, Expression]:
        """Return the ends of a scan, after a check that it stays inside the array unless that is proved."""
        return self.expressions.segment(Symbol(source.array), source.low, source.high, scope)

    def search(
        self, array: str, low: Local, stop: Expression, key: Expression, role: Role = Role.SEARCH
    ) -> None:
        """Emit a binary search that moves ``low`` to the first element before ``stop`` that is not below."""
        high = self.emitter.declare("high", stop)
        with self.emitter.block() as search:
            sum_of_ends = Binary("add", low, high)
            middle = self.emitter.declare("middle", Binary("shift_right", sum_of_ends, index(1)))
            element = self.element(array, middle)
            is_below = Binary("less", element, key)
            self.emitter.emit(
                Branch(is_below, (Assign(low, plus(middle, index(1))),), (Assign(high, middle),))
            )
        self.emitter.emit(While(Binary("less", low, high), tuple(search), role))

    def first_match(self, search: Search) -> Local:
        """Return the first position, after the search for it, at which the element is not below the key."""
        if search.ascends_at is None:
            found = self.emitter.declare("low", search.first)
            self.search(search.array, found, search.stop, search.key)
            return found
        found = self.emitter.declare_before(search.ascends_at, "reached", index(0))
        self.emitter.emit(Assign(found, Binary("maximum", found, search.first)))
        self._approach(search, found)
        return found

    def run(self, search: Search) -> tuple[Local, Local]:
        """Return the ends of the positions, after the search for them, at which the element is the key."""
        if search.ascends_at is None:
            begin = self.first_match(search)
            end = self.emitter.declare("end", begin)
            self._pass_over(search, end)
            return begin, end
        begin = self.emitter.declare_before(search.ascends_at, "begin", index(0))
        end = self.emitter.declare_before(search.ascends_at, "end", index(0))
        with self.emitter.block() as statements:
            self.emitter.emit(Assign(begin, Binary("maximum", end, search.first)))
            self._approach(search, begin)
        is_past = Binary("less", self.load(search.array, begin), search.key)
        is_other = Binary("or", Binary("equal", begin, end), is_past)
        self.emitter.emit(Branch(is_other, tuple(statements)), Assign(end, begin))
        self._pass_over(search, end)
        return begin, end

    def _approach(self, search: Search, position: Local) -> None:
        """Emit a search like ``search`` that is short where it does not go far: by steps that double.

        So all searches of ascending keys take as long as one pass at most, and each of their steps is counted
        (Bentley, Yao, "An Almost Optimal Algorithm for Unbounded Searching", IPL 1976).
        """
        ahead = self.emitter.declare("ahead", position)
        stride = self.emitter.declare("stride", index(1))
        is_below = Binary("less", self.load(search.array, ahead), search.key)
        steps = (
            Assign(position, plus(ahead, index(1))),
            Assign(ahead, plus(ahead, stride)),
            Assign(stride, plus(stride, stride)),
        )
        running = Binary("and", Binary("less", ahead, search.stop), is_below)
        self.emitter.emit(While(running, steps))
        stop = Binary("minimum", ahead, search.stop)
        self.search(search.array, position, stop, search.key, Role.LOOP)

    def _pass_over(self, search: Search, position: Local) -> None:
        """Emit steps that move a position over the elements that are the key."""

        def is_key(place: Expression) -> Expression:
            return Binary("equal", self.load(search.array, place), search.key)

        self.emitter.pass_over(position, search.stop, is_key)

    def is_ascending(self, array: str) -> bool:
        """Return whether no element of an array is less than one before it."""
        fact = self.expressions.symbols[array]
        assert isinstance(fact, ArraySymbol)
        return fact.never_descends

    def load(self, array: str, position: Expression) -> Expression:
        """Return the element at ``position`` as an index."""
        return convert(Load(self.expressions.array(array), position), INDEX)

    def element(self, array: str, position: Expression) -> Local:
        """Declare the element at ``position``, an index widened so that keys are of one type."""
        load = Load(self.expressions.array(array), position)
        if load.buffer.type.is_integer:
            return self.emitter.declare("k", load, INDEX)
        return self.emitter.declare("x", load)

    def key(self, source: Elements | Positions, position: Local) -> Local:
        """Declare the key at a position of a scan: that itself, or the element there."""
        return position if isinstance(source, Positions) else self.element(source.array, position)

    def key_interval(self, source: Elements | Positions, scope: Scope) -> Interval:
        """Return what is known of the keys of a scan."""
        if isinstance(source, Positions):
            return self.between(source.low, source.high, scope)
        return self.element_interval(source.array)

    def element_interval(self, array: str) -> Interval:
        """Return what is known of all elements of an array."""
        fact = self.expressions.symbols[array]
        assert isinstance(fact, ArraySymbol)
        return elements(fact)

    def between(self, low: Term, high: Term, scope: Scope) -> Interval:
        """Return what is known of the positions low … high - 1."""
        first, last = self.expressions.interval(low, scope), self.expressions.interval(high, scope)
        return Interval(first.low, None if last.high is None else last.high - 1)
