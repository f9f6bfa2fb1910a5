"""Which names an expression leaves to its surroundings."""

from __future__ import annotations

from collections.abc import Iterator

from storel.syntax.nodes.expressions import Expression, Mapped, Name
from storel.syntax.walk import NONE, scoped_children


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
            return NONE
        case _:
            parts = [free_names(child) - bound for child, bound in scoped_children(expression)]
            return NONE.union(*parts)


def free_occurrences(expression: Expression) -> Iterator[Name]:
    """Yield each place of each of the ``free_names``, in the order of the text."""
    match expression:
        case Name():
            yield expression
        case Mapped():
            pass
        case _:
            for child, bound in scoped_children(expression):
                yield from (each for each in free_occurrences(child) if each.name not in bound)
