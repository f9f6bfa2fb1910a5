"""A plan that several threads can run, a part of its outermost loop each.

    result <- loop x in l:h: B          =      result <- loop x in l:c: B  and  loop x in c:h: B

What becomes of the parts' results depends on where the loop writes: to places of its own in one dense
result, as a list in the order of its keys does where it is cut between two of them, to the end of a sparse
one, or to places that other parts write, too; then each part has a result of its own, and they are combined.
No two threads ever write to one place, so none waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from storel.calculus.binding import free_variables
from storel.calculus.bounds import bounds
from storel.calculus.nodes import Symbol, Term, Variable
from storel.plan.binding import binders
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Gather,
    Guard,
    Levels,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    ScalarStore,
    Together,
    Unite,
)
from storel.plan.ownership import enter_their_own
from storel.plan.work import at_most, steps, together, without_asking, work_of_iteration
from storel.symbols import EndSymbol, Symbols

LOW = Symbol("part.low")
HIGH = Symbol("part.high")
"""The ends of a part of a loop."""

EXACT = frozenset({"minimum", "maximum", "and", "or"})
"""Operators whose order does not matter to real numbers."""

REORDERED = frozenset({"add", "multiply"})
"""Operators whose order matters to the rounding of real numbers alone."""

Divisible: TypeAlias = Positions | Elements
"""The sources whose iterations have numbers."""


class Parts(Enum):
    """What becomes of the results of the parts of a loop."""

    SHARED = "places of their own"
    RUNS = "places of their own where no run of equal keys is cut"
    APPENDED = "one after the other"
    COMBINED = "combined"


@dataclass(frozen=True, slots=True)
class Split:
    """How a loop over ``source`` is run in parts.

    ``plan`` runs the part between ``LOW`` and ``HIGH``; ``ends`` is what is known of these. ``work`` is an
    action that counts what one iteration does, under the binders of ``source``, except for the elements of
    the ascending ``lists`` that are found by its key: each adds a number of steps known beforehand.
    """

    plan: Plan
    source: Divisible
    work: Action
    parts: Parts
    ends: tuple[EndSymbol, EndSymbol]
    lists: tuple[tuple[Elements, Term], ...] = ()


def split_of(plan: Plan, symbols: Symbols, *, reorders: bool) -> Split | None:
    """Return how the outermost loop of ``plan`` is run in parts, None if it is not.

    ``reorders`` says that real sums may be added up in any order.
    """
    loops = outermost(plan.action)
    if not loops or len({loop.source for loop in loops}) > 1:
        return None
    source = loops[0].source
    if not isinstance(source, Divisible) or free_variables(source.low) | free_variables(source.high):
        return None
    parts = _parts(plan.destination, loops, symbols, reorders)
    if parts is None:
        return None
    low, high = bounds(source.low, symbols), bounds(source.high, symbols)
    ends = tuple(EndSymbol(end.name, low.low, high.high) for end in (LOW, HIGH))
    each = together([work_of_iteration(loop) for loop in loops])
    part = replace(plan, action=_restricted(plan.action))
    has_keys = isinstance(source, Positions)
    lists = tuple(found for loop in loops if has_keys for found in _found_by_key(loop.body, 0))
    # What comes before a cut in a list is found by a search, for which the work must be a formula.
    return Split(
        part, source, at_most(each) if lists else without_asking(each), parts, (ends[0], ends[1]), lists
    )


def _found_by_key(action: Action, depth: int) -> Iterator[tuple[Elements, Term]]:
    """Yield what is searched for the key of a loop over positions, ``depth`` binders inside of it.

    With each comes the number of steps for an element, as far as it is the same for all of them.
    """
    match action:
        case Accumulate():
            return
        case Enter(_, body) | Guard(_, body):
            yield from _found_by_key(body, depth)
        case Loop(Matches(array, low, high, Variable(index), is_unique=False), body) if (
            depth <= index <= depth + 1 and not free_variables(low) | free_variables(high)
        ):
            yield Elements(array, low, high), steps(body)
            yield from _found_by_key(body, depth + 1)
        case Loop(source, body):
            yield from _found_by_key(body, depth + binders(source))
        case Bind(_, value, body):
            yield from _found_by_key(value, depth)
            yield from _found_by_key(body, depth + 1)
        case Together(actions) | Unite(actions):
            for part in actions:
                yield from _found_by_key(part, depth)


def outermost(action: Action) -> tuple[Loop, ...]:
    """Return the loops that ``action`` consists of, but for what is cheap; none if there is more to it."""
    match action:
        case Loop():
            return (action,)
        case Bind(ScalarStore(), Accumulate(), body):
            return outermost(body)
        case Together(actions):
            loops = [outermost(part) for part in actions]
            return tuple(loop for part in loops for loop in part) if all(loops) else ()
        case _:
            return ()


def _restricted(action: Action) -> Action:
    """Return ``action`` with its outermost loops from ``LOW`` to ``HIGH``."""
    match action:
        case Loop(Positions() | Elements() as source, body):
            return Loop(replace(source, low=LOW, high=HIGH), body)
        case Bind(store, value, body):
            return Bind(store, value, _restricted(body))
        case Together(actions):
            return Together(tuple(map(_restricted, actions)))
        case Accumulate() | Enter() | Loop() | Guard() | Unite():
            raise AssertionError("these are no outermost loops")


def _parts(
    destination: Destination, loops: tuple[Loop, ...], symbols: Symbols, reorders: bool
) -> Parts | None:
    """Return how parts of the loops' iterations fill ``destination``; None where they cannot."""
    match destination:
        case Coordinates():
            return Parts.APPENDED if len(loops) == 1 else None
        case Levels(levels, leaf):
            if not all(isinstance(level, Place) for level in levels):
                first = levels[0]
                is_ascending = not isinstance(first, Gather) and not first.repeats
                return Parts.APPENDED if is_ascending and len(loops) == 1 else None
            if levels and enter_their_own(loops, symbols):
                return Parts.SHARED
            if levels and enter_their_own(loops, symbols, by_runs=True):
                return Parts.RUNS
            is_free = reorders or not leaf.type.is_real
            if leaf.zero is not None and leaf.operator in EXACT | (REORDERED if is_free else frozenset()):
                return Parts.COMBINED
            return None
