"""The values of the interpreters, and how they combine: what a program and a term mean.

    value ::= scalar | dictionary from non-negative integers to values, without zeros | array of scalars

Every result is rounded to the scalar type that inference found: float32 once, an integer that does not
fit is an error, a zero annihilates inf and NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import OPERATIONS, PLUS_TIMES, Scalar, Semiring

Value: TypeAlias = Any
"""A ``Scalar``, a dictionary, or an ``Array``."""


@dataclass(frozen=True, slots=True)
class Array:
    """The elements at the positions ``low`` … ``high - 1``; ``read`` gives the one at a position."""

    name: str
    low: int
    high: int
    read: Callable[[int], Scalar]

    def at(self, position: int) -> Scalar:
        """Return the element at ``position``; raises ``EvaluationError`` outside."""
        if not self.low <= position < self.high:
            raise EvaluationError(
                f"{self.name} is read at position {position}",
                expected=f"a position in {self.low}:{self.high}",
            )
        return self.read(position)

    def part(self, low: int, high: int) -> Array:
        """Return the sub-array ``low:high``, which lies inside unless it is empty."""
        if low < high:
            self.at(low)
            self.at(high - 1)
        return Array(self.name, low, high, self.read)


def stored_array(name: str, elements: Any) -> Array:
    """Return a one-dimensional NumPy array as a value."""
    items: list[Scalar] = np.asarray(elements).tolist()
    return Array(f"array {name}", 0, len(items), items.__getitem__)


def integers(low: int, high: int) -> Array:
    """Return ``low:high``: the integers, each at its own position."""
    return Array("the range", low, high, int)


def entries(value: Value) -> Iterator[tuple[int, Value]]:
    """Yield the entries of a dictionary, or all positions of an array, in order of their keys."""
    if isinstance(value, Array):
        for position in range(value.low, value.high):
            yield position, value.at(position)
    else:
        yield from sorted(value.items())


def found_at(value: Value, key: int) -> Value | None:
    """Return the entry of a dictionary or the element of an array at ``key``, None if there is none."""
    if isinstance(value, Array):
        return value.read(key) if value.low <= key < value.high else None
    return value.get(key)


def put(dictionary: dict[int, Value], key: int, value: Value, semiring: Semiring) -> None:
    """Store an entry; one whose value is the zero is none."""
    is_zero = not value if isinstance(value, dict) else semiring.is_zero(value)
    if is_zero:
        dictionary.pop(key, None)
    else:
        dictionary[key] = value


def zero_of(scalar: ScalarType, rank: int, semiring: Semiring) -> Value:
    """Return the zero among the values of a rank: {} of dictionaries."""
    return {} if rank else rounded(semiring.zero, scalar)


def rounded(value: Scalar, scalar: ScalarType) -> Scalar:
    """Return ``value`` as a number of type ``scalar``; raises ``EvaluationError`` if it does not fit.

    >>> rounded(0.1, ScalarType.FLOAT32)
    0.10000000149011612
    """
    match scalar:
        case ScalarType.BOOL:
            return bool(value)
        case ScalarType.INT32 | ScalarType.INT64:
            limit = 1 << (8 * scalar.itemsize - 1)
            if not -limit <= value < limit:
                raise EvaluationError(f"integer overflow: {value} does not fit into {scalar.value}")
            return int(value)
        case ScalarType.FLOAT32:
            with np.errstate(over="ignore"):
                return float(np.float32(value))
        case ScalarType.FLOAT64:
            return float(value)


def converted(value: Value, scalar: ScalarType) -> Value:
    """Return a copy of a scalar or dictionary with numbers of another type."""
    if isinstance(value, dict):
        return {key: converted(item, scalar) for key, item in value.items()}
    return rounded(value, scalar)


def plus(one: Value, two: Value, scalar: ScalarType, semiring: Semiring) -> Value:
    """Return the semiring's sum of two scalars or dictionaries."""
    return add_into(converted(one, scalar), two, scalar, semiring)


def add_into(total: Value, value: Value, scalar: ScalarType, semiring: Semiring) -> Value:
    """Return the semiring's sum of two scalars or dictionaries; a dictionary ``total`` is updated."""
    if not isinstance(value, dict):
        return rounded(semiring.plus(total, value), scalar)
    for key, item in value.items():
        is_new = key not in total
        item = converted(item, scalar) if is_new else add_into(total[key], item, scalar, semiring)
        put(total, key, item, semiring)
    return total


def times(one: Value, two: Value, scalar: ScalarType, semiring: Semiring) -> Value:
    """Return the product of two scalars, of a scalar and each entry, or of the common entries."""
    if not isinstance(one, dict) and not isinstance(two, dict):
        return rounded(semiring.times(one, two), scalar)
    product: dict[int, Value] = {}
    if not isinstance(one, dict):
        pairs = {key: (one, value) for key, value in two.items()}
    elif not isinstance(two, dict):
        pairs = {key: (value, two) for key, value in one.items()}
    else:
        pairs = {key: (value, two[key]) for key, value in one.items() if key in two}
    for key, (left, right) in pairs.items():
        put(product, key, times(left, right, scalar, semiring), semiring)
    return product


def reduce_all(monoid: str, values: Iterable[Scalar], scalar: ScalarType) -> Scalar:
    """Return ``values`` combined in a monoid; raises ``EvaluationError`` for the minimum of no entries.

    >>> reduce_all("max", [1, 3, 2], ScalarType.INT64), reduce_all("prod", [], ScalarType.INT64)
    (3, 1)
    """
    match monoid:
        case "any":
            return any(list(values))
        case "all":
            return all(list(values))
        case "count":
            return sum(1 for _ in values)
        case "prod":
            product = rounded(1, scalar)
            for value in values:
                product = rounded(PLUS_TIMES.times(product, value), scalar)
            return product
        case _:
            return _extreme(monoid, values, scalar)


def _extreme(monoid: str, values: Iterable[Scalar], scalar: ScalarType) -> Scalar:
    operator = "minimum" if monoid in ("min", "least") else "maximum"
    best: Scalar | None = {"least": scalar.last, "greatest": scalar.first}.get(monoid)
    for value in values:
        best = value if best is None else OPERATIONS[operator](best, value)
    if best is None:
        raise EvaluationError(f"the {operator} of no entries")
    return rounded(best, scalar)
