"""In which order, and within which bounds, the keys of an action arrive.

The order of a level decides how it can be assembled: appended, gathered in a workspace, or only
listed. It follows from the loops between an entered key and the one above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from itertools import pairwise
from math import inf
from typing import TypeAlias

from storel.calculus.binding import is_outside
from storel.calculus.bounds import bounds, elements, narrowed
from storel.calculus.intervals import ANY, NONE, Interval
from storel.calculus.nodes import Add, Apply, Lookup, Slice, Symbol, Term, Variable
from storel.calculus.one_to_one import finds_one
from storel.optimizer.physical.facts import array, is_ascending, is_increasing
from storel.optimizer.physical.scope import Scope
from storel.plan.binding import binders, row_extents, source_extents, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    Intersection,
    Loop,
    Matches,
    Positions,
    ScalarStore,
    Source,
    Store,
    Together,
    Unite,
)
from storel.symbols import Symbols


class Order(IntEnum):
    """How the keys of a level arrive within one entry of the level above, from strong to weak."""

    INCREASING = 0  # each key once, ascending
    ASCENDING = 1  # ascending, a key may arrive several times in a row
    ANY = 2


_Context: TypeAlias = tuple[tuple[Interval, tuple[Term, ...]], ...]
"""For each binder its interval, and its extents where it is a store."""


@dataclass(frozen=True, slots=True)
class _Entered:
    """A key that is entered next, the binders on the way to it, outermost first, and what is known there."""

    steps: tuple[Loop | Bind, ...]
    enter: Enter
    context: _Context

    def keys(self, symbols: Symbols) -> Interval:
        """Return an interval that holds every key that is entered."""
        return bounds(self.enter.key, symbols, _intervals(self.context))


def orders(action: Action, rank: int, symbols: Symbols) -> tuple[Order, ...]:
    """Return the order in which the keys of each of ``rank`` levels arrive.

    Below a level whose keys come again, or from several parts at once, any order is possible.
    """
    found: list[Order] = []
    parts: list[tuple[Action, _Context]] = [(action, ())]
    while len(found) < rank:
        entered = [(part, list(_entered(part, (), context, symbols))) for part, context in parts]
        keys = [each for _, of_part in entered for each in of_part]
        are_apart = all(_come_in_turn(part, of_part, symbols) for part, of_part in entered)
        is_ordered = are_apart or (len(parts) == 1 and _united(parts[0][0]))
        of_each = [_order_of(each, symbols) for each in keys] if is_ordered else [Order.ANY]
        found.append(max(of_each, default=Order.INCREASING))
        if not are_apart or found[-1] is not Order.INCREASING:
            break
        parts = [(each.enter.body, each.context) for each in keys]
    return (*found, *[Order.ANY] * (rank - len(found)))


def _come_in_turn(action: Action, entered: Sequence[_Entered], symbols: Symbols) -> bool:
    """Return whether all keys that a part of ``action`` enters are below those of the next part, if any."""
    if len(entered) <= 1:
        return True
    return _is_sequence(action) and are_in_turn([each.keys(symbols) for each in entered])


def in_turn(parts: Sequence[Action], scope: Scope, symbols: Symbols) -> Sequence[Action]:
    """Return parts of a sum that enter keys of their own by these; others as they come."""
    keyed = [(key_intervals(part, 1, scope, symbols)[0], part) for part in parts]
    ordered = sorted(keyed, key=lambda each: -inf if each[0].low is None else each[0].low)
    return [part for _, part in ordered] if are_in_turn([keys for keys, _ in ordered]) else parts


def are_in_turn(intervals: Sequence[Interval]) -> bool:
    """Return whether all numbers in an interval are known to be less than those in the next one."""
    return all(
        before.high is not None and after.low is not None and before.high < after.low
        for before, after in pairwise(intervals)
    )


def _is_sequence(action: Action) -> bool:
    """Return whether the keys of ``action`` are entered by one loop after the other."""
    match action:
        case Accumulate() | Enter():
            return True
        case Guard(_, body) | Bind(_, _, body):
            return _is_sequence(body)
        case Loop(_, body):
            return _enters_one(body)
        case Together(parts):
            return all(map(_is_sequence, parts))
        case Unite():
            return False


def _enters_one(action: Action) -> bool:
    """Return whether there is at most one place where ``action`` enters a key."""
    match action:
        case Accumulate() | Enter():
            return True
        case Guard(_, body) | Bind(_, _, body) | Loop(_, body):
            return _enters_one(body)
        case Together(parts):
            return len(parts) <= 1 and all(map(_enters_one, parts))
        case Unite():
            return False


def _united(action: Action) -> bool:
    """Return whether the only keys that ``action`` enters are those of one ``unite``, outside loops."""
    match action:
        case Unite():
            return True
        case Guard(_, body) | Bind(_, _, body):
            return _united(body)
        case Accumulate() | Enter() | Loop() | Together():
            return False


def _entered(
    action: Action, steps: tuple[Loop | Bind, ...], context: _Context, symbols: Symbols
) -> Iterator[_Entered]:
    """Yield the keys that are entered next."""
    match action:
        case Accumulate():
            return
        case Enter():
            yield _Entered(steps, action, context)
        case Loop(source, body):
            yield from _entered(body, (*steps, action), _within(source, context, symbols), symbols)
        case Bind(store, value, body):
            bound = _bound(store, value, context, symbols)
            yield from _entered(body, (*steps, action), (bound, *context), symbols)
        case Guard(condition, body):
            inside = narrowed(condition, symbols, _intervals(context))
            refined = tuple((interval, entry[1]) for interval, entry in zip(inside, context, strict=True))
            yield from _entered(body, steps, refined, symbols)
        case Together(parts) | Unite(parts):
            for part in parts:
                yield from _entered(part, steps, context, symbols)


def _within(source: Source, context: _Context, symbols: Symbols) -> _Context:
    """Return what is known inside a loop over ``source``."""
    intervals = source_intervals(source, context, symbols)[::-1]
    return (*zip(intervals, source_extents(source, _stores(context)), strict=True), *context)


def _bound(
    store: Store, value: Action, context: _Context, symbols: Symbols
) -> tuple[Interval, tuple[Term, ...]]:
    """Return what is known of the variable that a store is bound to."""
    interval = _held(value, store, context, symbols) if isinstance(store, ScalarStore) else ANY
    return interval, store_terms(store)


def _held(value: Action, store: ScalarStore, context: _Context, symbols: Symbols) -> Interval:
    """Return an interval of a number that is set once, at most, and else is what its store holds at first."""
    match value:
        case Accumulate(term):
            return bounds(term, symbols, _intervals(context))
        case Bind(inner, part, body):
            return _held(body, store, (_bound(inner, part, context, symbols), *context), symbols)
        case Guard(_, body):
            found = _held(body, store, context, symbols)
        case Loop(source, body) if _runs_once(value) or _adds_one(source, body, symbols):
            found = _held(body, store, _within(source, context, symbols), symbols)
        case Loop() | Enter() | Together() | Unite():
            return ANY
    return found.hull(Interval(int(store.zero), int(store.zero))) if isinstance(store.zero, int) else ANY


def _adds_one(source: Source, body: Action, symbols: Symbols) -> bool:
    """Return whether a loop adds something in one iteration, at most, which is found by an element."""
    match source, body:
        case Elements(name, low, high), Accumulate(term):
            return finds_one(Slice(Symbol(name), low, high), term, symbols)
        case _:
            return False


def _order_of(entered: _Entered, symbols: Symbols) -> Order:
    steps = entered.steps
    loops = [number for number, step in enumerate(steps) if isinstance(step, Loop)]
    if not loops:
        return Order.INCREASING
    key = _without_offset(entered.enter.key, steps)
    located = _resolved(steps, key)
    if located is None or (key is not entered.enter.key and entered.keys(symbols).is_short):
        return Order.ANY
    number, slot = located
    step = steps[number]
    assert isinstance(step, Loop)
    if any(not _runs_once(steps[other]) for other in loops if other < number):
        return Order.ANY
    order = _source_order(step.source, slot, symbols)
    repeats = any(not _runs_once(steps[other]) for other in loops if other > number)
    return max(order, Order.ASCENDING) if repeats else order


def _without_offset(key: Term, steps: Sequence[Loop | Bind]) -> Term:
    """Return a key less what is added to it that none of the steps changes: its order is the same."""
    bound = sum(1 if isinstance(step, Bind) else binders(step.source) for step in steps)
    match key:
        case Add(left, right) if is_outside(right, bound):
            return _without_offset(left, steps)
        case Add(left, right) if is_outside(left, bound):
            return _without_offset(right, steps)
        case Apply("subtract", (left, right)) if is_outside(right, bound):
            return _without_offset(left, steps)
        case _:
            return key


def _runs_once(action: Loop | Bind) -> bool:
    """Return whether a loop has at most one iteration."""
    return isinstance(action, Loop) and isinstance(action.source, Matches) and action.source.is_unique


def _resolved(steps: tuple[Loop | Bind, ...], key: Term) -> tuple[int, int | str] | None:
    """Return the step that binds ``key`` and which of its variables it is, or the array read there.

    The slot is counted from the innermost binder of the step; a key that is ``array(position)`` gives the
    array's name.
    """
    read: str | None = None
    if isinstance(key, Lookup) and isinstance(key.mapping, Symbol):
        key, read = key.key, key.mapping.name
    number = len(steps) - 1
    while isinstance(key, Variable) and number >= 0:
        step = steps[number]
        count = 1 if isinstance(step, Bind) else binders(step.source)
        if key.index >= count:
            key = Variable(key.index - count)
        elif isinstance(step, Bind):
            if read is not None or not isinstance(step.value, Accumulate):
                return None
            return _resolved(steps[:number], step.value.value)
        else:
            return number, key.index if read is None else read
        number -= 1
    return None


def _source_order(source: Source, slot: int | str, symbols: Symbols) -> Order:
    """Return the order of one bound variable, or of an array read at the bound position."""
    match source, slot:
        case (Positions() | Entries(), 0 | 1):
            return Order.INCREASING if isinstance(source, Positions) or slot == 1 else Order.ANY
        case Elements(name, low, high), 0:
            if is_increasing(symbols, name, low, high):
                return Order.INCREASING
            return Order.ASCENDING if is_ascending(symbols, name) else Order.ANY
        case (Elements() | Matches(), 0 | 1):
            return Order.INCREASING  # a position
        case Intersection(), _ if isinstance(slot, int):
            return Order.INCREASING
        case (Positions() | Elements(), str()):
            fact = array(symbols, slot)
            return Order.INCREASING if fact.increasing else Order.ASCENDING if fact.ascending else Order.ANY
        case Matches(name), str():
            group = array(symbols, slot).group
            return Order.INCREASING if group == (name, slot) else Order.ANY
        case _:
            return Order.ANY


def key_intervals(action: Action, rank: int, scope: Scope, symbols: Symbols) -> tuple[Interval, ...]:
    """Return, for each level, an interval that holds every key that ``action`` enters there."""
    found: list[Interval] = []
    current: list[tuple[Action, _Context]] = [
        (action, tuple(zip(scope.intervals, scope.extents, strict=True)))
    ]
    for _ in range(rank):
        entered = [each for part, context in current for each in _entered(part, (), context, symbols)]
        found.append(reduce(Interval.hull, (each.keys(symbols) for each in entered)) if entered else NONE)
        current = [(each.enter.body, each.context) for each in entered]
    return tuple(found)


def source_intervals(source: Source, context: _Context, symbols: Symbols) -> tuple[Interval, ...]:
    """Return the intervals of what a loop over ``source`` binds, the outermost binder first."""
    intervals = _intervals(context)

    def positions(low: Term, high: Term) -> Interval:
        first, last = bounds(low, symbols, intervals), bounds(high, symbols, intervals)
        return Interval(first.low, None if last.high is None else last.high - 1)

    match source:
        case Positions(low, high):
            return (positions(low, high),) * 2
        case Elements(name, low, high):
            return positions(low, high), elements(array(symbols, name))
        case Matches(_, low, high):
            return (positions(low, high),)
        case Intersection(left, right):
            common = elements(array(symbols, left.array)).meet(elements(array(symbols, right.array)))
            return positions(left.low, left.high), positions(right.low, right.high), common
        case Entries(store):
            return _store_keys(store, context, symbols), ANY


def _store_keys(store: Term, context: _Context, symbols: Symbols) -> Interval:
    extent = bounds(row_extents(store, _stores(context))[0], symbols)
    return Interval(0, None if extent.high is None else extent.high - 1)


def _stores(context: _Context) -> tuple[tuple[Term, ...], ...]:
    return tuple(extents for _, extents in context)


def _intervals(context: _Context) -> tuple[Interval, ...]:
    return tuple(interval for interval, _ in context)
