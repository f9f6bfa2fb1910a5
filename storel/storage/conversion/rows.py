"""A matrix row by row: the intermediate form between one format and another.

Its entries are listed without their rows, which follow from the number of entries in each row. Many mappings
make their entries in this order, and what they make of a row they make many times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.host.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.blocks import blocks
from storel.storage.conversion.compressed import by_columns, combined, compressed, nonzero
from storel.storage.conversion.diagonals import rows_of_diagonals
from storel.storage.conversion.row_layouts import RowLayout, row_layout
from storel.storage.coordinates import (
    are_buckets_few,
    are_many,
    in_rows,
    index_dtype,
    is_sorted,
    numbers,
)
from storel.storage.entries import Entries
from storel.storage.formats.chain import Chain
from storel.storage.formats.format import Format
from storel.storage.stored import Stored
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.unpack import Listing, entries_at_most, in_key_order, list_entries, slices
from storel.storage.unpacking.vectors import Undefined


@dataclass(frozen=True, slots=True)
class Rows:
    """The columns and the values of a matrix's entries; those of row i are at boundaries[i:i + 2].

    Columns increase within a row, no value is a zero.
    """

    shape: tuple[int, int]
    boundaries: Array
    columns: Array
    values: Array

    def coordinates(self) -> Array:
        """Return rows and columns: 2 × count."""
        found = np.empty((2, len(self.columns)), dtype=self.columns.dtype)
        found[0] = numbers(self.boundaries, found.dtype)
        found[1] = self.columns
        return found

    def turned(self) -> Rows:
        """Return the transpose."""
        require_memory(self.columns.nbytes + self.values.nbytes, "the entries in another order")
        first, second = self.shape
        return Rows((second, first), *by_columns(self.boundaries, self.columns, self.values, self.shape))

    def arrays(self, storage: Format, semiring: str) -> dict[str, Array] | None:
        """Return the arrays of a format that is rows or columns as such (``row_layouts.py``), else None."""
        layout = _layout(storage, self.shape, semiring)
        if layout is None:
            return None
        rows = self if layout.order == (0, 1) else self.turned()
        return layout.write((rows.boundaries, rows.columns, rows.values), rows.shape)


def rows_of(tensor: Stored) -> Rows | None:
    """Return the entries of a matrix by rows.

    None for few entries, where there are far more rows or columns than entries, and for a mapping that
    vectors do not compute.
    """
    values = [tensor.arrays[each.name] for each in tensor.storage.arrays if each.holds_values]
    if tensor.rank != 2 or not are_many(sum(map(len, values))):
        return None
    try:
        return _rows(tensor)
    except Undefined:
        raise
    except FormatError:
        return None


def _rows(tensor: Stored) -> Rows | None:
    if len(tensor.storage.chains) == 1:
        found = _held(tensor) or _in_diagonals(tensor) or _listed(tensor)
        if found is not None:
            return found
    coordinates, listed = list_entries(
        tensor.storage, tensor.arrays, tensor.sizes, tensor.semiring, index_dtype(tensor.shape)
    )
    return _gathered(
        tuple(coordinates), listed.astype(tensor.dtype, copy=False), tensor.shape, tensor.semiring
    )


def arrays_by_rows(storage: Format, entries: Entries) -> dict[str, Array] | None:
    """Return the arrays of a format that is rows or columns as such.

    None for other formats and where ``rows_of`` gives none.
    """
    coordinates, shape = entries.coordinates, entries.shape
    layout = _layout(storage, shape, entries.semiring)
    if layout is None:
        return None
    first, second = layout.order
    keys, extents = (coordinates[first], coordinates[second]), (shape[first], shape[second])
    rows = _gathered(keys, entries.values, extents, entries.semiring)
    return rows and layout.write((rows.boundaries, rows.columns, rows.values), rows.shape)


def _layout(storage: Format, shape: tuple[int, ...], semiring: str) -> RowLayout | None:
    """Return how a format holds rows or columns, if what it holds elsewhere is the semiring's zero."""
    found = row_layout(storage, shape)
    return None if found is None or (found.has_padding and SEMIRINGS[semiring].zero) else found


