"""When a plan is legal: scopes, names, and the shape of its destination."""

from __future__ import annotations

import math

from storel.calculus.binding import free_variables
from storel.calculus.bounds import bounds
from storel.calculus.nodes import Empty, Find, Lookup, Merge, Reduce, Singleton, Sum, Symbol, Term, Variable
from storel.calculus.walk import children
from storel.plan.binding import (
    arrays_of,
    binders,
    fills_rows,
    is_streamed,
    lists_positions,
    scans_rows,
    source_terms,
    store_terms,
)
from storel.plan.nodes import (
    ANY_KEY,
    LARGEST_KEY,
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    HashStore,
    Level,
    Levels,
    Loop,
    Place,
    Plan,
    RowsStore,
    Store,
    StreamStore,
    Together,
    Unite,
)
from storel.symbols import ArraySymbol, Symbols


class IllegalPlanError(Exception):
    """A defect of the planner, not of a user's program."""


def verify(plan: Plan, symbols: Symbols) -> None:
    """Raise IllegalPlanError unless ``plan`` is well-scoped and fits its destination."""
    match plan.destination:
        case Coordinates(rank):
            _verify_action(plan.action, rank, (), symbols)
        case Levels(levels):
            _verify_levels(levels, symbols)
            _verify_action(plan.action, len(levels), (), symbols)


def _verify_levels(levels: tuple[Level, ...], symbols: Symbols) -> None:
    for above, level in enumerate(reversed(levels)):
        if isinstance(level, Gather):
            _require(above == 0, "a level that is gathered is the last")
        if isinstance(level, Append) and level.repeats:
            _require(above > 0, "the last level does not repeat")
        if isinstance(level, Append | Place) and level.repeats:
            _require(above < 2, "what repeats has one level below")
        if isinstance(level, Place | Gather):
            _verify_extent(level.extent, symbols)


def _verify_store(store: Store, symbols: Symbols) -> None:
    for extent in store_terms(store):
        _verify_extent(extent, symbols)
    if isinstance(store, HashStore):
        _require(bool(store.extents), "a hash store has keys")
        places = [bounds(extent, symbols).high for extent in store.extents]
        is_integer = None not in places and math.prod(each or 0 for each in places) < LARGEST_KEY
        _require(store.extents == (ANY_KEY,) or is_integer, "the keys of a hash store do not fit an integer")


def _verify_extent(extent: Term, symbols: Symbols) -> None:
    _require(not free_variables(extent), "an extent depends on a loop")
    _verify_term(extent, (), symbols)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IllegalPlanError(message)


def _verify_action(action: Action, rank: int, stores: tuple[int, ...], symbols: Symbols) -> None:
    """Check ``action`` on a destination of ``rank``; ``stores`` has each binder's rank."""
    match action:
        case Accumulate(value):
            _require(rank == 0, f"a value is added to a dictionary of rank {rank}")
            _verify_term(value, stores, symbols)
        case Enter(key, body):
            _require(rank > 0, "a key is entered in a scalar")
            _verify_term(key, stores, symbols)
            _verify_action(body, rank - 1, stores, symbols)
        case Loop(source, body):
            for name in arrays_of(source):
                _require(isinstance(symbols.get(name), ArraySymbol), f"{name} is not an array")
            if isinstance(source, Entries):
                bound: tuple[int, ...] = (_rank(source.store, stores) - 1, 0)
            else:
                bound = (0,) * binders(source)
                for term in source_terms(source):
                    _verify_term(term, stores, symbols)
            _verify_action(body, rank, bound + stores, symbols)
        case Guard(condition, body):
            _verify_term(condition, stores, symbols)
            _verify_action(body, rank, stores, symbols)
        case Bind(store, value, body):
            _verify_store(store, symbols)
            if isinstance(store, RowsStore):
                in_order = fills_rows(value, store.extents[0]) or lists_positions(value)
                _require(in_order, "stored rows are filled in another order")
                _require(scans_rows(body), "stored rows are not only scanned")
            if isinstance(store, StreamStore):
                _require(is_streamed(value, body), "entries that are kept nowhere are asked for again")
            _verify_action(value, len(store_terms(store)), stores, symbols)
            _verify_action(body, rank, (len(store_terms(store)), *stores), symbols)
        case Together(parts):
            for part in parts:
                _verify_action(part, rank, stores, symbols)
        case Unite(branches):
            for branch in branches:
                match branch:
                    case Enter() | Loop(Elements(), Enter(Variable(0))):
                        is_branch = True
                    case _:
                        is_branch = False
                _require(is_branch, "a united branch is a key, or a scan that enters its elements")
                _verify_action(branch, rank, stores, symbols)


def _verify_term(term: Term, stores: tuple[int, ...], symbols: Symbols) -> None:
    for index in free_variables(term):
        _require(index < len(stores), f"variable {index} is not bound")
    _verify_parts(term, symbols)


def _verify_parts(term: Term, symbols: Symbols) -> None:
    is_loop = isinstance(term, Sum | Reduce | Merge | Find | Singleton | Empty)
    _require(not is_loop, f"a {type(term).__name__.lower()} in a scalar expression")
    if isinstance(term, Symbol):
        _require(term.name in symbols, f"{term.name} is unknown")
    for child, _ in children(term):
        _verify_parts(child, symbols)


def _rank(term: Term, stores: tuple[int, ...]) -> int:
    """Return the rank of a store, or of one of its rows."""
    depth = 0
    while isinstance(term, Lookup):
        term, depth = term.mapping, depth + 1
    is_bound = isinstance(term, Variable) and term.index < len(stores)
    _require(is_bound, "the source of a loop is not a store")
    assert isinstance(term, Variable)
    rank = stores[term.index] - depth
    _require(rank > 0, "the source of a loop is not a store")
    return rank
