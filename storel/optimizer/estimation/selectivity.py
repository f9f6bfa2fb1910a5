"""How many integers an interval has, and how likely a condition on them is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from storel.calculus.intervals import Interval, applied

SELECTIVITY = 0.5
"""How likely a condition is of which nothing is known."""


def middle(interval: Interval) -> float | None:
    """Return the middle of an interval."""
    if interval.low is None or interval.high is None:
        return None
    return (interval.low + interval.high) / 2


def span(interval: Interval) -> float:
    """Return the number of integers in an interval."""
    if interval.low is None or interval.high is None:
        return math.inf
    return max(0.0, float(interval.high - interval.low + 1))


def probability(function: str, intervals: Sequence[Interval], probabilities: Sequence[float]) -> float:
    """Return how likely ``function`` of arguments in these intervals, or so likely themselves, holds."""
    match function, probabilities:
        case "equal", _:
            keys = min(map(span, intervals))
            return 1.0 / keys if math.isfinite(keys) and keys > 0 else 0.1
        case "and", (a, b):
            return a * b
        case "or", (a, b):
            return a + b - a * b
        case "not", (a,):
            return 1.0 - a
        case "not_equal", _:
            return 0.9
        case _:
            truth = applied(function, *intervals)
            return float(truth.low) if truth.low == truth.high and truth.low is not None else SELECTIVITY
