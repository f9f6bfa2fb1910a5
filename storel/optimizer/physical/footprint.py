"""The bytes that the stored dictionaries of a plan take at once, as estimated.

    footprint(bind x = d in e) = max(footprint(d), bytes(d) + footprint(e))
    footprint(others)          = the most of their parts'

What a dictionary is stored in is the physical planner's decision. The result is left out: every plan makes
it.
"""

from __future__ import annotations

import math

from storel.calculus.bounds import bounds
from storel.calculus.nodes import Term
from storel.errors import MemoryLimitError
from storel.optimizer.physical.actions import ActionPlanner
from storel.optimizer.physical.forecast import forecast
from storel.optimizer.physical.normalize import normalized
from storel.optimizer.physical.scope import Scope, sum_over
from storel.optimizer.physical.shape import semiring_of
from storel.plan.binding import store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Guard,
    HashStore,
    ListStore,
    Loop,
    RowsStore,
    ScalarStore,
    Store,
    TableStore,
    Together,
    Unite,
)
from storel.symbols import Symbols

WORD = 8
"""Bytes of a value, and of a key."""

SLOT = 64
"""Bytes that an entry takes in a hash table: up to four slots of a key and a value."""


def footprint(term: Term, symbols: Symbols) -> float:
    """Return the estimated bytes that ``term``, which is closed, stores at once besides its result.

    There is no end of them where the planner refuses to store what the term asks for.
    """
    planner = ActionPlanner(symbols)
    try:
        action = planner.value(normalized(term, symbols), Scope(), sum_over(semiring_of(term)))
    except MemoryLimitError:
        return math.inf
    if not _has_store(action):  # as of most plans: what is expected of them is not asked for
        return 0.0
    expected = iter(forecast(action, symbols))

    def most(action: Action) -> float:
        here = next(expected)
        match action:
            case Accumulate():
                return 0.0
            case Enter(_, body) | Loop(_, body) | Guard(_, body):
                return most(body)
            case Bind(store, value, body):
                filling = most(value)
                return max(filling, _bytes(store, here.arrivals, symbols) + most(body))
            case Together(parts) | Unite(parts):
                return max(map(most, parts), default=0.0)

    return most(action)


def _has_store(action: Action) -> bool:
    """Return whether an action stores more than scalars."""
    match action:
        case Accumulate():
            return False
        case Enter(_, body) | Loop(_, body) | Guard(_, body):
            return _has_store(body)
        case Bind(store, value, body):
            return not isinstance(store, ScalarStore) or _has_store(value) or _has_store(body)
        case Together(parts) | Unite(parts):
            return any(map(_has_store, parts))


def _bytes(store: Store, arrivals: float, symbols: Symbols) -> float:
    """Return what ``store`` takes if so many values are added to it."""
    extents = [bounds(extent, symbols).high or 0 for extent in store_terms(store)]
    match store:
        case ScalarStore():  # a register
            return 0.0
        case TableStore():
            return WORD * math.prod(extents)
        case ListStore():  # and the places that are occupied
            return 2 * WORD * math.prod(extents)
        case HashStore():
            return SLOT * arrivals
        case RowsStore():  # beginnings, the row in the making and its places, keys and values
            rows, columns = extents
            return WORD * (rows + 2 * columns + 2 * arrivals)
