"""The terms inside an action, with the binders they stand under."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from storel.calculus.binding import free_variables, shift
from storel.calculus.nodes import Add, Literal, Lookup, Symbol, Term, Variable
from storel.calculus.walk import children
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    HashStore,
    Intersection,
    Levels,
    ListStore,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    RowsStore,
    ScalarStore,
    Source,
    Store,
    StreamStore,
    TableStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType

_ONE = Literal(1, ScalarType.INT64)


def binders(source: Source) -> int:
    """Return how many variables a loop over ``source`` binds."""
    match source:
        case Positions() | Elements() | Entries():
            return 2
        case Matches():
            return 1
        case Intersection():
            return 3


def arrays_of(source: Source) -> tuple[str, ...]:
    """Return the names of the arrays that ``source`` scans."""
    match source:
        case Positions() | Entries():
            return ()
        case Elements(array) | Matches(array):
            return (array,)
        case Intersection(left, right):
            return (left.array, right.array)


def source_terms(source: Source) -> tuple[Term, ...]:
    """Return the terms in ``source``; none of them stands under its binders."""
    match source:
        case Positions(low, high) | Elements(_, low, high):
            return (low, high)
        case Entries(store):
            return (store,)
        case Matches(_, low, high, key):
            return (low, high, key)
        case Intersection(left, right):
            return (left.low, left.high, right.low, right.high)


def store_terms(store: Store) -> tuple[Term, ...]:
    """Return the extents of ``store``: one for each level of keys."""
    match store:
        case ScalarStore():
            return ()
        case TableStore(extents=extents) | HashStore(extents=extents) | RowsStore(extents=extents):
            return extents
        case ListStore(extent=extent) | StreamStore(extent=extent):
            return (extent,)


def destination_of(store: Store) -> Destination | None:
    """Return the result that holds what ``store`` does, None if there is none."""
    match store:
        case ScalarStore(zero=zero):
            return None if zero is None else Levels((), store)
        case TableStore(scalar_type, operator, zero, extents):
            return Levels(tuple(map(Place, extents)), ScalarStore(scalar_type, operator, zero))
        case _:
            return None


def row_extents(store: Term, stores: tuple[tuple[Term, ...], ...]) -> tuple[Term, ...]:
    """Return the extents of a bound store, or of one of its rows; ``stores`` has those of each binder."""
    depth = 0
    while isinstance(store, Lookup):
        store, depth = store.mapping, depth + 1
    assert isinstance(store, Variable)
    return stores[store.index][depth:]


def source_extents(source: Source, stores: tuple[tuple[Term, ...], ...]) -> tuple[tuple[Term, ...], ...]:
    """Return the extents of each binder of ``source``, the innermost first: a value may itself be a row."""
    if isinstance(source, Entries):
        return row_extents(source.store, stores)[1:], ()
    return ((),) * binders(source)


def terms(action: Action, depth: int = 0) -> Iterator[tuple[Term, int]]:
    """Yield every term in ``action`` with the number of the action's binders around it."""
    match action:
        case Accumulate(value):
            yield value, depth
        case Enter(key, body) | Guard(key, body):
            yield key, depth
            yield from terms(body, depth)
        case Loop(source, body):
            yield from ((term, depth) for term in source_terms(source))
            yield from terms(body, depth + binders(source))
        case Bind(store, value, body):
            yield from ((term, depth) for term in store_terms(store))
            yield from terms(value, depth)
            yield from terms(body, depth + 1)
        case Together(actions) | Unite(actions):
            for part in actions:
                yield from terms(part, depth)


def map_terms(action: Action, function: Callable[[Term, int], Term], depth: int = 0) -> Action:
    """Return ``action`` with ``function(term, depth)`` for every term, as ``terms`` yields them."""

    def mapped(term: Term) -> Term:
        return function(term, depth)

    def inside(inner: Action, bound: int = 0) -> Action:
        return map_terms(inner, function, depth + bound)

    match action:
        case Accumulate(value):
            return Accumulate(mapped(value))
        case Enter(key, body):
            return Enter(mapped(key), inside(body))
        case Guard(condition, body):
            return Guard(mapped(condition), inside(body))
        case Loop(source, body):
            return Loop(_map_source(source, mapped), inside(body, binders(source)))
        case Bind(store, value, body):
            return Bind(_map_store(store, mapped), inside(value), inside(body, 1))
        case Together(actions):
            return Together(tuple(inside(part) for part in actions))
        case Unite(branches):
            return Unite(cast("tuple[Loop | Enter, ...]", tuple(map(inside, branches))))


def _map_source(source: Source, mapped: Callable[[Term], Term]) -> Source:
    match source:
        case Positions(low, high):
            return Positions(mapped(low), mapped(high))
        case Elements(array, low, high):
            return Elements(array, mapped(low), mapped(high))
        case Entries(store):
            return Entries(mapped(store))
        case Matches(array, low, high, key, is_unique):
            return Matches(array, mapped(low), mapped(high), mapped(key), is_unique)
        case Intersection(left, right):
            sides = [Elements(side.array, mapped(side.low), mapped(side.high)) for side in (left, right)]
            return Intersection(*sides)


