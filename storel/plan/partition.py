"""A plan in phases, each of which several threads can run, a part of its outermost loop each.

    result <- bind table <- A in B      =      table <- A ;  result <- B      (B reads the table)

    result <- loop x in l:h: B          =      result <- loop x in l:c: B  and  loop x in c:h: B

What becomes of the parts' results depends on where the loop writes: to places of its own in one dense
result, to the end of a sparse one, or to places that other parts write, too; then each part has a result of
its own, and they are combined. No two threads ever write to one place, so none waits for another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from storel.calculus.binding import free_variables
from storel.calculus.intervals import ANY, Context, binder_bounds, bounds
from storel.calculus.nodes import Add, Lookup, Multiply, Range, Slice, Symbol, Term, Variable
from storel.plan.binding import binders, store_terms
from storel.plan.contraction import Contraction, contraction
from storel.plan.fission import fission
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
    Source,
    Store,
    TableStore,
    Together,
    Unite,
)
from storel.plan.work import together, work_of_iteration
from storel.symbols import ArraySymbol, EndSymbol, Symbols

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
    APPENDED = "one after the other"
    COMBINED = "combined"


@dataclass(frozen=True, slots=True)
class Split:
    """How a loop over ``source`` is run in parts.

    ``plan`` is over the part between ``LOW`` and ``HIGH``, of which ``ends`` are what is known. ``work`` is
    an action that counts what one iteration does, under the binders of ``source``, but for the elements of
    the ascending ``lists`` that are found by its key: each is one step more.
    """

    plan: Plan
    source: Divisible
    work: Action
    parts: Parts
    ends: tuple[EndSymbol, EndSymbol]
    lists: tuple[Elements, ...] = ()


@dataclass(frozen=True, slots=True)
class Phase:
    """A plan that reads the ``stores`` that the phases before it filled: variable 0 is the last of them.

    The last phase makes the result, the others have a store that is ``filled``. A phase may have a ``split``,
    by which several threads run it, or be a dense ``contraction``.
    """

    plan: Plan
    stores: tuple[Store, ...]
    split: Split | None = None
    contraction: Contraction | None = None
    filled: Store | None = None

    def extents(self, result: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the extents of what the phase fills, where ``result`` are those of the whole plan's."""
        return result if self.filled is None else store_terms(self.filled)


def phases(
    plan: Plan, symbols: Symbols, *, reorders: bool, is_finite: bool, memory: float = math.inf
) -> tuple[Phase, ...]:
    """Return the phases of ``plan``.

    ``reorders`` says that real sums may be added up in any order, ``is_finite`` that all values are finite.
    Loops are taken apart where that makes dense contractions of their stages, whose tables take no more than
    ``memory`` bytes.
    """
    found = _phases(plan, symbols, reorders, is_finite)
    if not (reorders and is_finite):
        return found
    apart = fission(plan)
    if apart == plan:
        return found
    stages = _phases(apart, symbols, reorders, is_finite)
    needed = sum(phase.contraction.result_bytes for phase in stages if phase.contraction is not None)
    are_products = all(phase.contraction is not None for phase in stages)
    return stages if are_products and needed <= memory else found


def _phases(plan: Plan, symbols: Symbols, reorders: bool, is_finite: bool) -> tuple[Phase, ...]:
    found: list[Phase] = []
    stores: tuple[Store, ...] = ()
    action = plan.action
    while isinstance(action, Bind) and not isinstance(action.value, Accumulate):
        destination = _destination(action.store)
        if destination is None:
            break
        found.append(Phase(Plan(destination, action.value), stores, filled=action.store))
        stores, action = (action.store, *stores), action.body
    found.append(Phase(Plan(plan.destination, action), stores))
    return tuple(
        replace(
            phase,
            split=_split(phase.plan, symbols, reorders),
            contraction=contraction(phase.plan, phase.stores, symbols) if reorders and is_finite else None,
        )
        for phase in found
    )


def _destination(store: Store) -> Destination | None:
    """Return the result that holds what ``store`` does, None if there is none."""
    match store:
        case ScalarStore(zero=zero):
            return None if zero is None else Levels((), store)
        case TableStore(scalar_type, operator, zero, extents):
            return Levels(tuple(map(Place, extents)), ScalarStore(scalar_type, operator, zero))
        case _:
            return None


def _split(plan: Plan, symbols: Symbols, reorders: bool) -> Split | None:
    """Return how the outermost loop of ``plan`` is run in parts, None if it is not."""
    loops = _outermost(plan.action)
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
    return Split(part, source, each, parts, (ends[0], ends[1]), lists)


