"""Factors taken out of sums, from under conditions, too.

    sum(R) if c then a * t                becomes   a * sum(R) if c then t          a does not depend on R
    (sum(R) a * t) + (sum(S) a * u)       becomes   a * ((sum(R) t) + (sum(S) u))

for scalars. Rules take factors out of sums, but not from under what a loop asks of each element: that pays
only where what is left is made once for many, which sharing finds out. What is left is of the type of the
whole (``terms/conversions.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

from storel.calculus.binders import seen_inside
from storel.calculus.binding import free_mask, shift
from storel.calculus.bounds import narrowed
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Find, If, Let, Merge, Multiply, Sum, Term
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type, infer
from storel.calculus.walk import children, map_children
from storel.optimizer.terms.occurrences import replaced
from storel.optimizer.terms.products import factors
from storel.symbols import Symbols

_Scope: TypeAlias = tuple[tuple[Type, ...], tuple[Interval, ...]]
"""The types and intervals of all variables in scope, the innermost first."""


def factored(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` (closed) with the factors of scalar sums as far out as they can be."""
    return _factored(term, symbols, ((), ())) if _has_common(term) else term


def _has_common(term: Term) -> bool:
    """Return whether there is a sum in ``term`` all of whose parts have a factor in common."""
    if isinstance(term, (Sum, Add)) and not _is_plain(term) and _common(term, term.semiring):
        return True
    return any(_has_common(child) for child, _ in children(term))


def _is_plain(term: Term) -> bool:
    """Return whether rules take factors out of ``term``: it asks nothing of what it adds up."""
    match term:
        case Multiply():
            return True
        case Sum():
            return _is_plain(term.body)
        case Add():
            return _is_plain(term.left) and _is_plain(term.right)
        case _:
            return False


def _factored(term: Term, symbols: Symbols, scope: _Scope) -> Term:
    position = 0

    def visit(child: Term, binders: int) -> Term:
        nonlocal position
        inner = _within(term, position, binders, symbols, scope)
        position += 1
        return _factored(child, symbols, inner) if children(child) else child

    made = map_children(term, visit)
    if not isinstance(made, (Sum, Add)):
        return made
    taken = [each for each in _common(made, made.semiring) if _is_movable(each, symbols, scope)]
    left = _without(made, taken, made.semiring) if taken else None
    if left is None:
        return made
    return reduce(_times(made.semiring), (*taken[1:], left), taken[0])


def _times(semiring: str) -> Callable[[Term, Term], Term]:
    return lambda left, right: Multiply(left, right, semiring)


def _within(term: Term, position: int, binders: int, symbols: Symbols, scope: _Scope) -> _Scope:
    """Return the scope of a child of ``term``."""
    types, intervals = scope
    if binders:
        return seen_inside(term, symbols, types, intervals)
    if isinstance(term, If) and position == 1:
        return types, narrowed(term.condition, symbols, intervals)
    return scope


def _is_movable(factor: Term, symbols: Symbols, scope: _Scope) -> bool:
    """Return whether a factor is a scalar that may be evaluated where nothing was asked yet."""
    return infer(factor, symbols, scope[0]).rank == 0 and is_safe(factor, symbols, *scope)


def _common(term: Term, semiring: str) -> list[Term]:
    """Return the factors of whatever ``term`` adds up, as far as they are the same outside of it."""
    match term:
        case Add(left, right, own) if own == semiring:
            rest = _common(right, semiring)
            return [each for each in _common(left, semiring) if _is_taken(each, rest)]
        case Multiply(_, _, own) if own == semiring:
            return factors(term, semiring)
        case Sum() | Find() | Merge() | If() | Let() if _adds_up(term, semiring):
            body, binders = children(term)[-1]
            inner = _common(body, semiring)
            return [shift(each, -binders) for each in inner if not free_mask(each) & ((1 << binders) - 1)]
        case _:
            return []


def _adds_up(term: Term, semiring: str) -> bool:
    """Return whether a factor of the last child of ``term`` is one of ``term`` over a semiring."""
    return isinstance(term, Let) or getattr(term, "semiring", None) == semiring


def _is_taken(factor: Term, others: list[Term]) -> bool:
    """Return whether a factor is among ``others``, of which it is removed."""
    if factor not in others:
        return False
    others.remove(factor)
    return True


def _without(term: Term, taken: list[Term], semiring: str) -> Term | None:
    """Return ``term`` less factors of all that it adds up, None if one of these parts has no others."""
    if isinstance(term, Multiply):
        gone = taken.copy()
        left = [each for each in factors(term, semiring) if not _is_taken(each, gone)]
        return reduce(_times(semiring), left) if left else None
    parts = [0, 1] if isinstance(term, Add) else [len(children(term)) - 1]
    for part in parts:
        child, binders = children(term)[part]
        made = _without(child, [shift(each, binders) for each in taken], semiring)
        if made is None:
            return None
        term = replaced(term, (part,), made)
    return term
