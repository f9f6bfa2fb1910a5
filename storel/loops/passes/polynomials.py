"""Addresses as polynomials with integer coefficients: sums of products of what is no sum and no product.

(i * n + j) * 4 + k    =    4·i·n + 4·j + k
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TypeAlias

from storel.loops.nodes import Binary, Constant, Expression, Local
from storel.scalars import ScalarType

Monomial: TypeAlias = tuple[Expression, ...]
"""Factors, in the order of their texts; none is 1."""

Polynomial: TypeAlias = Mapping[Monomial, int]
"""Monomials that are added up, each with its coefficient, which is not 0."""


def polynomial(expression: Expression) -> Polynomial:
    """Return an expression of type int64 as a polynomial."""
    match expression:
        case Constant(value):
            return _without_zeros({(): int(value)})
        case Binary("add", left, right):
            return added(polynomial(left), polynomial(right))
        case Binary("subtract", left, right):
            return added(polynomial(left), multiplied({(): -1}, polynomial(right)))
        case Binary("multiply", left, right):
            return multiplied(polynomial(left), polynomial(right))
        case _:
            return {(expression,): 1}


def added(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return the sum of two polynomials."""
    return _without_zeros({each: left.get(each, 0) + right.get(each, 0) for each in (*left, *right)})


def multiplied(left: Polynomial, right: Polynomial) -> Polynomial:
    """Return the product of two polynomials."""
    found: dict[Monomial, int] = {}
    for one, factor in left.items():
        for other, by in right.items():
            product = tuple(sorted((*one, *other), key=repr))
            found[product] = found.get(product, 0) + factor * by
    return _without_zeros(found)


def constant_of(expression: Expression) -> int | None:
    """Return the integer that an expression is whatever its locals are, None if they matter."""
    found = polynomial(expression)
    return found.get((), 0) if found.keys() <= {()} else None


def coefficient(of: Polynomial, local: Local) -> Polynomial | None:
    """Return what a local is multiplied by; None where a power of it is, or something that contains it."""
    found: dict[Monomial, int] = {}
    for monomial, factor in of.items():
        if local in monomial:
            others = list(monomial)
            others.remove(local)
            if local in others:
                return None
            found[tuple(others)] = factor
    return found


def expression_of(terms: Polynomial) -> Expression:
    """Return an expression of type int64 that has the value of a polynomial."""
    return _combined("add", (_product(monomial, factor) for monomial, factor in terms.items()), 0)


def _product(monomial: Monomial, factor: int) -> Expression:
    factors = monomial if factor == 1 and monomial else (*monomial, Constant(factor, ScalarType.INT64))
    return _combined("multiply", factors, 1)


def _combined(operator: str, terms: Iterable[Expression], unit: int) -> Expression:
    found = list(terms)
    if not found:
        return Constant(unit, ScalarType.INT64)
    return reduce(lambda left, right: Binary(operator, left, right), found)


def _without_zeros(terms: Polynomial) -> Polynomial:
    return {monomial: factor for monomial, factor in terms.items() if factor}
