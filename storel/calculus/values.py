"""The values of the calculus: scalars, Python dictionaries without zero entries, and arrays.

Arithmetic follows the scalar type that a term has: float32 results are rounded once, an integer that
overflows is an error, a zero annihilates inf and NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from storel.calculus.verify import Type, element
from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import Scalar, Semiring

Value: TypeAlias = Any
"""A ``Scalar``, a dictionary from integers to values, or an ``Array``."""


@dataclass(frozen=True, slots=True)
class Array:
    """The elements at positions ``low`` … ``high - 1``; ``read`` gives the one at a position."""

    name: str
    low: int
    high: int
    read: Callable[[int], Scalar]

    def at(self, position: int) -> Scalar:
        """Return the element at ``position``; raises ``EvaluationError`` outside."""
        if not self.low <= position < self.high:
            raise EvaluationError(
                f"array {self.name} is read at position {position}, outside {self.low}:{self.high}"
            )
        return self.read(position)

    def part(self, low: int, high: int) -> Array:
        """Return the sub-array ``low:high``, which must lie inside unless it is empty."""
        if low < high:
            self.at(low)
            self.at(high - 1)
        return Array(self.name, low, high, self.read)


def rounded(value: Scalar, scalar: ScalarType) -> Scalar:
    """Return ``value`` as a number of type ``scalar``; raises ``EvaluationError`` if it overflows."""
    match scalar:
        case ScalarType.BOOL:
            return bool(value)
        case ScalarType.INT32 | ScalarType.INT64:
            if not -(1 << 63) <= value < 1 << 63:
                raise EvaluationError(f"integer overflow: {int(value)}")
            return int(value)
        case ScalarType.FLOAT32:
            with np.errstate(over="ignore"):
                return float(np.float32(value))
        case ScalarType.FLOAT64:
            return float(value)


def plus(left: Value, right: Value, kind: Type, semiring: Semiring) -> Value:
    """Return the semiring's sum of two values of type ``kind``."""
    if kind.rank == 0:
        return rounded(semiring.plus(left, right), kind.scalar)
    total = dict(left)
    for key, value in right.items():
        found = total.get(key)
        put(total, key, value if found is None else plus(found, value, element(kind), semiring), semiring)
    return total


def times(left: Value, right: Value, ranks: tuple[int, int], scalar: ScalarType, semiring: Semiring) -> Value:
    """Return the product of two scalars, of a scalar and a dictionary, or entry by entry."""
    if ranks == (0, 0):
        return rounded(semiring.times(left, right), scalar)
    product: dict[int, Value] = {}
    scaled = left if ranks[0] else right
    inner = (max(ranks[0] - 1, 0), max(ranks[1] - 1, 0))
    for key in sorted(scaled):
        a = left.get(key) if ranks[0] else left
        b = right.get(key) if ranks[1] else right
        if a is not None and b is not None:
            put(product, key, times(a, b, inner, scalar, semiring), semiring)
    return product


def entries(value: Value) -> Iterator[tuple[int, Value]]:
    """Yield the entries of a dictionary, or all positions of an array, in order of their keys."""
    if isinstance(value, Array):
        for position in range(value.low, value.high):
            yield position, value.at(position)
    else:
        yield from sorted(value.items())


def put(entries: dict[int, Value], key: int, value: Value, semiring: Semiring) -> None:
    """Store an entry, or remove it if its value is the zero."""
    if value == {} or (not isinstance(value, dict) and semiring.is_zero(value)):
        entries.pop(key, None)
    else:
        entries[key] = value


def zero_of(kind: Type, semiring: Semiring) -> Value:
    """Return the zero of the values of type ``kind``: {} of dictionaries."""
    return {} if kind.rank else rounded(semiring.zero, kind.scalar)


def non_negative(key: int) -> int:
    """Return ``key``; raises ``EvaluationError`` if no dictionary may have it."""
    if key < 0:
        raise EvaluationError(f"a negative key in a dictionary: {key}")
    return key
