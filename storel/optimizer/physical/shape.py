"""What the planner asks of terms: do they need a loop, where do they add, are they stored already."""

from __future__ import annotations

from storel.calculus.nodes import (
    Add,
    Empty,
    Find,
    If,
    Let,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.walk import children


def has_loop(term: Term) -> bool:
    """Return whether evaluating ``term`` needs a loop or a store."""
    if isinstance(term, Sum | Reduce | Merge | Find | Singleton | Empty):
        return True
    if isinstance(term, Lookup) and not isinstance(term.mapping, Symbol | Range | Slice):
        return not is_store(term.mapping) or has_loop(term.key)
    return any(has_loop(child) for child, _ in children(term))


def addends(term: Term) -> list[Term]:
    """Return the terms that a nest of additions over one semiring adds up."""
    if isinstance(term, Add):
        return [part for side in (term.left, term.right) for part in _same_addends(side, term.semiring)]
    return [term]


def _same_addends(term: Term, semiring: str) -> list[Term]:
    return addends(term) if isinstance(term, Add) and term.semiring == semiring else [term]


def semiring_of(term: Term) -> str:
    """Return the semiring in which the outermost operation of ``term`` adds."""
    match term:
        case Sum() | Merge() | Find() | Add() | If() | Multiply() | Lookup() | Singleton():
            return term.semiring
        case Let(_, value):
            return semiring_of(value)
        case _:
            return "plus_times"


def is_store(term: Term) -> bool:
    """Return whether ``term`` denotes a bound dictionary or a part of one."""
    match term:
        case Variable():
            return True
        case Lookup(mapping, key):
            return is_store(mapping) and not has_loop(key)
        case _:
            return False


def entries_of(store: Term, semiring: str) -> Term:
    """Return a copy of a bound dictionary: the sum of its entries."""
    return Sum(store, Singleton(Variable(1), Variable(0), semiring), semiring)
