"""Formats whose arrays are a matrix row by row already, or by columns, told by their mappings.

    compressed rows   for i in 0:m, for p, j in idx(pos(i):pos(i + 1)): key (i, j), leaf val(p)
    … in tiles        for each of these entries a tile of r × c: key (i * r + ii, j * c + jj),
                      leaf val((p * r + ii) * c + jj), where compressed rows are tiles of 1 × 1
    … some of them    for q, i in rows(0:len), for p, j in idx(pos(q):pos(q + 1))
    listed            for p, i in row(0:len): key (i, col(p)), leaf val(p)

Such arrays are brought from one layout to another in one pass each, by SciPy where tiles are taken apart or
put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.host.memory import allowance
from storel.storage.blocks import count_unlike
from storel.storage.conversion.compressed import (
    Compressed,
    compressed,
    into_tiles,
    nonzero,
    out_of_tiles,
    out_of_tiles_of_few,
)
from storel.storage.conversion.tiles_in_rows import tiles_in_rows
from storel.storage.coordinates import index_dtype, numbers
from storel.storage.formats.format import Format
from storel.storage.formats.signature import LevelKind, LevelSignature, level_signature
from storel.syntax.nodes.declarations import FromTo, Increasing, IncreasingTuple
from storel.syntax.nodes.expressions import Number

FEW = 4
"""Of how many places in tiles at most one holds an entry, where entries are looked for."""

LISTED = (LevelKind.COMPRESSED, LevelKind.SINGLETON)
SOME_COMPRESSED = (LevelKind.COMPRESSED, LevelKind.COMPRESSED)
ALL_COMPRESSED = (LevelKind.DENSE, LevelKind.COMPRESSED)


@dataclass(frozen=True, slots=True)
class CompressedRows:
    """The names of the arrays of compressed rows of tiles; rows are columns where ``order`` is (1, 0).

    ``present`` holds the rows that have entries; None if there are boundaries for every row.
    """

    order: tuple[int, ...]
    pos: str
    idx: str
    values: str
    tile: tuple[int, int] = (1, 1)
    present: str | None = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.pos, self.idx, self.values, self.present or self.values})

    @property
    def has_padding(self) -> bool:
        """Whether there are places without an entry, which hold 0."""
        return self.tile != (1, 1)

    def is_sorted(self, storage: Format) -> bool:
        """Return whether it is declared that rows are apart, and that no key comes twice in one."""
        properties = {array.name: array.properties for array in storage.arrays}
        begins = any(isinstance(each, FromTo) and each.first == Number(0) for each in properties[self.pos])
        rises = self.present is None or Increasing() in properties[self.present]
        return begins and rises and Increasing(self.pos) in properties[self.idx]

    def read(self, arrays: Mapping[str, Array], shape: tuple[int, int], zero: Any) -> Compressed:
        """Return the rows of a matrix of this shape, without zeros."""
        boundaries, columns, values = arrays[self.pos], arrays[self.idx], arrays[self.values]
        if self.present is not None:
            sizes = np.zeros(shape[0] + 1, dtype=np.int64)
            sizes[arrays[self.present].astype(np.int64) + 1] = np.diff(boundaries)
            boundaries = np.cumsum(sizes, out=sizes)
        if self.has_padding:
            boundaries, columns, values = self._apart(boundaries, columns, values, shape, zero)
        index_type = index_dtype(shape, len(values))
        boundaries, columns = (each.astype(index_type, copy=False) for each in (boundaries, columns))
        return nonzero((boundaries, columns, values), zero, shape[1] if shape[1] % self.tile[1] else None)

    def write(self, rows: Compressed, shape: tuple[int, int]) -> dict[str, Array] | None:
        """Return the arrays for rows of a matrix of this shape; None if there may be too many tiles."""
        boundaries, columns, values = rows
        if self.has_padding:
            if (built := self._together(*rows, shape)) is None:
                return None
            boundaries, columns, values = built
        found = {self.pos: boundaries, self.idx: columns, self.values: values}
        if self.present is not None:
            present = np.flatnonzero(boundaries[1:] != boundaries[:-1])
            found[self.pos] = np.append(boundaries[present], boundaries[-1:])
            found[self.present] = present.astype(columns.dtype)
        return found

    def _apart(
        self, boundaries: Array, columns: Array, values: Array, shape: tuple[int, int], zero: Any
    ) -> Compressed:
        """Return the entries of tiles, those outside of the matrix in the last columns included."""
        tiles = values.reshape(-1, *self.tile)
        are_few = not zero and FEW * count_unlike(values, zero) < len(values)
        ends, keys, found = (out_of_tiles_of_few if are_few else out_of_tiles)(
            boundaries, columns, tiles, self._whole_tiles(shape)
        )
        end = ends[shape[0]]
        return ends[: shape[0] + 1], keys[:end], found[:end]

    def _together(
        self, boundaries: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> Compressed | None:
        """Return the tiles of entries, each with its tile's column, unless memory might not suffice."""
        at_most = values.nbytes * self.tile[0] * self.tile[1]
        if at_most > allowance(at_most):
            return None
        whole = self._whole_tiles(shape)
        ends = np.pad(boundaries, (0, whole[0] - shape[0]), mode="edge")
        found = into_tiles(ends, columns, values, whole, self.tile)
        index_type = index_dtype(shape, len(values))
        places, keys = (each.astype(index_type, copy=False) for each in found[:2])
        return places, keys, found[2].reshape(-1)

    def _whole_tiles(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the shape of all tiles together."""
        height, width = (-(-extent // side) * side for extent, side in zip(shape, self.tile, strict=True))
        return height, width


@dataclass(frozen=True, slots=True)
class ListedRows:
    """The names of the arrays that hold the row, the column and the value of each entry."""

    order: tuple[int, ...]
    rows: str
    columns: str
    values: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.rows, self.columns, self.values})

    @property
    def has_padding(self) -> bool:
        """Whether there are places without an entry."""
        return False

    def is_sorted(self, storage: Format) -> bool:
        """Return whether it is declared that rows come in order, and that no key comes twice."""
        names = IncreasingTuple((self.rows, self.columns))
        return any(names in array.properties for array in storage.arrays)

    def read(self, arrays: Mapping[str, Array], shape: tuple[int, int], zero: Any) -> Compressed:
        """Return the rows of a matrix of this shape, without zeros."""
        return compressed((arrays[self.rows], arrays[self.columns]), arrays[self.values], shape, zero)

    def write(self, rows: Compressed, shape: tuple[int, int]) -> dict[str, Array]:
        """Return the arrays for rows of a matrix of this shape."""
        boundaries, columns, values = rows
        return {self.rows: numbers(boundaries, columns.dtype), self.columns: columns, self.values: values}


RowLayout: TypeAlias = CompressedRows | ListedRows


def row_layout(storage: Format, shape: tuple[int, ...]) -> RowLayout | None:
    """Return how a format holds a matrix of this shape by rows or columns, if it does so with any matrix."""
    is_open = any(each.name not in storage.arguments for each in storage.parameters)
    if len(shape) != 2 or is_open or storage.takings:
        return None
    return _row_layout(storage, (shape[0], shape[1]))


@lru_cache(maxsize=256)
def _row_layout(storage: Format, shape: tuple[int, int]) -> RowLayout | None:
    signature = level_signature(storage)
    if signature is not None:
        found = _levels(signature)
    else:
        tiles = tiles_in_rows(storage, shape)
        found = (
            CompressedRows(tiles.order, tiles.pos, tiles.idx, tiles.values, tiles.sides) if tiles else None
        )
    return found if found is not None and len(found.names) == len(storage.arrays) else None


def _levels(signature: LevelSignature) -> RowLayout | None:
    """Return the layout of two levels, the second of which lists the columns of a row."""
    outer, inner = signature.levels
    order, kinds = signature.order, (outer.kind, inner.kind)
    if kinds == LISTED and outer.idx and inner.idx and outer.pos is None:
        return ListedRows(order, outer.idx, inner.idx, signature.values)
    if kinds == ALL_COMPRESSED and inner.pos and inner.idx:
        return CompressedRows(order, inner.pos, inner.idx, signature.values)
    if kinds == SOME_COMPRESSED and inner.pos and inner.idx and outer.pos is None:
        return CompressedRows(order, inner.pos, inner.idx, signature.values, present=outer.idx)
    return None
