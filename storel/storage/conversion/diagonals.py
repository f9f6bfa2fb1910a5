"""Formats whose mappings make diagonals, or parts of them, of values that lie one after the other.

    for k, o in off(0:d), for i in max(0, -o):min(m, n - o): key (i, i + o), leaf val(k * m + i)

Row, column and address all go on by one with the inner loop. So what they begin with, and for how long they
go on, are a few numbers for each iteration of the outer loop; SciPy lists what lies there by rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from storel.arrays import Array
from storel.host.memory import require_memory
from storel.storage.conversion.compressed import Compressed, out_of_diagonals
from storel.storage.coordinates import index_dtype
from storel.storage.formats.chain import Chain, ChainLoop
from storel.storage.unpacking.affine import affine
from storel.storage.unpacking.iterations import Iterations
from storel.syntax.nodes.expressions import Call, Expression, Name
from storel.syntax.substitution import substitute


@dataclass(frozen=True, slots=True)
class Diagonals:
    """Where each part of a diagonal begins, in the matrix and among the values, and how long it is."""

    rows: Array
    columns: Array
    addresses: Array
    lengths: Array

    def chosen(self, which: Array) -> Diagonals:
        """Return some of the parts, or all in another order."""
        return Diagonals(self.rows[which], self.columns[which], self.addresses[which], self.lengths[which])

    def are_apart_within(self, shape: tuple[int, int], count: int) -> bool:
        """Return whether each is on a diagonal of its own, all within a matrix and ``count`` values."""
        parts = zip((self.rows, self.columns, self.addresses), (*shape, count), strict=True)
        are_within = all(
            (begins >= 0).all() and (begins + self.lengths <= end).all() for begins, end in parts
        )
        offsets = self.columns - self.rows
        return are_within and bool((offsets[1:] > offsets[:-1]).all())

    def merged(self, values: Array, shape: tuple[int, int]) -> Compressed:
        """Return the entries by rows, without zeros, where the diagonals ascend."""
        places, entries = len(self.rows) * shape[1], int(self.lengths.sum())
        index_type = index_dtype(shape, entries)
        needed = places * values.itemsize + entries * (values.itemsize + index_type.itemsize)
        require_memory(needed, "diagonals side by side, and as rows")
        aligned = np.empty((len(self.rows), shape[1]), dtype=values.dtype)
        for diagonal, begin, address, length in zip(
            aligned, self.columns, self.addresses, self.lengths, strict=True
        ):
            diagonal[:begin] = 0
            diagonal[begin : begin + length] = values[address : address + length]
            diagonal[begin + length :] = 0
        boundaries, columns, found = out_of_diagonals(self.columns - self.rows, aligned, shape)
        return boundaries.astype(index_type, copy=False), columns.astype(index_type, copy=False), found


def rows_of_diagonals(
    chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int], shape: tuple[int, int]
) -> Compressed | None:
    """Return the entries of a matrix by rows, without zeros, if a mapping makes them by diagonals.

    None, too, where two parts lie on one diagonal, one reads or writes what is not there, and where diagonals
    are far shorter than the matrix is wide or high.
    """
    found = _diagonals(chain, arrays, sizes)
    if found is None:
        return None
    values, diagonals = found
    if not diagonals.are_apart_within(shape, len(values)):
        return None
    if max(len(diagonals.lengths) * shape[1], shape[0]) > 2 * int(diagonals.lengths.sum()):
        return None
    return diagonals.merged(values, shape)


def _diagonals(
    chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[Array, Diagonals] | None:
    """Return the values and the parts of diagonals that are not empty, the lower ones first."""
    match chain:
        case Chain(
            (ChainLoop() as outer, ChainLoop(position, low, high, None)),
            (row, column),
            Call(Name(values), (address,)),
        ) if values in arrays:
            variables = frozenset({position, outer.position, outer.element or position})
        case _:
            return None
    if not all(_goes_on_by_one(each, position, sizes, variables) for each in (row, column, address)):
        return None
    around = Iterations.of(replace(chain, steps=(outer,)), arrays, sizes)
    rows, columns, addresses, begins, ends = (
        around.vector(each).astype(np.int64)
        for each in (*(substitute(each, position, low) for each in (row, column, address)), low, high)
    )
    found = Diagonals(rows, columns, addresses, np.maximum(ends - begins, 0))
    order = np.argsort(columns - rows, kind="stable")
    return arrays[values], found.chosen(order[found.lengths[order] > 0])


def _goes_on_by_one(
    number: Expression, position: str, sizes: Mapping[str, int], variables: frozenset[str]
) -> bool:
    """Return whether a number is one more wherever a loop's position is."""
    found = affine(number, sizes, {}, variables)
    return found is not None and bool(np.equal(found.factors.get(position, 0), 1))
