"""Affine expressions of unknown variables, and equations solved for one of them.

c * x + e = k          x = (k - e) / c, where that is an integer
a * x + b * y + e = k  x = (k - e) // a, where 0 <= b * y < a: mixed radix, as many digits as there are
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Expression, Name, Number, Unary
from storel.syntax.substitution import substitute

Bounds: TypeAlias = Callable[[str], "tuple[int, int] | None"]
"""The least value and the number of values that a variable has at most, or None where nobody knows."""


FEW_BITS = 2**28
"""Of a few numbers that are less, sums and quotients are numbers of 32 bits."""


@dataclass(frozen=True)
class Affine:
    """``constant`` plus each unknown times its factor; both are integers or vectors."""

    factors: Mapping[str, Any]
    constant: Any


def affine(
    expression: Expression, known: Mapping[str, Any], arrays: Mapping[str, Array], unknown: frozenset[str]
) -> Affine | None:
    """Return ``expression`` as an affine one of the unknown names, or None where it is not."""
    if not free_names(expression) & unknown:
        return Affine({}, evaluate_vector(expression, known, arrays))
    match expression:
        case Name(name):
            return Affine({name: 1}, 0)
        case Unary("-", operand):
            inner = affine(operand, known, arrays, unknown)
            return None if inner is None else _scaled(inner, -1)
        case Binary("+" | "-" | "*" as operator, left, right):
            one, other = affine(left, known, arrays, unknown), affine(right, known, arrays, unknown)
            if one is None or other is None:
                return None
            return _combined(operator, one, other)
        case _:
            return None


@dataclass(frozen=True)
class Solved:
    """The value of one variable, and for which entries the equation has a solution; None says for all."""

    name: str
    value: Array
    fits: Array | None = None


def solve(left: Affine, right: Any, bounds: Bounds) -> Solved | None:
    """Return the value of the variable that ``left = right`` determines, if it does one."""
    residue = np.asarray(_without(right, left.constant))
    if len(left.factors) == 1:
        ((name, factor),) = left.factors.items()
        if np.ndim(factor) == 0 and factor == 1:
            return Solved(name, residue)
        if np.ndim(factor) == 0 and factor:
            quotient = residue // factor
            return Solved(name, quotient, quotient * factor == residue)
        is_zero = np.equal(factor, 0)
        quotient = residue // np.where(is_zero, 1, factor)
        return Solved(name, quotient, (quotient * factor == residue) & ~is_zero)
    for name, factor in left.factors.items():
        others = {other: each for other, each in left.factors.items() if other != name}
        digits = _digits(others, bounds)
        if digits is not None and np.ndim(factor) == 0 and digits[1] < factor:
            return Solved(name, _without(residue, digits[0]) // factor)
    return None


@dataclass(frozen=True)
class Sides:
    """An equation of which the names are given for some entries after the others."""

    unknown_side: Expression
    known_side: Expression
    arrays: Mapping[str, Array]
    unknown: frozenset[str]
    bounds: Bounds
    fixed: Affine | None = None
    """The side of the unknown names, if it is the same for all entries."""

    def variables(self, names: Mapping[str, Any]) -> frozenset[str] | None:
        """Return the unknown variables, or None where the equation is not affine."""
        left = self._left(names)
        return None if left is None else frozenset(left.factors)

    def values(self, names: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return both sides of an equation without unknown variables."""
        left = self._left(names)
        return None if left is None else left.constant, self._right(names)

    def hold(self, names: Mapping[str, Any]) -> Any:
        """Return where both sides of an equation without unknown variables are equal."""
        left, right = self.values(names)
        return left == right

    def solved(self, names: Mapping[str, Any]) -> Solved | None:
        """Return the value of the variable that the equation determines, if it does one."""
        left = self._left(names)
        return None if left is None else solve(left, self._right(names), self.bounds)

    def moved(self, names: Mapping[str, Any]) -> Sides:
        """Return the equation with all that is known on one side, if the unknown have numbers as factors."""
        found = self._left(names)
        if found is None or any(map(np.ndim, found.factors.values())):
            return self
        known = self.unknown_side
        for name in found.factors:
            known = substitute(known, name, Number(0))
        return replace(self, known_side=Binary("-", self.known_side, known), fixed=Affine(found.factors, 0))

    def is_solved_in_32_bits(self) -> bool:
        """Return whether what is known needs no more bits to be solved for, if it has itself 28 at most."""
        if self.fixed is None:
            return False
        bounds = [self.bounds(name) for name in self.fixed.factors]
        has_digits_from_zero = len(bounds) == 1 or all(known is None or known[0] == 0 for known in bounds)
        return has_digits_from_zero and all(abs(factor) < FEW_BITS for factor in self.fixed.factors.values())

    def _left(self, names: Mapping[str, Any]) -> Affine | None:
        return self.fixed or affine(self.unknown_side, names, self.arrays, self.unknown)

    def _right(self, names: Mapping[str, Any]) -> Any:
        return evaluate_vector(self.known_side, names, self.arrays)


def _digits(factors: Mapping[str, Any], bounds: Bounds) -> tuple[int, int] | None:
    """Return the least sum of the terms, and how far above it the greatest one lies."""
    least = span = 0
    for name, factor in factors.items():
        known = bounds(name)
        if known is None or np.ndim(factor) or factor < 0:
            return None
        least += factor * known[0]
        span += factor * max(known[1] - 1, 0)
    return least, span


def _without(number: Any, other: Any) -> Any:
    """Return a difference, which is no computation if the second one is 0."""
    return number if np.ndim(other) == 0 and other == 0 else number - other


def _scaled(inner: Affine, by: Any) -> Affine:
    return Affine({name: factor * by for name, factor in inner.factors.items()}, inner.constant * by)


def _combined(operator: str, one: Affine, other: Affine) -> Affine | None:
    if operator == "*":
        if one.factors and other.factors:
            return None
        return _scaled(other, one.constant) if other.factors else _scaled(one, other.constant)
    if operator == "-":
        other = _scaled(other, -1)
    factors = dict(one.factors)
    for name, factor in other.factors.items():
        factors[name] = factors.get(name, 0) + factor
    left = {name: factor for name, factor in factors.items() if np.ndim(factor) or factor}
    return Affine(left, one.constant + other.constant)
