"""Lists of coordinates: sorting, combining duplicates, dropping zeros.

Many entries are sorted in linear time, by SciPy's conversions between compressed rows and columns: these put
entries in buckets, one for each row or column, in the order in which they came.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.semiring import PLUS_TIMES, Semiring
from storel.storage.blocks import small_blocks, steps

DIGIT_BITS = 20
"""There are 2^20 buckets at most: more are slow, since they are not in the processor's cache."""

MANY = 2**16
"""From how many entries on it pays off to load SciPy, which takes 0.1 s."""

SOME = 2**12
"""From how many entries on its buckets are faster, once it is loaded."""

RADIX_BITS = 16
"""NumPy sorts integers of so many bits in linear time."""

GROUP = 8
"""The average length of ascending runs of keys from which on the keys of a group are taken to ascend."""

RUN = 512
"""The same for matrices, where sorting by one more key costs less than looking at it in vain."""

LARGEST_INT32 = 2**31 - 1

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
        values = added_up(values, first, semiring)
        coordinates = np.take(coordinates, first, axis=1)
    kept = values != semiring.zero
    if not kept.all():
        coordinates, values = np.compress(kept, coordinates, axis=1), values[kept]
    return coordinates, values


def added_up(values: Array, first: Array, semiring: Semiring) -> Array:
    """Return the sums of the values from each of some positions to the next one."""
    with np.errstate(over="ignore", invalid="ignore"):  # sums that are infinite or NaN are values, too
        combined = _COMBINERS[semiring.plus_name].reduceat(values, first)
    return combined.astype(values.dtype, copy=False)


def sorted_entries(coordinates: Array, values: Array, shape: tuple[int, ...]) -> tuple[Array, Array, bool]:
    """Return the entries in lexicographic order, and whether no coordinates occur twice."""
    if coordinates.shape[0] == 0:
        return coordinates, values, len(values) <= 1
    if is_sorted(coordinates, strictly=True):
        return coordinates, values, True
    if is_sorted(coordinates, strictly=False):
        return coordinates, values, False
    if are_many(len(values)) and len(shape) > 2 and come_in_runs(coordinates[-1]):
        # what is sorted stably by the other keys may then be sorted by the last one, too
        order = _order(coordinates[:-1], shape[:-1])
        coordinates, values = np.take(coordinates, order, axis=1), values[order]
        if is_sorted(coordinates, strictly=False):
            return coordinates, values, is_sorted(coordinates, strictly=True)
    if are_buckets_few(len(values), shape):
        rows = in_rows(coordinates, values, shape)
        coordinates, values = np.empty_like(coordinates), rows.data
        coordinates[0] = numbers(rows.indptr, coordinates.dtype)
        coordinates[1] = rows.indices
    else:
        order = _order(coordinates, shape)
        coordinates, values = np.take(coordinates, order, axis=1), values[order]
    return coordinates, values, is_sorted(coordinates, strictly=True)


def is_sorted(coordinates: Array | Sequence[Array], *, strictly: bool) -> bool:
    """Return whether each coordinate tuple is greater than the one before it, or at least as great."""
    for piece in small_blocks(len(coordinates[0]) - 1):
        *leading, last = (axis[piece.start : piece.stop + 1] for axis in coordinates)
        ascends = last[1:] > last[:-1] if strictly else last[1:] >= last[:-1]
        for axis in reversed(leading):
            ascends = (axis[1:] > axis[:-1]) | ((axis[1:] == axis[:-1]) & ascends)
        if not ascends.all():
            return False
    return True


def are_buckets_few(count: int, shape: Sequence[int]) -> bool:
    """Return whether so many entries are those of a matrix that is sorted by rows and columns as buckets."""
    return len(shape) == 2 and are_many(count) and max(shape) <= max(2**DIGIT_BITS, count)


