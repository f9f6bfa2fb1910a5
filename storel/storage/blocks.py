"""Scans of arrays that may be larger than memory: piece by piece, so that what is computed stays small.

A memory map is read from its file as it is scanned; only the pieces' results are memory of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from storel.arrays import Array

Span: TypeAlias = tuple[int, int]
"""The least and the greatest of some integers, or less and more than these."""

ELEMENTS = 1 << 20
"""The length of a piece: long enough that calls cost nothing, short enough for a processor's cache."""

FEW_ELEMENTS = 1 << 15


def blocks(length: int) -> Iterator[slice]:
    """Yield slices that cover ``0:length`` in order."""
    for start in range(0, length, ELEMENTS):
        yield slice(start, min(start + ELEMENTS, length))


def small_blocks(length: int) -> Iterator[slice]:
    """Yield slices that cover ``0:length`` in order, of which a dozen vectors fit in a processor's cache."""
    for start in range(0, length, FEW_ELEMENTS):
        yield slice(start, min(start + FEW_ELEMENTS, length))


def steps(array: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield, for slices of ``0:len(array) - 1``, the elements there and those that follow them."""
    for piece in blocks(len(array) - 1):
        yield piece, array[piece], array[piece.start + 1 : piece.stop + 1]


def is_all_finite(array: Array) -> bool:
    """Return whether no element is inf or NaN."""
    return all(bool(np.isfinite(array[piece]).all()) for piece in blocks(len(array)))


def integer_span(array: Array) -> Span | None:
    """Return between which powers of two integers lie, None for what are none, or no elements.

    So roughly, other data of the same kind has the same span.

    >>> integer_span(np.array([3, 900])), integer_span(np.array([-5, 0])), integer_span(np.array([0.5]))
    ((0, 1023), (-8, 0), None)
    """
    if array.dtype.kind != "i" or not len(array):
        return None
    least = min(int(array[piece].min()) for piece in blocks(len(array)))
    greatest = max(int(array[piece].max()) for piece in blocks(len(array)))
    low = -(1 << (-least - 1).bit_length()) if least < 0 else 0
    return low, (1 << greatest.bit_length()) - 1 if greatest > 0 else 0


def count_unlike(array: Array, value: bool | int | float) -> int:
    """Return how many elements differ from ``value``."""
    return sum(int(np.count_nonzero(array[piece] != value)) for piece in blocks(len(array)))


def count_runs(array: Array) -> int:
    """Return how many runs of equal elements there are: the distinct elements of a sorted array."""
    changes = sum(int(np.count_nonzero(these != following)) for _, these, following in steps(array))
    return changes + (len(array) > 0)


def is_ascending(array: Array) -> bool:
    """Return whether no element is less than the one before it."""
    return all(bool((these <= following).all()) for _, these, following in steps(array))


def is_increasing(array: Array) -> bool:
    """Return whether each element is greater than the one before it."""
    return all(bool((these < following).all()) for _, these, following in steps(array))
