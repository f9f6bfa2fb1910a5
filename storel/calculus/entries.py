"""Entries of dictionaries that are read: none has a negative key; conditions say so where it is not evident.

A zero at a negative key, in padding, is no entry. Any other value at a negative key is visited, so that the
program fails with a message.
"""

from __future__ import annotations

from functools import reduce

from storel.calculus.binding import occurs
from storel.calculus.bounds import bounds
from storel.calculus.domains import linear_form
from storel.calculus.nodes import Apply, If, Literal, Singleton, Term, Variable
from storel.calculus.scope import Scope
from storel.calculus.verify import Type, zero_literal
from storel.scalars import ScalarType
from storel.symbols import Symbols


def entry(keys: list[Term], value: Term, semiring: str) -> Term:
    """Return the dictionary of one value under several keys, the first one outermost."""
    made = value
    for key in reversed(keys):
        made = Singleton(key, made, semiring)
    return made


def doubtful(keys: list[Term], symbols: Symbols, scope: Scope) -> list[Term]:
    """Return the keys that may be negative by their bounds."""
    return [key for key in keys if not bounds(key, symbols, scope.intervals).is_natural]


def where_counted_up(made: Term, keys: list[Term], symbols: Symbols, scope: Scope, semiring: str) -> Term:
    """Return an entry whose keys are known to be natural, under conditions on those that a loop counts up.

    The conditions cost nothing, since they become bounds of the loop.
    """
    counted = (key for key in keys if _is_counted(key, symbols, scope))
    return reduce(lambda inner, key: If(_natural(key), inner, semiring), counted, made)


def unless_zero(made: Term, keys: list[Term], value: Term, kind: Type, semiring: str) -> Term:
    """Return an entry that there is only where its keys are natural, or its value is not zero."""
    natural = [_natural(key) for key in keys]
    is_some = Apply("not_equal", (value, zero_literal(kind, semiring)))
    return If(Apply("or", (reduce(_both, natural), is_some)), made, semiring)


def _is_counted(key: Term, symbols: Symbols, scope: Scope) -> bool:
    """Return whether a key grows or falls by one with the position of the innermost loop."""
    form = linear_form(key, symbols, scope.intervals) or {}
    position = Variable(1)
    others = (atom for atom in form if atom != position)
    return abs(form.get(position, 0)) == 1 and not any(occurs(atom, 1) for atom in others)


def _natural(key: Term) -> Term:
    return Apply("less_equal", (Literal(0, ScalarType.INT64), key))


def _both(left: Term, right: Term) -> Term:
    return Apply("and", (left, right))
