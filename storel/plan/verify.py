"""When a plan is legal: scopes, names, and the shape of its destination."""

from __future__ import annotations

import itertools

from storel.calculus.binding import free_variables
from storel.calculus.nodes import Lookup, Symbol, Term, Variable, children
from storel.plan.binding import arrays_of, binders, source_terms, store_terms
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Elements,
    Enter,
    Entries,
    Guard,
    Levels,
    Loop,
    Place,
    Plan,
    ScalarStore,
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
            for level, below in itertools.pairwise(levels):
                repeats = isinstance(level, Place | Append) and level.repeats
                _require(not repeats or below is levels[-1], "what repeats has one level below")
            _verify_action(plan.action, len(levels), (), symbols)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise IllegalPlanError(message)


def _verify_action(action: Action, rank: int, stores: tuple[bool, ...], symbols: Symbols) -> None:
    """Check ``action`` on a destination of ``rank``; ``stores`` says which binders are dictionaries."""
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
                _verify_store(source.store, stores)
                bound = (_is_row(source.store, stores), False)
            else:
                bound = (False,) * binders(source)
                for term in source_terms(source):
                    _verify_term(term, stores, symbols)
            _verify_action(body, rank, bound + stores, symbols)
        case Guard(condition, body):
            _verify_term(condition, stores, symbols)
            _verify_action(body, rank, stores, symbols)
        case Bind(store, value, body):
            for term in store_terms(store):
                _require(not free_variables(term), "the extent of a store depends on a loop")
            _verify_action(value, len(store_terms(store)), stores, symbols)
            _verify_action(body, rank, (not isinstance(store, ScalarStore), *stores), symbols)
        case Together(parts):
            for part in parts:
                _verify_action(part, rank, stores, symbols)
        case Unite(branches):
            for branch in branches:
                is_scan = isinstance(branch.source, Elements) and isinstance(branch.body, Enter)
                _require(is_scan, "a united branch is a scan that enters its elements")
                _verify_action(branch, rank, stores, symbols)


def _verify_term(term: Term, stores: tuple[bool, ...], symbols: Symbols) -> None:
    for index in free_variables(term):
        _require(index < len(stores), f"variable {index} is not bound")
    _verify_symbols(term, symbols)


def _verify_symbols(term: Term, symbols: Symbols) -> None:
    if isinstance(term, Symbol):
        _require(term.name in symbols, f"{term.name} is unknown")
    for child, _ in children(term):
        _verify_symbols(child, symbols)


def _verify_store(term: Term, stores: tuple[bool, ...]) -> None:
    while isinstance(term, Lookup):
        term = term.mapping
    _require(isinstance(term, Variable) and stores[term.index], "the source of a loop is not a store")


def _is_row(term: Term, stores: tuple[bool, ...]) -> bool:
    """Return whether the values of a store may be dictionaries themselves; rows are looked up by name."""
    return isinstance(term, Variable) and stores[term.index]