def _gathered(
    coordinates: Sequence[Array], values: Array, shape: tuple[int, ...], semiring: str
) -> Rows | None:
    """Return entries in any order as rows, equal keys added up; None where ``rows_of`` gives none."""
    if not are_buckets_few(len(values), shape):
        return None
    first, second = shape
    zero = SEMIRINGS[semiring].zero
    if is_sorted(coordinates, strictly=True):
        return Rows((first, second), *compressed(coordinates, values, (first, second), zero))
    made = in_rows(coordinates, values, shape)
    index_type = index_dtype(shape, len(values))
    boundaries, columns = (each.astype(index_type, copy=False) for each in (made.indptr, made.indices))
    rows = combined((boundaries, columns, np.asarray(made.data)), SEMIRINGS[semiring])
    return Rows((first, second), *nonzero(rows, zero))


def _held(tensor: Stored) -> Rows | None:
    """Return rows or columns that arrays hold as they are, if it is declared that these are sorted."""
    layout = row_layout(tensor.storage, tensor.shape)
    if layout is None or not layout.is_sorted(tensor.storage):
        return None
    first, second = (tensor.shape[dimension] for dimension in layout.order)
    found = layout.read(tensor.arrays, (first, second), SEMIRINGS[tensor.semiring].zero)
    rows = Rows((first, second), *found)
    return rows if layout.order == (0, 1) else rows.turned()


def _in_diagonals(tensor: Stored) -> Rows | None:
    """Return what a mapping makes of diagonals, which nothing fills but zeros."""
    (chain,), (first, second) = tensor.storage.chains, tensor.shape
    if SEMIRINGS[tensor.semiring].zero:
        return None
    found = rows_of_diagonals(chain, tensor.arrays, tensor.sizes, (first, second))
    if found is None:
        return None
    boundaries, columns, values = found
    return Rows((first, second), boundaries, columns, values.astype(tensor.dtype, copy=False))


def _listed(tensor: Stored) -> Rows | None:
    """Return what the iterations of a mapping make, if they make it row by row."""
    ring, (chain,) = SEMIRINGS[tensor.semiring], tensor.storage.chains
    listing = Listing(1, index_dtype(tensor.shape))
    listing.expect(entries_at_most(chain, tensor.arrays, ring.zero))
    counts, last = np.zeros(tensor.shape[0], dtype=np.int64), -1
    for part in slices(in_key_order(chain, tensor.arrays, tensor.sizes), tensor.arrays, tensor.sizes):
        made = Iterations.of(part, tensor.arrays, tensor.sizes, may_hold_others=True)
        if not made.count:
            continue
        rows, lengths = made.runs(chain.keys[0])
        before = len(listing.entries[1])
        places = listing.add(Chain(part.steps, part.keys[1:], part.leaf), made, ring)
        if places is not None:
            lengths = np.diff(np.searchsorted(places, np.cumsum(lengths)), prepend=0)
            rows, lengths = rows[lengths > 0], lengths[lengths > 0]
        if not len(rows):
            continue
        columns = listing.entries[0][0][before:]
        is_next = rows[0] > last or (rows[0] == last and columns[0] > listing.entries[0][0][before - 1])
        if not is_next or (rows[1:] <= rows[:-1]).any() or not _are_increasing(columns, np.cumsum(lengths)):
            return None  # such as buckets: the first part tells, and nothing more is listed in vain
        counts[rows] += lengths
        last = rows[-1]
    (columns,), values = listing.entries
    index_type = index_dtype(tensor.shape, len(values))
    boundaries = np.zeros(len(counts) + 1, dtype=index_type)
    np.cumsum(counts, out=boundaries[1:])
    first, second = tensor.shape
    values = values.astype(tensor.dtype, copy=False)
    return Rows((first, second), boundaries, columns.astype(index_type, copy=False), values)


def _are_increasing(columns: Array, boundaries: Array) -> bool:
    """Return whether columns increase between boundaries."""
    begins = boundaries[(boundaries > 0) & (boundaries < len(columns))] - 1
    for piece in blocks(len(columns) - 1):
        rises = columns[piece.start + 1 : piece.stop + 1] > columns[piece]
        first, end = np.searchsorted(begins, (piece.start, piece.stop))
        rises[begins[first:end] - piece.start] = True
        if not rises.all():
            return False
    return True
