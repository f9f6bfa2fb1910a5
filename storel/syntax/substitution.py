"""Renaming and substitution of free names.

Binders of a mapping are renamed apart before anything is substituted, so that nothing is captured.
"""

from __future__ import annotations

from collections.abc import Mapping

from storel.syntax.nodes.expressions import Expression, Name
from storel.syntax.walk import map_scoped


def rename(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Replace free names; inner binders hide outer ones.

    >>> from storel.syntax.nodes.expressions import Binary
    >>> rename(Binary("+", Name("i"), Name("n")), {"i": "p0"})
    Binary(operator='+', left=Name(name='p0'), right=Name(name='n'))
    """
    return _replace(expression, {old: Name(new) for old, new in names.items()}, frozenset())


def substitute(expression: Expression, name: str, value: Expression) -> Expression:
    """Replace the free name by an expression."""
    return _replace(expression, {name: value}, frozenset())


def substitute_all(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Replace free names by expressions."""
    return _replace(expression, values, frozenset())


def _replace(expression: Expression, values: Mapping[str, Expression], bound: frozenset[str]) -> Expression:
    match expression:
        case Name(name):
            return expression if name in bound else values.get(name, expression)
        case _:
            return map_scoped(expression, bound, lambda child, inner: _replace(child, values, inner))
