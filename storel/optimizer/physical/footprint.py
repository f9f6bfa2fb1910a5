"""The bytes that the stored dictionaries of a plan take at once, as estimated.

    footprint(bind x = d in e) = max(footprint(d), bytes(d) + footprint(e))
    footprint(others)          = the most of their parts'

What a dictionary is stored in is the physical planner's decision. The result is left out: every plan makes
it.
"""

from __future__ import annotations

import math
from itertools import repeat
from types import UnionType

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
    StreamStore,
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
    # Of most plans what is expected is not asked for: they store nothing, or what has a place for each key.
    is_asked = _has_store(action, HashStore | RowsStore)
    arrivals = (each.arrivals for each in forecast(action, symbols)) if is_asked else repeat(0.0)

    def most(action: Action) -> float:
        arriving = next(arrivals)
        match action:
            case Accumulate():
                return 0.0
            case Enter(_, body) | Loop(_, body) | Guard(_, body):
                return most(body)
            case Bind(store, value, body):
                filling = most(value)
                return max(filling, _bytes(store, arriving, symbols) + most(body))
            case Together(parts) | Unite(parts):
                return max(map(most, parts), default=0.0)

    return most(action)


def _has_store(action: Action, kinds: UnionType) -> bool:
    """Return whether an action stores something in one of some kinds of stores."""
    match action:
        case Accumulate():
            return False
        case Enter(_, body) | Loop(_, body) | Guard(_, body):
            return _has_store(body, kinds)
        case Bind(store, value, body):
            return isinstance(store, kinds) or _has_store(value, kinds) or _has_store(body, kinds)
        case Together(parts) | Unite(parts):
            return any(_has_store(part, kinds) for part in parts)


def _bytes(store: Store, arrivals: float, symbols: Symbols) -> float:
    """Return what ``store`` takes if so many values are added to it."""
    extents = [bounds(extent, symbols).high or 0 for extent in store_terms(store)]
    match store:
        case ScalarStore() | StreamStore():  # registers
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
