"""A matrix as compressed rows: made of sorted entries, and taken to columns, tiles and diagonals and back.

By SciPy's conversions, which put entries in buckets, but for tiles of few entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.semiring import Semiring
from storel.storage.blocks import count_runs, count_unlike
from storel.storage.coordinates import added_up, changes, index_dtype, numbers, order_in_buckets

Compressed: TypeAlias = tuple[Array, Array, Array]
"""The boundaries of rows, and the columns and values between them."""


def compressed(coordinates: Sequence[Array], values: Array, shape: tuple[int, int], zero: Any) -> Compressed:
    """Return the rows of sorted entries of a matrix without duplicates; zeros are left out."""
    rows, columns = coordinates
    index_type = index_dtype(shape, len(values))
    ends = np.append(np.flatnonzero(rows[1:] != rows[:-1]) + 1, len(rows)) if len(rows) else rows
    sizes = np.zeros(shape[0] + 1, dtype=index_type)
    sizes[rows[ends - 1].astype(np.int64) + 1] = np.diff(ends, prepend=0)
    boundaries = np.cumsum(sizes, out=sizes)
    return nonzero((boundaries, columns.astype(index_type, copy=False), values), zero)


def nonzero(rows: Compressed, zero: Any, extent: int | None = None) -> Compressed:
    """Return rows without zeros, and without columns beyond an extent."""
    boundaries, columns, values = rows
    is_outside = extent is not None and int(columns.max(initial=0)) >= extent
    if not is_outside and count_unlike(values, zero) == len(values):
        return rows
    kept = values != zero
    if is_outside:
        kept &= columns < extent
    before = np.zeros(len(values) + 1, dtype=boundaries.dtype)
    np.cumsum(kept, out=before[1:])
    return before[boundaries], columns[kept], values[kept]


def combined(rows: Compressed, semiring: Semiring) -> Compressed:
    """Return rows with equal columns added up; the columns of a row ascend."""
    boundaries, columns, values = rows
    is_first = changes((columns,), len(columns))
    is_first[boundaries[boundaries < len(columns)]] = True
    if is_first.all():
        return rows
    first = np.flatnonzero(is_first)
    ends = np.searchsorted(first, boundaries).astype(boundaries.dtype, copy=False)
    return ends, columns[first], added_up(values, first, semiring)


def by_columns(
    boundaries: Array, columns: Array, values: Array, shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return the boundaries, rows and values of a matrix by columns, given those of its rows and the columns.

    Entries are put in buckets, one for each column, in the order in which they come. It is Gustavson's
    algorithm, "Two fast algorithms for sparse matrices", ACM TOMS 1978, as SciPy has it.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    turned = sp.csr_array((values, columns, boundaries), shape=shape).tocsc()
    index_type = columns.dtype
    ends, rows = (each.astype(index_type, copy=False) for each in (turned.indptr, turned.indices))
    return ends, rows, np.asarray(turned.data)


def out_of_tiles(
    boundaries: Array, columns: Array, tiles: Array, shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return the boundaries, columns and values of a matrix's rows, zeros included.

    Given are the boundaries, columns and values of rows of tiles, which the matrix consists of: the
    values are count × rows × columns.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    rows = sp.bsr_array((tiles, columns, boundaries), shape=shape).tocsr()
    return rows.indptr, rows.indices, np.asarray(rows.data)


def out_of_diagonals(offsets: Array, diagonals: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Return the boundaries, columns and values of a matrix's rows, without zeros.

    Given are ascending offsets and, for each, what the diagonal holds in each column: count × columns.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    rows = sp.dia_array((diagonals, offsets), shape=shape).tocsr()
    return rows.indptr, rows.indices, np.asarray(rows.data)


def out_of_tiles_of_few(
    boundaries: Array, columns: Array, tiles: Array, shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return what ``out_of_tiles`` does without zeros, by looking for what is none."""
    height, width = tiles.shape[1:]
    places = np.flatnonzero(tiles != 0)  # of truth values these are found in a fifth of the time
    tile, inside = np.divmod(places, height * width)
    rows = numbers(boundaries, index_dtype(shape))[tile] * height + inside // width
    keys = columns[tile] * width + inside % width
    order, ends = order_in_buckets(rows, shape[0]), np.zeros(shape[0] + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=ends[1:])
    return ends, keys[order], tiles.reshape(-1)[places[order]]


def into_tiles(
    boundaries: Array, columns: Array, values: Array, shape: tuple[int, int], tile: tuple[int, int]
) -> tuple[Array, Array, Array]:
    """Return the boundaries, columns and values of rows of tiles, as ``out_of_tiles`` takes them, sorted.

    Given are the boundaries, columns and values of a matrix's rows.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    across = columns // tile[1]
    if 2 * count_runs(across) > len(across):
        return _into_tiles_of_few(boundaries, columns, values, across, shape, tile)
    tiles = sp.csr_array((values, columns, boundaries), shape=shape).tobsr(blocksize=tile)
    tiles.sort_indices()
    return tiles.indptr, tiles.indices, np.asarray(tiles.data)


def _into_tiles_of_few(
    boundaries: Array,
    columns: Array,
    values: Array,
    across: Array,
    shape: tuple[int, int],
    tile: tuple[int, int],
) -> tuple[Array, Array, Array]:
    """Return what ``into_tiles`` does where few entries share a tile, ``across`` being the tiles' columns.

    Entries are put in the order of their tiles, which SciPy fills in the order in which it meets them: to
    put these in order afterwards would move many times as much.
    """
    import scipy.sparse as sp  # here, since it takes 0.1 s and few programs need it

    (height, width), count = tile, len(values)
    in_tile = np.repeat(np.tile(np.arange(0, height * width, width), shape[0] // height), np.diff(boundaries))
    in_tile += columns - across * width
    rows, whole = boundaries[::height], (shape[0] // height, shape[1] // width)
    numbered = sp.csr_array((np.arange(count, dtype=columns.dtype), across, rows), shape=whole)
    ordered: Any = numbered.tocsc().tocsr()
    is_new = changes((ordered.indices,), count)
    is_new[rows[:-1][rows[:-1] < count]] = True
    number = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(is_new, out=number[1:])
    tiles = np.zeros(int(number[-1]) * height * width, dtype=values.dtype)
    tiles[(number[1:] - 1) * (height * width) + in_tile[ordered.data]] = values[ordered.data]
    return number[rows], ordered.indices[is_new], tiles
