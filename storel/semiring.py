"""The semirings over which tensors are summed and multiplied."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from storel.scalars import ScalarType

Scalar: TypeAlias = bool | int | float


@dataclass(frozen=True, slots=True)
class Semiring:
    """A commutative semiring: ``plus`` with unit ``zero``, ``times`` with unit ``one``.

    ``zero`` annihilates under ``times`` and is the value of a missing entry. ``has_negation`` and
    ``has_division`` say whether ``-`` and ``/`` are allowed, ``has_negatives`` whether negative numbers and
    NaN are among the numbers that it is a semiring of. ``plus_name`` and ``times_name`` are
    the operations' names in the loop IR (``add``, ``multiply``, ``minimum``, ``maximum``, ``or``,
    ``and``).
    """

    name: str
    plus_name: str
    times_name: str
    zero: Scalar
    one: Scalar
    has_negation: bool = False
    has_division: bool = False
    has_negatives: bool = True

    def plus(self, a: Scalar, b: Scalar) -> Scalar:
        return OPERATIONS[self.plus_name](a, b)

    def times(self, a: Scalar, b: Scalar) -> Scalar:
        """Multiply; a zero annihilates even inf and NaN, as sparse algebra does."""
        if self.is_zero(a) or self.is_zero(b):
            return self.zero
        return OPERATIONS[self.times_name](a, b)

    def is_zero(self, a: Scalar) -> bool:
        return a == self.zero

    @property
    def has_truths(self) -> bool:
        """Whether its numbers are truths."""
        return self.plus_name == "or"

    def with_zero(self, scalar: ScalarType) -> ScalarType:
        """Return a type that holds the numbers of type ``scalar`` and the zero: inf is no integer.

        Numbers may be truths.
        """
        if self.has_truths:
            return ScalarType.BOOL
        return ScalarType.FLOAT64 if isinstance(self.zero, float) and not scalar.is_real else scalar

    def sum_type(self, scalar: ScalarType) -> ScalarType:
        """Return the type of the sums of numbers of type ``scalar``; truths are counted.

        >>> PLUS_TIMES.sum_type(ScalarType.BOOL).name, OR_AND.sum_type(ScalarType.INT64).name
        ('INT64', 'BOOL')
        """
        if self.plus_name == "add" and scalar is ScalarType.BOOL:
            return ScalarType.INT64
        return self.with_zero(scalar)

    def choice_type(self, one: ScalarType, two: ScalarType) -> ScalarType:
        """Return the type of numbers that are of one of two types, or the zero."""
        return self.with_zero(one.join(two))

    def product_type(self, one: ScalarType, two: ScalarType) -> ScalarType:
        """Return the type of the products of numbers of two types."""
        return ScalarType.BOOL if self.times_name == "and" else self.with_zero(one.join(two))


def _minimum(a: Scalar, b: Scalar) -> Scalar:
    return a if a != a or a <= b else b


def _maximum(a: Scalar, b: Scalar) -> Scalar:
    return a if a != a or a >= b else b


OPERATIONS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "minimum": _minimum,
    "maximum": _maximum,
    "or": lambda a, b: bool(a) or bool(b),
    "and": lambda a, b: bool(a) and bool(b),
}

PLUS_TIMES = Semiring("plus_times", "add", "multiply", 0, 1, has_negation=True, has_division=True)
MIN_PLUS = Semiring("min_plus", "minimum", "add", math.inf, 0)
MAX_PLUS = Semiring("max_plus", "maximum", "add", -math.inf, 0)
MAX_TIMES = Semiring("max_times", "maximum", "multiply", 0, 1, has_negatives=False)
OR_AND = Semiring("or_and", "or", "and", False, True)

SEMIRINGS: dict[str, Semiring] = {
    semiring.name: semiring for semiring in (PLUS_TIMES, MIN_PLUS, MAX_PLUS, MAX_TIMES, OR_AND)
}
