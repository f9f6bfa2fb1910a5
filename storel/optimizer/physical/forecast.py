"""How often each action of a plan runs, and how long: the estimates of ``cardinality``, for actions.

    loop    iterations of its body        guard    times that its condition holds
    unite   distinct keys                 others   times that they run

An action makes a dictionary, as the term did that it comes from: ``enter`` is its ``Singleton``, ``loop`` its
``Sum``, ``Merge`` or ``Find``. So the same abstract interpretation applies, and the same prices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from storel.calculus.nodes import Lookup, Range, Slice, Symbol, Term, Variable
from storel.optimizer.cost.constants import CONSTANTS, Constants, gather
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.cost.whole import full_price
from storel.optimizer.estimation import estimates
from storel.optimizer.estimation.appraised import OUTSIDE, Appraised, Place
from storel.optimizer.estimation.cardinality import fold
from storel.optimizer.estimation.estimate import Estimate, variable
from storel.plan.binding import arrays_of, as_loop, binders, is_scanned
from storel.plan.count import total
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Coordinates,
    Elements,
    Enter,
    Entries,
    Guard,
    HashStore,
    Intersection,
    Levels,
    Loop,
    Matches,
    Plan,
    Positions,
    Source,
    Together,
    Unite,
)
from storel.plan.nodes import Place as PlaceLevel
from storel.symbols import Symbols

Scope = tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one action is expected to do in ``runs`` runs; ``times`` is its number in the table above.

    ``per_run`` and ``per_time`` are nanoseconds of its own, without those of its parts. ``arrivals`` is how
    many values arrive in the store of a bind in each run.
    """

    times: float
    runs: float
    per_run: float
    per_time: float = 0.0
    arrivals: float = 0.0

    @property
    def nanoseconds(self) -> float:
        return self.price(self.runs, self.times)

    def price(self, runs: float, times: float) -> float:
        """Return the nanoseconds for so many runs that amount to so many times."""
        return runs * self.per_run + times * self.per_time


def forecast(action: Action, symbols: Symbols, constants: Constants = CONSTANTS) -> tuple[Forecast, ...]:
    """Return the forecast of ``action``, which is closed, and of each that it consists of, in preorder."""
    walk = _Walk(symbols, constants)
    walk.visit(action, (), 1.0, OUTSIDE)
    return tuple(walk.found)


def entering(plan: Plan, symbols: Symbols, constants: Constants = CONSTANTS) -> float:
    """Return how many entries ``plan`` is expected to put into its destination, equal keys counted apart."""
    expected = iter(forecast(plan.action, symbols, constants))

    def entries(action: Action) -> float:
        here = next(expected)
        match action:
            case Accumulate():
                return 0.0
            case Enter(_, body):
                return entries(body) or here.times
            case Loop(_, body) | Guard(_, body):
                return entries(body)
            case Bind(_, value, body):
                entries(value)
                return entries(body)
            case Together(parts) | Unite(parts):
                return sum(map(entries, parts))

    return entries(plan.action)


def counting(
    plan: Plan, extents: tuple[Term, ...], symbols: Symbols, constants: Constants = CONSTANTS
) -> float:
    """Return the nanoseconds that it takes to bound what ``plan`` puts into its destination, before it runs.

    ``extents`` are those of the destination, in the order in which keys are entered.
    """
    match plan.destination:
        case Coordinates(rank):
            counts = [total(plan.action, rank - 1)]
        case Levels(levels):
            appending = (number for number, level in enumerate(levels) if not isinstance(level, PlaceLevel))
            counts = [total(plan.action, number, extents) for number in appending]
    return sum(
        each.nanoseconds
        for counted in counts
        if counted is not None
        for each in forecast(counted, symbols, constants)
    )


def arranging(plan: Plan, symbols: Symbols, constants: Constants = CONSTANTS) -> float:
    """Return the nanoseconds that ``plan`` takes to sort hashed tables, and to find the rows of them.

    Terms do not tell how a table is stored: their prices, and so the forecast, are of its entries only.
    """
    expected = iter(forecast(plan.action, symbols, constants))

    def visit(action: Action, hashed: tuple[float, ...]) -> float:
        """Return the time of an action given the entries of each bound store that is hashed, else 0."""
        here = next(expected)
        match action:
            case Accumulate():
                return 0.0
            case Enter(_, body) | Guard(_, body):
                return visit(body, hashed)
            case Loop(source, body):
                searched = _of_row(source, hashed)
                probe = constants.search_step + 2 * gather(searched, constants)
                found = here.runs * 2 * probe * math.log2(max(1.0, searched))
                return found + visit(body, ((0.0,) * binders(source)) + hashed)
            case Bind(store, value, body):
                within = visit(value, hashed)
                entries = here.arrivals if isinstance(store, HashStore) else 0.0
                is_sorted = entries > 0 and is_scanned(body, 0)
                sort = constants.segment * entries * math.log2(max(1.0, entries)) if is_sorted else 0.0
                return within + here.runs * sort + visit(body, (entries, *hashed))
            case Together(parts) | Unite(parts):
                return sum(visit(part, hashed) for part in parts)

    return visit(plan.action, ())


def _of_row(source: Source, hashed: tuple[float, ...]) -> float:
    """Return the entries of the hashed store that a row is scanned of, 0 if none is."""
    match source:
        case Entries(Lookup(Variable(index), _)):
            return hashed[index]
        case _:
            return 0.0


