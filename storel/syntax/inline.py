"""Inlining of ``let``s."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from storel.syntax.nodes.expressions import Expression, Let, Name
from storel.syntax.walk import map_children


def inline_lets(expression: Expression, values: Collection[int]) -> Expression:
    """Put the values of those ``let``s whose value's identity is in ``values`` where they are named.

    Over a semiring other than ordinary numbers, a ``let`` that names a key would otherwise have to say
    in which arithmetic it is computed. ``expression`` is resolved, so nothing can be captured.
    """
    return _inlined(expression, values, {})


def _inlined(expression: Expression, values: Collection[int], named: Mapping[str, Expression]) -> Expression:
    match expression:
        case Name(name) if name in named:
            return named[name]
        case Let(binder, value, body) if id(value) in values:
            inner = {} if binder.name is None else {binder.name: _inlined(value, values, named)}
            return _inlined(body, values, {**named, **inner})
        case _:
            return map_children(expression, lambda child: _inlined(child, values, named))
