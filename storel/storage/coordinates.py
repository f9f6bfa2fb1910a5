"""Lists of coordinates: sorting, combining duplicates, dropping zeros."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.semiring import PLUS_TIMES, Semiring

Array: TypeAlias = NDArray[Any]

DIGIT_BITS = 16

_COMBINERS: dict[str, np.ufunc] = {
    "add": np.add,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "or": np.logical_or,
}


def combine(
    coordinates: Array, values: Array, shape: tuple[int, ...], semiring: Semiring = PLUS_TIMES
) -> tuple[Array, Array]:
    """Return the entries sorted, equal coordinates added up, zeros dropped.

    ``coordinates`` is rank × count; the order is lexicographic. Where nothing has to be done the
    arguments are returned as they are.
    """
    coordinates, values, is_unique = sorted_entries(coordinates, values, shape)
    if not is_unique:
        first = np.flatnonzero(starts(coordinates))
        values = _COMBINERS[semiring.plus_name].reduceat(values, first).astype(values.dtype, copy=False)
        coordinates = np.take(coordinates, first, axis=1)
    kept = values != semiring.zero
    if not kept.all():
        coordinates, values = coordinates[:, kept], values[kept]
    return coordinates, values


def sorted_entries(coordinates: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array, bool]:
    """Return the entries in lexicographic order, and whether no coordinates occur twice."""
    if coordinates.shape[0] == 0:
        return coordinates, values, len(values) <= 1
    if coordinates.shape[1] <= 1:
        return coordinates, values, True
    key = _linear(coordinates, shape)
    if key is None:
        order = np.lexsort(coordinates[::-1])
        coordinates, values = np.take(coordinates, order, axis=1), values[order]
        return coordinates, values, bool(starts(coordinates).all())
    steps = np.diff(key)
    if (steps > 0).all():
        return coordinates, values, True
    if (steps >= 0).all():
        return coordinates, values, False
    order = _stable_order(key)
    key = key[order]
    return np.take(coordinates, order, axis=1), values[order], bool((np.diff(key) > 0).all())


def _stable_order(key: Array) -> Array:
    """Return the permutation that sorts ``key``, equal keys in the order in which they came.

    Digit after digit from the lowest: NumPy sorts 16-bit integers in linear time, which makes this
    2.5 times as fast as one comparison sort of three million keys.
    """
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(DIGIT_BITS, int(key.max()).bit_length(), DIGIT_BITS):
        digit = (key >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def _linear(coordinates: Array, shape: tuple[int, ...]) -> Array | None:
    """Return the row-major address of each coordinate tuple, or None where int64 does not hold it."""
    if math.prod(shape) >= 2**63:
        return None
    key = coordinates[0].astype(np.int64)
    for axis, extent in zip(coordinates[1:], shape[1:], strict=True):
        key = key * extent + axis
    return key


def starts(coordinates: Array) -> Array:
    """Return where a sorted coordinate tuple differs from the one before it; the first one does."""
    is_new = np.zeros(coordinates.shape[1], dtype=bool)
    is_new[:1] = True
    for axis in coordinates:
        is_new[1:] |= axis[1:] != axis[:-1]
    return is_new