def _map_store(store: Store, mapped: Callable[[Term], Term]) -> Store:
    match store:
        case ScalarStore():
            return store
        case TableStore(extents=extents) | HashStore(extents=extents) | RowsStore(extents=extents):
            return replace(store, extents=tuple(map(mapped, extents)))
        case ListStore(extent=extent) | StreamStore(extent=extent):
            return replace(store, extent=mapped(extent))


def as_loop(branch: Loop | Enter) -> Loop:
    """Return a branch of a union as a loop: one key is a range of one position."""
    match branch:
        case Loop():
            return branch
        case Enter(key, body):
            inner = map_terms(body, lambda term, depth: shift(term, 2, depth))
            return Loop(Positions(key, Add(key, _ONE)), Enter(Variable(0), inner))


def occurs(action: Action, index: int) -> bool:
    """Return whether variable ``index``, seen from outside, is free in ``action``."""
    return any(index + depth in free_variables(term) for term, depth in terms(action))


def sources(action: Action, depth: int = 0) -> Iterator[tuple[Source, int]]:
    """Yield the source of every loop in ``action`` with the number of the action's binders around it."""
    match action:
        case Accumulate():
            return
        case Enter(_, body) | Guard(_, body):
            yield from sources(body, depth)
        case Loop(source, body):
            yield source, depth
            yield from sources(body, depth + binders(source))
        case Bind(_, value, body):
            yield from sources(value, depth)
            yield from sources(body, depth + 1)
        case Together(actions) | Unite(actions):
            for part in actions:
                yield from sources(part, depth)


def is_scanned(action: Action, index: int = 0) -> bool:
    """Return whether ``action`` loops over the store of variable ``index``, or over a row of it."""
    match action:
        case Accumulate():
            return False
        case Enter(_, body) | Guard(_, body):
            return is_scanned(body, index)
        case Loop(source, body):
            scans = isinstance(source, Entries) and index in free_variables(source.store)
            return scans or is_scanned(body, index + binders(source))
        case Bind(_, value, body):
            return is_scanned(value, index) or is_scanned(body, index + 1)
        case Together(actions) | Unite(actions):
            return any(is_scanned(part, index) for part in actions)


def fills_rows(value: Action, rows: Term) -> bool:
    """Return whether ``value`` enters each of so many rows once, one after the other."""
    match value:
        case Loop(Positions(Literal(0), high), Enter(Variable(0 | 1))):
            return high == rows
        case _:
            return False


def is_streamed(value: Action, body: Action) -> bool:
    """Return whether the keys that ``value`` enters ascend, and ``body`` goes through them and no more."""
    match value, body:
        case Unite(), Loop(Entries(Variable(0)), inner):
            return not occurs(inner, 2)
        case _:
            return False


def lists_positions(value: Action) -> bool:
    """Return whether ``value`` enters the positions that a loop visits, each under one key, in any order."""
    if not isinstance(value, Loop) or not isinstance(value.source, Positions):
        return False
    body = value.body
    while isinstance(body, Guard):
        body = body.body
    match body:
        case Enter(_, Enter(Variable(0 | 1), Accumulate(Literal(held)))):
            return bool(held)
        case _:
            return False


def scans_rows(action: Action, index: int = 0) -> bool:
    """Return whether ``action`` does nothing with the store of variable ``index`` but loop over its rows."""
    match action:
        case Loop(Entries(Lookup(Variable(store), key)), body) if store == index:
            return index not in free_variables(key) and scans_rows(body, index + 2)
        case Loop(source, body):
            is_used = any(index in free_variables(term) for term in source_terms(source))
            return not is_used and scans_rows(body, index + binders(source))
        case Accumulate(term):
            return index not in free_variables(term)
        case Enter(term, body) | Guard(term, body):
            return index not in free_variables(term) and scans_rows(body, index)
        case Bind(_, value, body):
            return scans_rows(value, index) and scans_rows(body, index + 1)
        case Together(actions) | Unite(actions):
            return all(scans_rows(part, index) for part in actions)


def free_symbols(plan: Plan) -> list[str]:
    """Return the names of all arrays, sizes and parameters that ``plan`` uses, sorted."""
    found: set[str] = set()
    for term, _ in terms(plan.action):
        found.update(_symbols(term))
    for term in _destination_terms(plan.destination):
        found.update(_symbols(term))
    for source, _ in sources(plan.action):
        found.update(arrays_of(source))
    return sorted(found)


def _destination_terms(destination: Destination) -> Iterator[Term]:
    match destination:
        case Coordinates():
            return
        case Levels(levels):
            for level in levels:
                if isinstance(level, Place | Gather):
                    yield level.extent


def _symbols(term: Term) -> Iterator[str]:
    if isinstance(term, Symbol):
        yield term.name
    for child, _ in children(term):
        yield from _symbols(child)
