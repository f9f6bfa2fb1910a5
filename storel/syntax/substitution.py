"""Renaming and substitution of free names.

    (sum(<j, _> in 0:n) n * j)[n := j]  =  sum(<j_2, _> in 0:j) j * j_2

Binders are renamed apart from what is put in, so that none captures a name in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Name
from storel.syntax.resolve import resolve
from storel.syntax.walk import map_scoped, scoped_children


def rename(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Replace free names; inner binders hide outer ones.

    >>> from storel.syntax.nodes.expressions import Binary
    >>> rename(Binary("+", Name("i"), Name("n")), {"i": "p0"})
    Binary(operator='+', left=Name(name='p0'), right=Name(name='n'))
    """
    return substitute_all(expression, {old: Name(new) for old, new in names.items()})


def substitute(expression: Expression, name: str, value: Expression) -> Expression:
    """Replace the free name by an expression."""
    return substitute_all(expression, {name: value})


def substitute_all(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Replace free names by expressions."""
    arriving = frozenset[str]().union(*map(free_names, values.values()))
    if arriving and _binds_any(expression, arriving):
        expression = resolve(expression, free_names(expression) | arriving)
    return _replace(expression, values, frozenset())


def _replace(expression: Expression, values: Mapping[str, Expression], bound: frozenset[str]) -> Expression:
    match expression:
        case Name(name):
            return expression if name in bound else values.get(name, expression)
        case _:
            return map_scoped(expression, bound, lambda child, inner: _replace(child, values, inner))


def _binds_any(expression: Expression, names: frozenset[str]) -> bool:
    return any(bound & names or _binds_any(child, names) for child, bound in scoped_children(expression))
