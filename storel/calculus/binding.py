"""Shifting and substitution: the only code that moves terms across binders.

Laws (tested on random terms):

    shift(t, 0) = t
    shift(shift(t, a, c), b, c) = shift(t, a + b, c)
    substitute(shift(t, 1), v) = t                       nothing refers to the binder
    substitute(body, v) removes one binder: free variables of the result are those of ``body``
    above 0, lowered by one, and those of ``v`` if 0 occurs in ``body``

Source: de Bruijn, "Lambda calculus notation with nameless dummies", 1972.
"""

from __future__ import annotations

from functools import cache

from storel.calculus.nodes import Term, Variable
from storel.calculus.walk import children, map_children


def shift(term: Term, amount: int, cutoff: int = 0) -> Term:
    """Add ``amount`` to every variable of ``term`` that is free above ``cutoff`` binders.

    >>> shift(Variable(0), 2)
    Variable(index=2)
    >>> shift(Variable(0), 2, cutoff=1)
    Variable(index=0)
    """
    if amount == 0 or not free_mask(term) >> cutoff:
        return term
    if isinstance(term, Variable):
        return Variable(term.index + amount) if term.index >= cutoff else term
    return map_children(term, lambda child, binders: shift(child, amount, cutoff + binders))


def substitute(body: Term, value: Term, index: int = 0) -> Term:
    """Replace variable ``index`` of ``body`` by ``value`` and remove that binder.

    ``value`` is a term outside the binder: its variables are those of ``body`` with ``index`` and
    everything below removed.
    """
    if not free_mask(body) >> index:
        return body
    if isinstance(body, Variable):
        if body.index == index:
            return shift(value, index)
        return Variable(body.index - 1) if body.index > index else body
    return map_children(body, lambda child, binders: substitute(child, value, index + binders))


def free_mask(term: Term) -> int:
    """Return the free variables of ``term``, as seen from outside it: bit i stands for variable i."""
    found: int | None = getattr(term, "kept_free", None)
    if found is None:
        found = 1 << term.index if isinstance(term, Variable) else 0
        for child, binders in children(term):
            found |= free_mask(child) >> binders
        object.__setattr__(term, "kept_free", found)
    return found


@cache
def _indices(mask: int) -> frozenset[int]:
    return frozenset(index for index in range(mask.bit_length()) if mask >> index & 1)


def free_variables(term: Term) -> frozenset[int]:
    """Return the indices of the free variables of ``term``, as seen from outside it."""
    return _indices(free_mask(term))


def is_outside(term: Term, binders: int) -> bool:
    """Return whether ``term`` depends on none of the innermost ``binders`` variables."""
    return all(index >= binders for index in free_variables(term))


def occurs(term: Term, index: int) -> bool:
    """Return whether variable ``index`` is free in ``term``."""
    return bool(free_mask(term) >> index & 1)
