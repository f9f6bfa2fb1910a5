"""Products of sums, multiplied out: ``(a + b) * (c - d) = a c - a d + b c - b d``.

A sum of monomials gives each of them a plan of its own: ``Σ (X(i,j) - u(i) v(j))²`` takes one pass over the
entries of a sparse X, and its dense part factors. The parts can cancel, so this is done where the user
allows it only (``floating_point="expand"``). It is done before rewriting, since the products that
distribution makes inside an e-graph outgrow every budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import TypeAlias

from storel.calculus.binding import substitute
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Singleton,
    Sum,
    Term,
)
from storel.optimizer.terms.products import factors
from storel.scalars import ScalarType

MOST = 24
"""Monomials beyond which nothing is multiplied out."""

RING = "plus_times"

Monomial: TypeAlias = tuple[int, Term]
"""A coefficient, and a term that is no sum."""


def monomials(term: Term) -> list[Term]:
    """Return terms whose sum is ``term``; equal ones are one term with a coefficient.

    There is but one where nothing can be multiplied out, or where the parts would be too many.
    """
    found: dict[Term, int] = {}
    for count, (coefficient, part) in enumerate(_parts(term)):
        if count == MOST:
            return [term]
        found[part] = found.get(part, 0) + coefficient
    parts = [_scaled(coefficient, part) for part, coefficient in found.items() if coefficient]
    return parts if len(parts) > 1 else [term]


def _parts(term: Term) -> Iterator[Monomial]:
    match term:
        case Add(left, right, semiring) if semiring == RING:
            yield from _parts(left)
            yield from _parts(right)
        case Apply("subtract", (left, right)):
            yield from _parts(left)
            yield from ((-coefficient, part) for coefficient, part in _parts(right))
        case Apply("negate", (value,)):
            yield from ((-coefficient, part) for coefficient, part in _parts(value))
        case Multiply(left, right, semiring) if semiring == RING:
            for (one, first), (two, second) in product(_parts(left), _parts(right)):
                yield one * two, _ordered(Multiply(first, second, RING))
        case Sum(source, body, semiring) if semiring == RING:
            yield from ((coefficient, Sum(source, part, RING)) for coefficient, part in _parts(body))
        case Singleton(key, value, semiring) if semiring == RING:
            yield from ((coefficient, Singleton(key, part, RING)) for coefficient, part in _parts(value))
        case If(condition, body, semiring) if semiring == RING:
            yield from ((coefficient, If(condition, part, RING)) for coefficient, part in _parts(body))
        case Lookup(mapping, key, semiring) if semiring == RING:
            yield from ((coefficient, Lookup(part, key, RING)) for coefficient, part in _parts(mapping))
        case Apply("divide", (left, right)):
            yield from ((coefficient, Apply("divide", (part, right))) for coefficient, part in _parts(left))
        case Let(value, body):
            yield from _parts(substitute(body, value))
        case _:
            yield 1, term


def _ordered(term: Multiply) -> Term:
    """Return a product with its factors in an order that does not depend on how it was written."""
    return reduce(lambda left, right: Multiply(left, right, RING), sorted(factors(term, RING), key=repr))


def _scaled(coefficient: int, term: Term) -> Term:
    return term if coefficient == 1 else Multiply(Literal(coefficient, ScalarType.INT64), term, RING)
