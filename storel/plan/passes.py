"""Passes: loops that go through what they read or make, and bind no more than numbers.

What is left beside dense products may be such passes: they take little where they have fewer iterations.
"""

from __future__ import annotations

import math

from storel.calculus.bounds import bounds
from storel.plan.binding import binders
from storel.plan.nest import row_extent
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Entries,
    Guard,
    Loop,
    Positions,
    ScalarStore,
    Source,
    Store,
    Together,
)
from storel.symbols import Symbols


def iterations(action: Action, places: float, stores: tuple[Store, ...], symbols: Symbols) -> float:
    """Return how often a pass evaluates its values, at most; inf if it is none, or nobody knows.

    Where each loop enters a key that is once for each of the ``places`` that it fills. ``stores`` are what
    it reads, variable 0 the last.
    """
    count = _evaluations(action, 0, stores, symbols)
    return min(count, places) if _enters_by_each_loop(action) else count


def _evaluations(action: Action, depth: int, stores: tuple[Store, ...], symbols: Symbols) -> float:
    """Return how many values ``action``, which stands under so many binders, evaluates at most."""
    match action:
        case Accumulate():
            return 1.0
        case Enter(_, body) | Guard(_, body):
            return _evaluations(body, depth, stores, symbols)
        case Loop(source, body):
            each = _evaluations(body, depth + binders(source), stores, symbols)
            return _length(source, depth, stores, symbols) * each
        case Bind(ScalarStore(), value, body):
            own = 0.0 if isinstance(value, Accumulate) else _evaluations(value, depth, stores, symbols)
            return own + _evaluations(body, depth + 1, stores, symbols)
        case Together(actions):
            return sum(_evaluations(each, depth, stores, symbols) for each in actions)
        case _:
            return math.inf


def _enters_by_each_loop(action: Action) -> bool:
    """Return whether ``action`` is one nest with as many keys as loops."""
    deeper = 0
    while True:
        match action:
            case Loop(_, body):
                deeper += 1
            case Enter(_, body):
                deeper -= 1
            case Guard(_, body) | Bind(ScalarStore(), Accumulate(), body):
                pass
            case Accumulate():
                return deeper <= 0
            case _:
                return False
        action = body


def _length(source: Source, depth: int, stores: tuple[Store, ...], symbols: Symbols) -> float:
    """Return the most iterations of a loop over ``source``, which stands under so many binders."""
    match source:
        case Positions(low, high):
            first, end = bounds(low, symbols).low, bounds(high, symbols).high
            return math.inf if first is None or end is None else max(0, end - first)
        case Entries(row):
            return row_extent(row, depth, stores, symbols) or math.inf
        case _:
            return math.inf
