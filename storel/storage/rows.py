"""A matrix row by row, as what is between storing it in one way and storing it in another.

Its entries are listed without their rows: what an entry's row is, is known from how many there are in each.
Many mappings make their entries in this order, and what they make of a row they make many times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storel.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.blocks import blocks
from storel.storage.chain import Chain
from storel.storage.coordinates import are_many, by_columns, index_dtype
from storel.storage.formats import Format
from storel.storage.iterations import Iterations
from storel.storage.row_layouts import numbers, row_layout
from storel.storage.stored import Array, Stored
from storel.storage.unpack import Listing, entries_at_most, in_key_order, slices


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
        layout = row_layout(storage, self.shape)
        if layout is None or (layout.has_padding and SEMIRINGS[semiring].zero):
            return None
        rows = self if layout.order == (0, 1) else self.turned()
        return layout.write((rows.boundaries, rows.columns, rows.values), rows.shape)


def rows_of(tensor: Stored) -> Rows | None:
    """Return the entries of a matrix by rows.

    None for few entries, and for mappings that are no single chain or do not make them in this order.
    """
    values = [tensor.arrays[each.name] for each in tensor.storage.arrays if each.holds_values]
    if tensor.rank != 2 or len(tensor.storage.chains) != 1 or not are_many(sum(map(len, values))):
        return None
    return _held(tensor) or _listed(tensor)


def _held(tensor: Stored) -> Rows | None:
    """Return rows or columns that arrays hold as they are, if it is declared that these are sorted."""
    layout = row_layout(tensor.storage, tensor.shape)
    if layout is None or not layout.is_sorted(tensor.storage):
        return None
    first, second = (tensor.shape[dimension] for dimension in layout.order)
    found = layout.read(tensor.arrays, (first, second), SEMIRINGS[tensor.semiring].zero)
    rows = Rows((first, second), *found)
    return rows if layout.order == (0, 1) else rows.turned()


def _listed(tensor: Stored) -> Rows | None:
    """Return what the iterations of a mapping make, if they make it row by row."""
    zero, (chain,) = SEMIRINGS[tensor.semiring].zero, tensor.storage.chains
    listing = Listing(1, index_dtype(tensor.shape))
    listing.expect(entries_at_most(chain, tensor.arrays, zero))
    counts, last = np.zeros(tensor.shape[0], dtype=np.int64), -1
    for part in slices(in_key_order(chain, tensor.arrays, tensor.sizes), tensor.arrays, tensor.sizes):
        made = Iterations.of(part, tensor.arrays, tensor.sizes, may_hold_others=True)
        if not made.count:
            continue
        rows, lengths = made.runs(chain.keys[0])
        before = len(listing.entries[1])
        places = listing.add(Chain(part.steps, part.keys[1:], part.leaf), made, zero)
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
    begins = boundaries[:-1] - 1  # the last one is the end
    for piece in blocks(len(columns) - 1):
        rises = columns[piece.start + 1 : piece.stop + 1] > columns[piece]
        first, end = np.searchsorted(begins, (piece.start, piece.stop))
        rises[begins[first:end] - piece.start] = True
        if not rises.all():
            return False
    return True
