"""The plan as a tree of operators, each with what was expected of it and what it did.

Counts are measured. The time of one operator is not: a clock inside the loops would cost more than they
do. The time of the whole kernel is measured, and divided among the operators as the cost model prices
what they were counted to do; every rendering says "attributed".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from storel.compilation.compiled import Compilation
from storel.execution.profile import Profile
from storel.optimizer.outcome import Priced
from storel.optimizer.physical.forecast import Forecast, forecast
from storel.plan.nodes import Accumulate, Action, Bind, Enter, Guard, Loop, Together, Unite
from storel.plan.printer import action_lines, destination_line


@dataclass(frozen=True, slots=True)
class Operator:
    """An action of a plan.

    ``expected`` and ``counted`` are iterations, entries or runs (see ``loops.lowering.profile``),
    ``nanoseconds`` the expected time of this operator alone, ``attributed`` its share of the measured time.
    What was not measured is None.
    """

    text: str
    expected: float
    nanoseconds: float
    counted: int | None
    attributed: float | None
    parts: tuple[Operator, ...]

    @property
    def factor(self) -> float | None:
        """By which factor expectation and count differ, at least 1; below one entry no difference counts."""
        if self.counted is None:
            return None
        low, high = sorted((max(1.0, self.expected), max(1.0, float(self.counted))))
        return high / low


@dataclass(frozen=True, slots=True)
class Explained:
    """One definition, with all that any rendering shows of it."""

    compilation: Compilation
    profile: Profile | None
    destination: str
    operators: tuple[Operator, ...]

    @property
    def name(self) -> str:
        return self.compilation.definition.name

    @property
    def nanoseconds(self) -> float:
        """The expected time of a call: of the plan, and of what is around it."""
        return self.compilation.constants.call + self.compilation.optimized.cost.nanoseconds

    @property
    def chosen(self) -> Priced:
        """The term that was taken."""
        optimized = self.compilation.optimized
        return next(each for each in optimized.considered if each.term == optimized.term)

    @property
    def runners_up(self) -> tuple[Priced, ...]:
        """The terms that were considered and not taken, the cheapest first."""
        return tuple(each for each in self.compilation.optimized.considered if each is not self.chosen)


def explained(compilation: Compilation, profile: Profile | None = None) -> Explained:
    """Return what there is to say of a compilation, and of its run if it was measured."""
    plan = compilation.plan
    expected = forecast(plan.action, compilation.symbols, compilation.constants)
    counts = (None,) * len(expected) if profile is None else profile.counts
    rows = zip(action_lines(plan), expected, counts, strict=True)
    operators = tuple(_operators(plan.action, 1, rows))
    if profile is not None:
        total = sum(each.attributed or 0.0 for _, each in flattened(operators))
        scale = _scale(1e9 * profile.seconds, total, compilation.constants.call)
        operators = tuple(_scaled(each, scale) for each in operators)
    return Explained(compilation, profile, destination_line(plan), operators)


def _scale(measured: float, expected: float, call: float) -> float:
    """Return what the plan takes of the measured time, beside what it was expected to take.

    That is all but the call, and at least the share that was expected of it.
    """
    return max((measured - call) / expected, measured / (expected + call)) if expected > 0 else 0.0


def flattened(operators: tuple[Operator, ...], depth: int = 0) -> Iterator[tuple[int, Operator]]:
    """Yield all operators in preorder, with their depth."""
    for operator in operators:
        yield depth, operator
        yield from flattened(operator.parts, depth + 1)


_Rows = Iterator[tuple[str, Forecast, int | None]]


def _operators(action: Action, runs: int | None, rows: _Rows) -> Iterator[Operator]:
    """Yield the operators of an action that was run so often: a ``bind`` comes before what uses it.

    The attributed times are still nanoseconds of the cost model.
    """
    text, expected, counted = next(rows)
    priced = None if runs is None or counted is None else expected.price(runs, counted)

    def operator(*parts: Iterator[Operator]) -> Operator:
        nested = tuple(each for part in parts for each in part)
        return Operator(text, expected.times, expected.nanoseconds, counted, priced, nested)

    match action:
        case Accumulate():
            yield operator()
        case Enter(_, body) | Guard(_, body) | Loop(_, body):
            yield operator(_operators(body, counted, rows))
        case Bind(_, value, body):
            yield operator(_operators(value, runs, rows))
            yield from _operators(body, runs, rows)
        case Together(actions) | Unite(actions):
            yield operator(*(_operators(part, runs, rows) for part in actions))


def _scaled(operator: Operator, scale: float) -> Operator:
    attributed = None if operator.attributed is None else operator.attributed * scale
    parts = tuple(_scaled(part, scale) for part in operator.parts)
    return replace(operator, attributed=attributed, parts=parts)
