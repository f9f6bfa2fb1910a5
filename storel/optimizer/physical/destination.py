"""Where a result goes: dense, assembled level by level, or listed and packed afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from storel.calculus.nodes import If, Lookup, Term, Variable
from storel.calculus.verify import Type
from storel.calculus.walk import children
from storel.optimizer.cost.model import is_hashed
from storel.optimizer.physical.arrivals import Order, orders
from storel.optimizer.physical.preferences import Gathering
from storel.optimizer.terms.occurrences import has_loop
from storel.plan.meeting import finds_any
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Enter,
    Gather,
    Guard,
    Level,
    Levels,
    Loop,
    Place,
    ScalarStore,
    StreamStore,
    Together,
    Unite,
)
from storel.plan.single import is_light
from storel.scalars import index_type
from storel.semiring import Semiring
from storel.storage.formats.signature import LevelKind
from storel.symbols import Symbols

DENSE_SHARE = 0.3
"""The share of occupied places from which on a result is better dense: an index costs half a value."""

BITMAP_ENTRIES = 16
"""Entries per row from which on a bitmap beats sorting the list of places."""

BITMAP_PLACES = 4096
"""Places of a row up to which a bitmap is better, however few of them have entries."""

FEW = 2**16
"""So many rows cost nothing, whether they have entries or not."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A format that a result may be assembled in: each level's kind, and the dimension that it holds.

    Where ``order`` is empty they hold the dimensions in order.
    """

    kinds: tuple[LevelKind, ...]
    order: tuple[int, ...] = ()

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The dimension that each level holds."""
        return self.order or tuple(range(len(self.kinds)))

    def entered_in(self, order: tuple[int, ...], extents: Sequence[int], entries: float) -> Candidate:
        """Return a candidate for keys that arrive in another order: a level of few entries is compressed."""
        if order == self.dimensions or LevelKind.COMPRESSED not in self.kinds:
            return Candidate(self.kinds, order)
        is_dense = self.kinds[0] is LevelKind.DENSE and is_worth_a_place(extents[order[0]], entries)
        first = LevelKind.DENSE if is_dense else LevelKind.COMPRESSED
        return Candidate((first, *[LevelKind.COMPRESSED] * (len(order) - 1)), order)


def result_type(result: Type, ring: Semiring) -> ScalarStore:
    """Return how the values of a result are combined; a type that cannot hold the zero is of one value."""
    zero = ring.zero if ring.with_zero(result.scalar) is result.scalar else None
    return ScalarStore(result.scalar, ring.plus_name, zero)


def is_dense(entries: float, extents: Sequence[int]) -> bool:
    """Return whether a result with about so many entries is better stored densely."""
    return entries >= DENSE_SHARE * math.prod(extents)


def is_worth_a_place(rows: float, entries: float) -> bool:
    """Return whether each of so many rows may have a place, whether it has any of the entries or not."""
    return rows <= max(entries, FEW)


def choose_destination(
    action: Action,
    candidate: Candidate | None,
    leaf: ScalarStore,
    terms: tuple[Term, ...],
    extents: tuple[int, ...],
    entries: float,
    symbols: Symbols,
    gather: Gathering | None = None,
) -> Destination:
    """Return levels if ``candidate`` can be assembled in the order of arrival, else coordinates.

    ``action`` enters keys in the order of its levels; ``terms`` and ``extents`` are the dimensions that these
    hold, ``entries`` is the result's estimated number of entries. ``gather`` says how places that arrive in
    any order are sorted, by their number if it is None.
    """
    listed = Coordinates(len(terms), leaf, index_type(extents))
    if candidate is None:
        return listed
    dimensions = () if candidate.dimensions == tuple(range(len(terms))) else candidate.order
    arriving = orders(action, len(terms), symbols)
    if LevelKind.COMPRESSED not in candidate.kinds:
        once = all(order is Order.INCREASING for order in arriving) and not _meets_twice(action)
        places = [Place(term, once=once) for term in terms]
        return Levels(tuple(places), leaf, index_type(extents), dimensions)
    if Order.ANY in arriving[:-1]:
        return listed
    levels: list[Level] = []
    rows = max(1.0, entries) / max(1, math.prod(extents[:-1]))
    for kind, order, term in zip(candidate.kinds, arriving, terms, strict=True):
        is_last = len(levels) == len(terms) - 1
        repeats = order is Order.ASCENDING
        if kind is LevelKind.DENSE:
            levels.append(Place(term, once=is_last and order is Order.INCREASING, repeats=repeats))
        elif is_last and order is not Order.INCREASING:
            if is_hashed(extents[-1], entries):  # a row with all of its places is too large for so few
                return listed
            is_better = rows >= BITMAP_ENTRIES or extents[-1] <= BITMAP_PLACES
            levels.append(Gather(term, by_bitmap=is_better if gather is None else gather == "bitmap"))
        else:
            levels.append(Append(repeats=repeats))
    return Levels(tuple(levels), leaf, index_type(extents), dimensions)


def _meets_twice(action: Action) -> bool:
    """Return whether different parts of ``action`` may enter the same key."""
    match action:
        case Accumulate():
            return False
        case Enter(_, body) | Guard(_, body) | Loop(_, body) | Bind(_, _, body):
            return _meets_twice(body)
        case Together(parts):
            return len(parts) > 1 or any(_meets_twice(part) for part in parts)
        case Unite():
            return True


def separated(action: Action) -> Action:
    """Replace co-iteration by one loop after the other, which is faster where any order will do.

    It stays where the loops search for their keys in what the others go through: one pass finds all.
    """
    match action:
        case Accumulate():
            return action
        case Enter(key, body):
            return Enter(key, separated(body))
        case Guard(condition, body):
            return Guard(condition, separated(body))
        case Loop(source, body):
            return Loop(source, separated(body))
        case Bind(StreamStore() as store, value, body):
            return Bind(store, value, separated(body))
        case Bind(store, value, body):
            return Bind(store, separated(value), separated(body))
        case Unite() if finds_any(action):
            return action
        case Together(parts) | Unite(parts):
            return Together(tuple(separated(part) for part in parts))


def unguarded(action: Action, semiring: str) -> Action:
    """Enter what conditions guard in any case, as zero where they do not hold, if that takes no time.

    It is right where places hold zeros: nothing is added to them. Which way a condition of values goes a
    processor cannot foresee, and what goes both ways it computes for several keys at once.
    """
    match action:
        case Accumulate():
            return action
        case Guard(condition, body):
            match unguarded(body, semiring):
                case Enter(Variable(index) as key, Accumulate(value)) if (
                    is_light(_without_conditions(value))
                    and not has_loop(condition)
                    and not _asks_for(condition, index)
                ):
                    return Enter(key, Accumulate(If(condition, value, semiring)))
                case inner:
                    return Guard(condition, inner)
        case Enter(key, body):
            return Enter(key, unguarded(body, semiring))
        case Loop(source, body):
            return Loop(source, unguarded(body, semiring))
        case Bind(store, value, body):
            return Bind(store, value, unguarded(body, semiring))
        case Together(parts):
            return Together(tuple(unguarded(part, semiring) for part in parts))
        case Unite():
            return action


def _asks_for(condition: Term, index: int) -> bool:
    """Return whether a condition is about a variable itself, rather than what is read at it."""
    match condition:
        case Variable(found):
            return found == index
        case Lookup():
            return False
        case _:
            return any(_asks_for(child, index + binders) for child, binders in children(condition))


def _without_conditions(value: Term) -> Term:
    return _without_conditions(value.body) if isinstance(value, If) else value
