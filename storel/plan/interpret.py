"""What a plan means: each action is run for its effect on a destination of plain dictionaries.

The promises of a plan are checked on the way: keys arrive at a level in the order that it declares,
branches that are united scan increasing elements, and what is written once is written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Symbol, Term
from storel.calculus.verify import KEY, Type, infer
from storel.errors import EvaluationError
from storel.plan.binding import as_loop, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    Intersection,
    Level,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    ScalarStore,
    Source,
    Store,
    Together,
    Unite,
)
from storel.plan.verify import IllegalPlanError
from storel.semiring import OPERATIONS, PLUS_TIMES, Scalar
from storel.symbols import ArraySymbol, Symbols
from storel.values import Array, Value, rounded

Bindings: TypeAlias = tuple[tuple[Type, Value], ...]
"""The types and values of the enclosing binders, the innermost first."""


def run(plan: Plan, symbols: Symbols, values: Mapping[str, Any]) -> Value:
    """Return the result of ``plan``: a scalar, or a dictionary without zero entries.

    ``values`` holds a NumPy array for each array symbol and a scalar for each parameter. Raises
    EvaluationError where the program fails, IllegalPlanError where the plan breaks its own promise.
    """
    destination = plan.destination
    if isinstance(destination, Coordinates):
        sink = _sink(destination.rank, destination.leaf, ())
    else:
        sink = _sink(len(destination.levels), destination.leaf, destination.levels)
    _Interpreter(symbols, values).run(plan.action, sink, ())
    order = () if isinstance(destination, Coordinates) else destination.order
    return _in_order(sink.content(), order) if order else sink.content()


def _in_order(content: Value, order: tuple[int, ...]) -> Value:
    """Return a dictionary whose level k holds dimension ``order[k]`` with its dimensions in order."""
    found: dict[int, Any] = {}
    for keys, value in _entries(content, ()):
        inner = found
        *above, last = (keys[order.index(dimension)] for dimension in range(len(order)))
        for key in above:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return found


def _entries(content: Value, keys: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Value]]:
    if not isinstance(content, dict):
        yield keys, content
        return
    for key, inner in content.items():
        yield from _entries(inner, (*keys, key))


def _combined(operator: str, one: Scalar, other: Scalar) -> Scalar:
    return PLUS_TIMES.times(one, other) if operator == "multiply" else OPERATIONS[operator](one, other)


@dataclass
class _Cell:
    """A scalar destination."""

    store: ScalarStore
    value: Scalar | None = None

    def add(self, value: Scalar) -> None:
        first = self.store.zero if self.value is None else self.value
        total = value if first is None else _combined(self.store.operator, first, value)
        self.value = rounded(total, self.store.type)

    def content(self) -> Value:
        value = self.store.zero if self.value is None else self.value
        if value is None:
            raise EvaluationError(f"the {self.store.operator} of no entries")
        return rounded(value, self.store.type)


@dataclass
class _Dictionary:
    """A destination of rank 1 or more; ``levels`` say how its keys may arrive, or nothing."""

    rank: int
    leaf: ScalarStore
    levels: tuple[Level, ...]
    children: dict[int, _Sink] = field(default_factory=dict[int, "_Sink"])
    last: int | None = None

    def enter(self, key: int) -> _Sink:
        """Return the child at ``key``, which must be one that may come now."""
        if key < 0:
            raise EvaluationError(f"a key of the result is {key}")
        if self._is_ordered() and self.last is not None:
            _require(key >= self.last, "keys do not arrive in ascending order")
            _require(key > self.last or self._repeats(), "a key arrives twice")
        self.last = key
        _require(not (self._is_once() and key in self.children), "a place is entered twice")
        if key not in self.children:
            self.children[key] = _sink(self.rank - 1, self.leaf, self.levels[1:])
        return self.children[key]

    def content(self) -> Value:
        zero = {} if self.rank > 1 else rounded(self.leaf.zero or 0, self.leaf.type)
        found = {key: child.content() for key, child in sorted(self.children.items())}
        return {key: value for key, value in found.items() if value != zero}

    def _is_ordered(self) -> bool:
        """Return whether this level appends, or stands above one that does."""
        if not self.levels or isinstance(self.levels[0], Gather):
            return False
        return any(not isinstance(level, Place) for level in self.levels)

    def _repeats(self) -> bool:
        return isinstance(self.levels[0], Place | Append) and self.levels[0].repeats

    def _is_once(self) -> bool:
        return len(self.levels) == 1 and isinstance(self.levels[0], Place) and self.levels[0].once


_Sink: TypeAlias = _Cell | _Dictionary


def _sink(rank: int, leaf: ScalarStore, levels: tuple[Level, ...]) -> _Sink:
    return _Dictionary(rank, leaf, levels) if rank else _Cell(leaf)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IllegalPlanError(message)


@dataclass(frozen=True, slots=True)
class _Interpreter:
    symbols: Symbols
    values: Mapping[str, Any]

    def run(self, action: Action, sink: _Sink, bindings: Bindings) -> None:
        """Run ``action`` on ``sink``."""
        match action:
            case Accumulate(value):
                assert isinstance(sink, _Cell)
                sink.add(self.value(value, bindings))
            case Enter(key, body):
                assert isinstance(sink, _Dictionary)
                self.run(body, sink.enter(self.value(key, bindings)), bindings)
            case Loop(source, body):
                for bound in self.iterations(source, bindings):
                    self.run(body, sink, bound + bindings)
            case Guard(condition, body):
                if self.value(condition, bindings):
                    self.run(body, sink, bindings)
            case Bind(store, value, body):
                self.run(body, sink, (self.filled(store, value, bindings), *bindings))
            case Together(parts):
                for part in parts:
                    self.run(part, sink, bindings)
            case Unite(branches):
                self.unite([as_loop(branch) for branch in branches], sink, bindings)

    def value(self, term: Term, bindings: Bindings) -> Value:
        return evaluate(term, self.symbols, self.values, bindings)

    def filled(self, store: Store, value: Action, bindings: Bindings) -> tuple[Type, Value]:
        """Return the type and the content of ``store`` after ``value`` filled it."""
        rank = len(store_terms(store))
        sink = _sink(rank, ScalarStore(store.type, store.operator, store.zero), ())
        self.run(value, sink, bindings)
        return Type(store.type, rank), sink.content()

    def unite(self, branches: Sequence[Loop], sink: _Sink, bindings: Bindings) -> None:
        """Run the branches in one pass over all their elements."""
        assert isinstance(sink, _Dictionary)
        waiting: dict[int, list[tuple[Action, Bindings]]] = {}
        for branch in branches:
            last = -1
            for bound in self.iterations(branch.source, bindings):
                key = bound[0][1]
                _require(key > last, "the elements of a united branch do not increase")
                last = key
                assert isinstance(branch.body, Enter)
                waiting.setdefault(key, []).append((branch.body.body, bound + bindings))
        for key in sorted(waiting):
            child = sink.enter(key)
            for body, inner in waiting[key]:
                self.run(body, child, inner)

    def iterations(self, source: Source, bindings: Bindings) -> Iterator[Bindings]:
        """Yield what each iteration of a loop binds, the innermost first."""
        match source:
            case Positions(low, high):
                for key in range(self.value(low, bindings), self.value(high, bindings)):
                    yield (KEY, key), (KEY, key)
            case Elements(name):
                fact = self.symbols[name]
                assert isinstance(fact, ArraySymbol)
                for position, element in self.scan(source, bindings):
                    yield (Type(fact.element_type), element), (KEY, position)
            case Entries(store):
                kind, content = self.store(store, bindings)
                for key, value in sorted(content.items()):
                    yield (kind, value), (KEY, key)
            case Matches(name, low, high, key, is_unique):
                wanted = self.value(key, bindings)
                scan = self.scan(Elements(name, low, high), bindings)
                found = [position for position, element in scan if element == wanted]
                _require(len(found) < 2 or not is_unique, "an element that is unique occurs twice")
                yield from (((KEY, position),) for position in found)
            case Intersection(left, right):
                second = {element: position for position, element in self.scan(right, bindings)}
                for p, element in self.scan(left, bindings):
                    if element in second:
                        yield (KEY, element), (KEY, second[element]), (KEY, p)

    def scan(self, source: Elements, bindings: Bindings) -> list[tuple[int, Scalar]]:
        array = self.value(Symbol(source.array), bindings)
        assert isinstance(array, Array)
        low, high = self.value(source.low, bindings), self.value(source.high, bindings)
        part = array.part(low, high)
        return [(position, part.at(position)) for position in range(low, high)]

    def store(self, term: Term, bindings: Bindings) -> tuple[Type, Value]:
        """Return the type of the values of a bound store, or of one of its rows, and its content."""
        kind = infer(term, self.symbols, tuple(kind for kind, _ in bindings))
        return Type(kind.scalar, kind.rank - 1), self.value(term, bindings)