def in_rows(coordinates: Array | Sequence[Array], values: Array, shape: tuple[int, ...]) -> Any:
    """Return the entries of a matrix as SciPy's compressed rows, equal ones in the order in which they came.

    Columns ascend within rows.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    keys, across = coordinates
    listed = sp.coo_array((values, (keys, across)), shape=shape)
    listed.has_canonical_format = True  # or SciPy would add up those with the same key
    if _ascends(across, RUN) or _come_in_rows(keys, across, shape[0]):
        rows = listed.tocsr()
        if rows.has_sorted_indices:
            return rows
    return listed.tocsc().tocsr()


def numbers(boundaries: Array, index_type: np.dtype[Any]) -> Array:
    """Return for each entry the number of its row."""
    return np.repeat(np.arange(len(boundaries) - 1, dtype=index_type), np.diff(boundaries))


def _come_in_rows(rows: Array, columns: Array, height: int) -> bool:
    """Return whether most entries follow one of the same row, and none of these a greater column.

    More runs than there are rows are not those of rows that each come once.
    """
    count = 0
    for piece in small_blocks(len(rows) - 1):
        is_same = rows[piece.start + 1 : piece.stop + 1] == rows[piece]
        descends = columns[piece.start + 1 : piece.stop + 1] < columns[piece]
        if (is_same & descends).any():
            return False
        count += int(np.count_nonzero(is_same))
    return 2 * count > len(rows) and len(rows) - count <= height


def come_in_runs(keys: Array) -> bool:
    """Return whether ascending runs of keys are so long on average that a group's are taken to ascend."""
    return _ascends(keys, GROUP)


def _ascends(keys: Array, run: int) -> bool:
    """Return whether on average at least so many keys in a row ascend."""
    descents = sum(int(np.count_nonzero(following < these)) for _, these, following in steps(keys))
    return run * descents <= len(keys)


def _order(coordinates: Array, shape: tuple[int, ...]) -> Array:
    """Return the permutation that sorts the coordinates, equal ones in the order in which they came."""
    if math.prod(shape) >= 2**63:
        return np.lexsort(coordinates[::-1])
    return order_of(row_major(coordinates, shape))


def order_of(key: Array) -> Array:
    """Return the permutation that sorts keys from 0, equal ones in the order in which they came."""
    if not are_many(len(key)):
        return _order_by_radix(key)
    bits = int(key.max()).bit_length()
    if bits <= DIGIT_BITS:
        return order_in_buckets(key, 1 << bits)
    order = np.arange(len(key), dtype=index_dtype((len(key),)))
    width = max(1, min(DIGIT_BITS, -(-bits // 2)))
    for shift in range(0, bits, 2 * width):
        digits = _digits(key[order] if shift else key, shift, width)
        order = in_rows(digits, order, (int(digits[0].max()) + 1, int(digits[1].max()) + 1)).data
    return order


def order_in_buckets(key: Array, buckets: int) -> Array:
    """Return the permutation that sorts keys below ``buckets``, equal ones in the order in which they came.

    Many buckets should be met in an order near theirs, or few of them are in the processor's cache.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    count = len(key)
    numbered = np.empty(count, dtype=bool), (key, np.arange(count, dtype=index_dtype((count,))))
    listed = sp.coo_array(numbered, shape=(buckets, count))
    listed.has_canonical_format = True  # or SciPy would put them in order once more
    return listed.tocsr().indices


def _order_by_radix(key: Array) -> Array:
    """Return the permutation that sorts the keys, digit by digit from the lowest one."""
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(RADIX_BITS, int(key.max(initial=0)).bit_length(), RADIX_BITS):
        order = order[np.argsort((key[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def are_many(count: int) -> bool:
    """Return whether so many entries are best sorted by SciPy."""
    return count >= (SOME if "scipy.sparse" in sys.modules else MANY)


def _digits(key: Array, shift: int, width: int) -> Array:
    """Return two digits of each key, which have ``width`` bits: the lower one begins at bit ``shift``."""
    digits = np.empty((2, len(key)), dtype=np.int32)
    for piece in small_blocks(len(key)):
        digits[0, piece] = key[piece] >> (shift + width) & ((1 << width) - 1)
        digits[1, piece] = key[piece] >> shift & ((1 << width) - 1)
    return digits


def index_dtype(shape: tuple[int, ...], entries: int = 0) -> np.dtype[Any]:
    """Return the smaller index type that holds every key and every position."""
    largest = max((*shape, entries))
    return np.dtype(np.int32 if largest <= LARGEST_INT32 else np.int64)


def row_major(coordinates: Array | Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Return the row-major address of each coordinate tuple; int64 must hold it."""
    key = coordinates[0].astype(np.int64)
    for axis, extent in zip(coordinates[1:], shape[1:], strict=True):
        key *= extent
        key += axis
    return key


def starts(coordinates: Array) -> Array:
    """Return where a sorted coordinate tuple differs from the one before it; the first one does."""
    return changes(coordinates, coordinates.shape[1])


def changes(vectors: Iterable[Array], count: int) -> Array:
    """Return at which of ``count`` elements one of the vectors differs from the one before; at the first."""
    is_new = np.zeros(count, dtype=bool)
    is_new[:1] = True
    for vector in vectors:
        is_new[1:] |= vector[1:] != vector[:-1]
    return is_new
