"""In which order, and within which bounds, the keys of an action arrive.

The order of a level decides how it can be assembled: appended, gathered in a workspace, or only
listed. It follows from the loops between an entered key and the one above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from storel.calculus.bounds import bounds, elements, narrowed
from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Lookup, Symbol, Term, Variable
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
    Source,
    Together,
    Unite,
)
from storel.symbols import Symbols


class Order(IntEnum):
    """How the keys of a level arrive within one entry of the level above, from strong to weak."""

    INCREASING = 0  # each key once, ascending
    ASCENDING = 1  # ascending, a key may arrive several times in a row
    ANY = 2


@dataclass(frozen=True, slots=True)
class _Step:
    """A binder or branching point on the way from one entered key to the next."""

    action: Loop | Bind


def orders(action: Action, rank: int, symbols: Symbols) -> tuple[Order, ...]:
    """Return the order in which the keys of each of ``rank`` levels arrive."""
    found: list[Order] = []
    current: list[tuple[tuple[_Step, ...], Action]] = [((), action)]
    for _ in range(rank):
        entered = [entry for steps, part in current for entry in _entered(part, steps)]
        order = max(
            (_order_of(steps, enter.key, symbols) for steps, enter in entered), default=Order.INCREASING
        )
        if len(entered) > 1 and not _all_united(current):
            order = Order.ANY
        if found and found[-1] is not Order.INCREASING:
            order = Order.ANY
        found.append(order)
        current = [((), enter.body) for _, enter in entered]
        if len(entered) > 1:
            found.extend([Order.ANY] * (rank - len(found)))
            break
    return tuple(found)


def _all_united(current: list[tuple[tuple[_Step, ...], Action]]) -> bool:
    return len(current) == 1 and _united(current[0][1])


def _united(action: Action) -> bool:
    """Return whether the only keys that ``action`` enters are those of one ``unite``, outside loops."""
    match action:
        case Unite():
            return True
        case Guard(_, body) | Bind(_, _, body):
            return _united(body)
        case Accumulate() | Enter() | Loop() | Together():
            return False


def _entered(action: Action, steps: tuple[_Step, ...]) -> Iterator[tuple[tuple[_Step, ...], Enter]]:
    """Yield the keys that are entered next, each with the binders on the way, the outermost first."""
    match action:
        case Accumulate():
            return
        case Enter():
            yield steps, action
        case Loop(_, body) | Bind(_, _, body):
            yield from _entered(body, (*steps, _Step(action)))
        case Guard(_, body):
            yield from _entered(body, steps)
        case Together(parts) | Unite(parts):
            for part in parts:
                yield from _entered(part, steps)


def _order_of(steps: tuple[_Step, ...], key: Term, symbols: Symbols) -> Order:
    loops = [number for number, step in enumerate(steps) if isinstance(step.action, Loop)]
    if not loops:
        return Order.INCREASING
    located = _resolved(steps, key)
    if located is None:
        return Order.ANY
    number, slot = located
    step = steps[number].action
    assert isinstance(step, Loop)
    if any(not _runs_once(steps[other].action) for other in loops if other < number):
        return Order.ANY
    order = _source_order(step.source, slot, symbols)
    repeats = any(not _runs_once(steps[other].action) for other in loops if other > number)
    return max(order, Order.ASCENDING) if repeats else order


def _runs_once(action: Loop | Bind) -> bool:
    """Return whether a loop has at most one iteration."""
    return isinstance(action, Loop) and isinstance(action.source, Matches) and action.source.is_unique


def _resolved(steps: tuple[_Step, ...], key: Term) -> tuple[int, int | str] | None:
    """Return the step that binds ``key`` and which of its variables it is, or the array read there.

    The slot is counted from the innermost binder of the step; a key that is ``array(position)`` gives the
    array's name.
    """
    read: str | None = None
    if isinstance(key, Lookup) and isinstance(key.mapping, Symbol):
        key, read = key.key, key.mapping.name
    number = len(steps) - 1
    while isinstance(key, Variable) and number >= 0:
        step = steps[number].action
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
    found: list[Interval | None] = [None] * rank
    _note_keys(action, 0, tuple(zip(scope.intervals, scope.extents, strict=True)), symbols, found)
    return tuple(Interval(0, -1) if interval is None else interval for interval in found)


_Context = tuple[tuple[Interval, tuple[Term, ...]], ...]
"""For each binder its interval, and its extents where it is a store."""


def _note_keys(
    action: Action, level: int, context: _Context, symbols: Symbols, found: list[Interval | None]
) -> None:
    intervals = tuple(interval for interval, _ in context)
    match action:
        case Accumulate():
            return
        case Enter(key, body):
            interval = bounds(key, symbols, intervals)
            before = found[level]
            found[level] = interval if before is None else before.hull(interval)
            _note_keys(body, level + 1, context, symbols, found)
        case Loop(source, body):
            inner = source_intervals(source, context, symbols)[::-1]
            bound = tuple(zip(inner, source_extents(source, _stores(context)), strict=True))
            _note_keys(body, level, bound + context, symbols, found)
        case Guard(condition, body):
            inside = narrowed(condition, symbols, intervals)
            refined = tuple((interval, entry[1]) for interval, entry in zip(inside, context, strict=True))
            _note_keys(body, level, refined, symbols, found)
        case Bind(store, value, body):
            interval = bounds(value.value, symbols, intervals) if isinstance(value, Accumulate) else ANY
            _note_keys(body, level, ((interval, store_terms(store)), *context), symbols, found)
        case Together(parts) | Unite(parts):
            for part in parts:
                _note_keys(part, level, context, symbols, found)


def source_intervals(source: Source, context: _Context, symbols: Symbols) -> tuple[Interval, ...]:
    """Return the intervals of what a loop over ``source`` binds, the outermost binder first."""
    intervals = tuple(interval for interval, _ in context)

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