@dataclass
class _Walk:
    symbols: Symbols
    constants: Constants
    found: list[Forecast] = field(default_factory=list[Forecast])

    def __post_init__(self) -> None:
        self.price = full_price(Nanoseconds(self.constants))

    def visit(self, action: Action, scope: Scope, times: float, place: Place) -> Estimate:
        """Note the forecasts of ``action``, run so many times, and return the estimate of what it makes."""
        number = len(self.found)
        self.found.append(Forecast(times, times, 0.0))
        match action:
            case Accumulate(value):
                term = self.term(value, scope, place)
                each = self.price("Add", "", [term, _NOTHING], Estimate(), place)
                self.found[number] = Forecast(times, times, each)
                return term.estimate
            case Enter(key, body):
                return self._entered(number, self.term(key, scope, place), body, scope, times, place)
            case Loop(source, body):
                return self._loop(number, source, body, scope, times, place)
            case Guard(condition, body):
                test = self.term(condition, scope, place)
                held = times * test.estimate.probability
                each = self.price("If", "", [test, _NOTHING], Estimate(), place)
                self.found[number] = Forecast(held, times, each)
                return self._combined("If", [test.estimate, self.visit(body, scope, held, place)])
            case Bind(_, value, body):
                return self._bound(number, value, body, scope, times, place)
            case Together(actions):
                return self._union([self.visit(part, scope, times, place) for part in actions])
            case Unite(branches):
                scanned = [array for branch in branches for array in arrays_of(as_loop(branch).source)]
                united = place._replace(united=frozenset(scanned))
                made = self._union([self.visit(branch, scope, times, united) for branch in branches])
                keys = min(made.counts[0], made.spans[0]) if made.counts else made.length
                self.found[number] = Forecast(times * keys, times, 0.0, self.constants.merge_step)
                return made

    def term(self, term: Term, scope: Scope, place: Place) -> Appraised:
        """Return the estimate and the price of a term without loops."""
        return fold(term, self.symbols, self.price, [], scope, place)

    def _entered(
        self, number: int, key: Appraised, body: Action, scope: Scope, times: float, place: Place
    ) -> Estimate:
        made = self._combined("Single", [key.estimate, self.visit(body, scope, times, place)])
        each = self.price("Single", "", [key, _NOTHING], made, place)
        self.found[number] = Forecast(times, times, each)
        return made

    def _loop(
        self, number: int, source: Source, body: Action, scope: Scope, times: float, place: Place
    ) -> Estimate:
        constructor, parts = self._source(source, scope, place)
        known = [part.estimate for part in parts]
        values = estimates.bound(constructor, known)
        names = tuple(range(len(scope), len(scope) + len(values)))
        variables = [variable(*pair) for pair in zip(names, values, strict=True)]
        iterations = estimates.iterations(constructor, known)
        within = place.inside(frozenset(names))
        made = self.visit(body, (*reversed(variables), *scope), times * iterations, within)
        union = self._combined(constructor, [*known, made], names)
        inside = Appraised(made, 0.0)
        each = self.price(constructor, "", [*parts, inside], union, place)
        start = each
        if constructor == "Sum" and iterations > 0:  # a scan takes time by its length, a search by its runs
            empty = Appraised(known[0]._replace(length=0.0), parts[0].cost)
            start = self.price(constructor, "", [empty, inside], union, place)
        per_time = (each - start) / iterations if iterations > 0 else 0.0
        self.found[number] = Forecast(times * iterations, times, start, per_time)
        return union

    def _source(self, source: Source, scope: Scope, place: Place) -> tuple[str, list[Appraised]]:
        """Return the constructor of the calculus that loops so, and its operands."""

        def scan(array: str, low: Term, high: Term) -> Appraised:
            return self.term(Slice(Symbol(array), low, high), scope, place)

        match source:
            case Positions(low, high):
                return "Sum", [self.term(Range(low, high), scope, place)]
            case Elements(array, low, high):
                return "Sum", [scan(array, low, high)]
            case Entries(store):
                return "Sum", [self.term(store, scope, place)]
            case Matches(array, low, high, key):
                return "Find", [scan(array, low, high), self.term(key, scope, place)]
            case Intersection(left, right):
                return "Merge", [scan(each.array, each.low, each.high) for each in (left, right)]

    def _bound(
        self, number: int, value: Action, body: Action, scope: Scope, times: float, place: Place
    ) -> Estimate:
        stored = self.visit(value, scope, times, place)
        each = self.price("Let", "", [Appraised(stored, 0.0), _NOTHING], Estimate(), place)
        self.found[number] = Forecast(times, times, each, arrivals=stored.contributions)
        return self.visit(body, (variable(len(scope), stored), *scope), times, place)

    def _union(self, parts: list[Estimate]) -> Estimate:
        """Return the estimate of what several actions make in the same destination."""
        return reduce(lambda a, b: self._combined("Add", [a, b]), parts) if parts else Estimate()

    def _combined(self, constructor: str, known: Sequence[Estimate], binders: Sequence[int] = ()) -> Estimate:
        return estimates.combine(constructor, "", known, binders, None, self.symbols)


_NOTHING = Appraised(Estimate(), 0.0)
"""Stands for a part that is priced on its own."""
