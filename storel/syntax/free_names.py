"""Which names an expression leaves to its surroundings."""

from __future__ import annotations

from storel.syntax.nodes.expressions import (
    Binder,
    Comprehension,
    Expression,
    Generator,
    Let,
    Mapped,
    Merge,
    Name,
    Sum,
)
from storel.syntax.walk import children


def free_names(expression: Expression) -> frozenset[str]:
    """Return the free names, those of pointwise functions included, those inside of mappings not.

    >>> from storel.source import Source
    >>> from storel.syntax.parser import parse_expression
    >>> sorted(free_names(parse_expression(Source("", "sum(<i, x> in A) x * b(i)"))))
    ['A', 'b']
    """
    match expression:
        case Name(name):
            return frozenset({name})
        case Mapped():
            return frozenset()
        case Sum(generators, body, where):
            inner = free_names(body)
            outer = frozenset[str]().union(*(free_names(each.range) for each in where))
            return _of_loop(generators, inner) | outer
        case Comprehension(_, generators, body):
            return _of_loop(generators, frozenset() if body is None else free_names(body))
        case Let(binder, value, body):
            return free_names(value) | (free_names(body) - _bound(binder))
        case Merge(p, q, k, left, right, body):
            return free_names(left) | free_names(right) | (free_names(body) - _bound(p, q, k))
        case _:
            return frozenset[str]().union(*map(free_names, children(expression)))


def _of_loop(generators: tuple[Generator, ...], inner: frozenset[str]) -> frozenset[str]:
    """Return what is free in a loop: each generator binds in the sources to its right."""
    for generator in reversed(generators):
        inner = (inner - _bound(*generator.keys, generator.value)) | free_names(generator.source)
    return inner


def _bound(*binders: Binder) -> frozenset[str]:
    return frozenset(binder.name for binder in binders if binder.name is not None)
