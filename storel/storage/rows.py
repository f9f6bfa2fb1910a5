"""A matrix row by row, as what is between storing it in one way and storing it in another.

Its entries are listed without their rows: what an entry's row is, is known from how many there are in each.
Many mappings make their entries in this order, and what they make of a row they make many times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storel.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.blocks import blocks, count_unlike
from storel.storage.chain import Chain
from storel.storage.coordinates import are_many, by_columns, index_dtype
from storel.storage.formats import Format
from storel.storage.iterations import Iterations
from storel.storage.signature import LevelKind, LevelSignature, level_signature
from storel.storage.stored import Array, Stored
from storel.storage.unpack import Listing, entries_at_most, in_key_order, slices
from storel.syntax.nodes.declarations import Increasing

COMPRESSED_ROWS = (LevelKind.DENSE, LevelKind.COMPRESSED)


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
        rows = np.arange(self.shape[0], dtype=found.dtype)
        found[0] = np.repeat(rows, np.diff(self.boundaries))
        found[1] = self.columns
        return found

    def turned(self) -> Rows:
        """Return the transpose."""
        require_memory(self.columns.nbytes + self.values.nbytes, "the entries in another order")
        first, second = self.shape
        return Rows((second, first), *by_columns(self.boundaries, self.columns, self.values, self.shape))

    def arrays(self, storage: Format) -> dict[str, Array] | None:
        """Return the arrays of a format that stores compressed rows, or compressed columns; else None."""
        found = _compressed_rows(storage)
        if found is None:
            return None
        signature, pos, idx = found
        rows = self if signature.order == (0, 1) else self.turned()
        return {pos: rows.boundaries, idx: rows.columns, signature.values: rows.values}


def rows_of(tensor: Stored) -> Rows | None:
    """Return the entries of a matrix by rows.

    None for few entries, and for mappings that are no single chain or do not make them in this order.
    """
    values = [tensor.arrays[each.name] for each in tensor.storage.arrays if each.holds_values]
    if tensor.rank != 2 or len(tensor.storage.chains) != 1 or not are_many(sum(map(len, values))):
        return None
    return _wrapped(tensor) or _listed(tensor)


def _wrapped(tensor: Stored) -> Rows | None:
    """Return rows or columns that are stored so, if no zeros are among them and no key is there twice."""
    found = _compressed_rows(tensor.storage)
    if found is None:
        return None
    signature, pos, idx = found
    values = tensor.arrays[signature.values]
    has_zeros = count_unlike(values, SEMIRINGS[tensor.semiring].zero) < len(values)
    if has_zeros or not _is_declared_increasing(tensor.storage, idx, pos):
        return None
    index_type = index_dtype(tensor.shape, len(values))
    boundaries, keys = (tensor.arrays[name].astype(index_type, copy=False) for name in (pos, idx))
    first, second = tensor.shape
    if signature.order == (0, 1):
        return Rows((first, second), boundaries, keys, values)
    return Rows((second, first), boundaries, keys, values).turned()


def _listed(tensor: Stored) -> Rows | None:
    """Return what the iterations of a mapping make, if they make it row by row."""
    zero, (chain,) = SEMIRINGS[tensor.semiring].zero, tensor.storage.chains
    chain = in_key_order(chain, tensor.arrays, tensor.sizes)
    listing = Listing(1, index_dtype(tensor.shape))
    listing.expect(entries_at_most(chain, tensor.arrays, zero))
    counts, last = np.zeros(tensor.shape[0], dtype=np.int64), 0
    for part in slices(chain, tensor.arrays, tensor.sizes):
        made = Iterations.of(part, tensor.arrays, tensor.sizes)
        if not made.count:
            continue
        rows, lengths = made.runs(chain.keys[0])
        if rows[0] < last or (rows[1:] < rows[:-1]).any():
            return None
        is_first = not len(listing.entries[1])
        kept = listing.add(Chain(part.steps, part.keys[1:], part.leaf), made, zero)
        if kept is not None:
            lengths = np.add.reduceat(kept, np.cumsum(lengths) - lengths, dtype=np.int64)
        if is_first and not _are_increasing(listing.entries[0][0], np.cumsum(lengths)):
            return None  # such as buckets: all would be listed in vain
        counts[rows] += lengths
        last = rows[-1]
    (columns,), values = listing.entries
    index_type = index_dtype(tensor.shape, len(values))
    boundaries = np.zeros(len(counts) + 1, dtype=index_type)
    np.cumsum(counts, out=boundaries[1:])
    if not _are_increasing(columns, boundaries):
        return None
    first, second = tensor.shape
    values = values.astype(tensor.dtype, copy=False)
    return Rows((first, second), boundaries, columns.astype(index_type, copy=False), values)


def _compressed_rows(storage: Format) -> tuple[LevelSignature, str, str] | None:
    """Return the levels of a format of compressed rows or columns, and the names of its pos and idx."""
    signature = level_signature(storage)
    if signature is None or tuple(level.kind for level in signature.levels) != COMPRESSED_ROWS:
        return None
    inner = signature.levels[-1]
    if inner.pos is None or inner.idx is None or len(storage.arrays) > 3:
        return None
    return signature, inner.pos, inner.idx


def _is_declared_increasing(storage: Format, idx: str, pos: str) -> bool:
    """Return whether the format declares that no row holds a key twice."""
    return any(array.name == idx and Increasing(pos) in array.properties for array in storage.arrays)


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