def _found_by_key(action: Action, depth: int) -> Iterator[Elements]:
    """Yield what is searched for the key of a loop over positions, ``depth`` binders inside of it."""
    match action:
        case Accumulate():
            return
        case Enter(_, body) | Guard(_, body):
            yield from _found_by_key(body, depth)
        case Loop(Matches(array, low, high, Variable(index), is_unique=False), body) if (
            depth <= index <= depth + 1 and not free_variables(low) | free_variables(high)
        ):
            yield Elements(array, low, high)
            yield from _found_by_key(body, depth + 1)
        case Loop(source, body):
            yield from _found_by_key(body, depth + binders(source))
        case Bind(_, value, body):
            yield from _found_by_key(value, depth)
            yield from _found_by_key(body, depth + 1)
        case Together(actions) | Unite(actions):
            for part in actions:
                yield from _found_by_key(part, depth)


def _outermost(action: Action) -> tuple[Loop, ...]:
    """Return the loops that ``action`` consists of, but for what is cheap; none if there is more to it."""
    match action:
        case Loop():
            return (action,)
        case Bind(ScalarStore(), Accumulate(), body):
            return _outermost(body)
        case Together(actions):
            loops = [_outermost(part) for part in actions]
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
            if levels and all(_enters_its_own(loop, (), symbols) for loop in loops):
                return Parts.SHARED
            is_free = reorders or not leaf.type.is_real
            if leaf.zero is not None and leaf.operator in EXACT | (REORDERED if is_free else frozenset()):
                return Parts.COMBINED
            return None


def _enters_its_own(loop: Loop, context: Context, symbols: Symbols) -> bool:
    """Return whether different iterations of ``loop`` are proved to enter different keys."""
    own: frozenset[int] = frozenset()
    match loop.source:
        case Positions():
            own = frozenset({0, 1})
        case Elements(array):
            fact = symbols[array]
            is_unique = isinstance(fact, ArraySymbol) and (fact.increasing or fact.unique)
            own = frozenset({0, 1}) if is_unique else frozenset({1})
        case _:
            return False
    return _owns(loop.body, own, _inside(loop.source, context, symbols), symbols)


def _owns(action: Action, own: frozenset[int], context: Context, symbols: Symbols) -> bool:
    """Return whether every key that ``action`` enters tells the value of the variables ``own``."""
    match action:
        case Accumulate():
            return False
        case Enter(key):
            return _tells(key, own, context, symbols)
        case Guard(_, body):
            return _owns(body, own, context, symbols)
        case Loop(source, body):
            outer = frozenset(index + binders(source) for index in own)
            return _owns(body, outer, _inside(source, context, symbols), symbols)
        case Bind(_, _, body):
            return _owns(body, frozenset(index + 1 for index in own), (ANY, *context), symbols)
        case Together(actions) | Unite(actions):
            return all(_owns(part, own, context, symbols) for part in actions)


def _tells(key: Term, own: frozenset[int], context: Context, symbols: Symbols) -> bool:
    """Return whether the variables ``own`` are equal where two keys are."""
    match key:
        case Variable(index):
            return index in own
        case Lookup(Symbol(name), inner):
            fact = symbols[name]
            is_unique = isinstance(fact, ArraySymbol) and (fact.increasing or fact.unique)
            return is_unique and _tells(inner, own, context, symbols)
        case Add(left, right, "plus_times"):
            return any(
                _is_digit(rest, _factor(scaled, own, context, symbols), context, symbols)
                for scaled, rest in ((left, right), (right, left))
            )
        case _:
            return _factor(key, own, context, symbols) > 0


def _factor(term: Term, own: frozenset[int], context: Context, symbols: Symbols) -> int:
    """Return by how much values of ``term`` differ at least where the variables ``own`` do; 0 if unknown."""
    match term:
        case Multiply(left, right, "plus_times"):
            for scaled, factor in ((left, right), (right, left)):
                interval = bounds(factor, symbols, context)
                if interval.low is not None and interval.low == interval.high:
                    return abs(interval.low) * _factor(scaled, own, context, symbols)
            return 0
        case _:
            return int(isinstance(term, Variable | Lookup) and _tells(term, own, context, symbols))


def _is_digit(term: Term, base: int, context: Context, symbols: Symbols) -> bool:
    """Return whether ``term`` is a constant or in 0:base, so that adding it does not make multiples equal."""
    interval = bounds(term, symbols, context)
    if base == 0 or interval.low is None or interval.high is None:
        return False
    return interval.high - interval.low < base


def _inside(source: Source, context: Context, symbols: Symbols) -> Context:
    """Return ``context`` with the binders of ``source``."""
    match source:
        case Positions(low, high):
            key, value = binder_bounds(Range(low, high), symbols, context)
            return (value, key, *context)
        case Elements(array, low, high):
            key, value = binder_bounds(Slice(Symbol(array), low, high), symbols, context)
            return (value, key, *context)
        case _:
            return (*[ANY] * binders(source), *context)
