"""Entries → arrays: packing derived from the mapping.

A level-wise mapping is turned round level by level. With the entries sorted in the order of the
levels, each level maps an entry's parent position and key to its own position:

    dense       parent * extent + key
    compressed  the rank of (parent, key) among the distinct pairs; idx holds the keys,
                pos the running count of pairs per parent
    singleton   the parent position; idx holds the keys

and the values are scattered to the last positions. Any other mapping is solved (``packing/``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.host.memory import require_memory
from storel.scalars import ScalarType
from storel.semiring import Semiring
from storel.storage.coordinates import sorted_entries
from storel.storage.entries import Entries
from storel.storage.formats.format import Format
from storel.storage.formats.properties import lengths
from storel.storage.formats.signature import Level, LevelKind, LevelSignature, level_signature
from storel.storage.packing.general import solved_arrays
from storel.syntax.nodes.declarations import FromTo
from storel.syntax.nodes.expressions import Name


def packed_arrays(
    storage: Format, entries: Entries, memory_limit: int | None
) -> tuple[dict[str, Array], ScalarType]:
    """Return a format's arrays for entries, and the type of its values.

    Integers become reals where places without an entry hold the zero of a semiring that is no integer.

    Raises FormatError if the mapping cannot be turned round or an entry does not fit it, MemoryLimitError
    before anything too large is allocated.
    """
    signature, ring = level_signature(storage), entries.ring
    if signature is None:
        entries = entries.combined()
        values = entries.values.astype(ring.with_zero(scalar_type_of(entries.values)).dtype, copy=False)
        return solved_arrays(storage, replace(entries, values=values), memory_limit), scalar_type_of(values)
    entries = _by_levels(entries, signature.order)
    builder = _Builder(entries.coordinates, entries.index_type, memory_limit)
    for number, level in enumerate(signature.levels):
        builder.add(level, entries.shape[number], _has_singletons(signature, number))
    stored = builder.scatter(entries.values, ring)
    return builder.arrays | {signature.values: stored}, scalar_type_of(stored)


def _by_levels(entries: Entries, order: tuple[int, ...]) -> Entries:
    """Return combined entries whose dimensions are in the order of the levels."""
    if order == tuple(range(len(order))):
        return entries.combined()
    shape = tuple(entries.shape[dimension] for dimension in order)
    turned = replace(entries, coordinates=entries.coordinates[list(order)], shape=shape)
    if not entries.are_combined:
        return turned.combined()
    coordinates, values, _ = sorted_entries(turned.coordinates, turned.values, shape)
    return replace(turned, coordinates=coordinates, values=values)


def all_sizes(storage: Format, shape: tuple[int, ...], arrays: Mapping[str, Array]) -> dict[str, int]:
    """Return the value of every size name of a mapping: extents, arguments, lengths of arrays."""
    if _reads_sizes(storage):
        return lengths(storage, storage.sizes(shape), arrays)
    forms = tuple((name, array.shape, array.dtype) for name, array in arrays.items())
    return dict(_sizes_by_forms(storage, shape, forms))


@lru_cache(maxsize=1024)
def _sizes_by_forms(
    storage: Format, shape: tuple[int, ...], forms: tuple[tuple[str, tuple[int, ...], np.dtype[Any]], ...]
) -> dict[str, int]:
    """Return the sizes for arrays of which only the forms matter: those of like tensors are found once."""
    arrays = {name: np.broadcast_to(np.zeros((), dtype), form) for name, form, dtype in forms}
    return lengths(storage, storage.sizes(shape), arrays)


@cache
def _reads_sizes(storage: Format) -> bool:
    """Return whether some size is not a length, but the last element of an array."""
    found = {
        length.name for each in storage.arrays for length in each.type.extents if isinstance(length, Name)
    }
    ends = [each.last for array in storage.arrays for each in array.properties if isinstance(each, FromTo)]
    return any(isinstance(last, Name) and last.name not in found for last in ends)


@dataclass
class _Builder:
    """The positions of the entries, level by level."""

    coordinates: Array
    index_type: np.dtype[Any]
    memory_limit: int | None

    def __post_init__(self) -> None:
        count = self.coordinates.shape[1]
        self.positions: Array | None = None
        self.places = 1
        self.arrays: dict[str, Array] = {}
        self._is_new = np.zeros(count, dtype=bool)
        self._is_new[:1] = True
        self._depth = 0

    def add(self, level: Level, extent: int, has_singletons: bool) -> None:
        """Extend the positions by one level."""
        keys = self.coordinates[self._depth]
        self._depth += 1
        match level.kind:
            case LevelKind.DENSE:
                positions = keys if self.positions is None else self.positions * extent + keys
                self.positions = positions.astype(np.int64, copy=False)
                self._is_new[1:] |= keys[1:] != keys[:-1]
                self.places *= extent
            case LevelKind.COMPRESSED:
                self._compress(level, keys, has_singletons)
            case LevelKind.SINGLETON:
                assert level.idx is not None
                self.arrays[level.idx] = np.ascontiguousarray(keys, self.index_type)

    def _compress(self, level: Level, keys: Array, has_singletons: bool) -> None:
        assert level.idx is not None
        self._is_new[1:] |= keys[1:] != keys[:-1]
        if has_singletons:
            self._is_new[:] = True
        parents = self.positions
        if self._is_new.all():
            distinct, positions = keys, np.arange(len(keys), dtype=np.int64)
        else:
            distinct, positions = keys[self._is_new], np.cumsum(self._is_new) - 1
            parents = None if parents is None else parents[self._is_new]
        self.arrays[level.idx] = np.ascontiguousarray(distinct, self.index_type)
        if level.pos is not None:
            remedy = "ask for a format that keeps nothing for rows without entries"
            require_memory(8 * (self.places + 1), level.pos, self.memory_limit, remedy)
            counts = np.bincount(parents, minlength=self.places) if parents is not None else [len(distinct)]
            pos = np.zeros(self.places + 1, dtype=self.index_type)
            np.cumsum(counts, out=pos[1:])
            self.arrays[level.pos] = pos
        self.positions = positions
        self.places = len(distinct)

    def scatter(self, values: Array, ring: Semiring) -> Array:
        """Return the values at their positions, and zeros where there is none."""
        if self.positions is None:
            self.positions = np.zeros(len(values), dtype=np.int64)
        if self.places == len(values):
            return np.ascontiguousarray(values)
        self._check(self.places, "the values", values.dtype.itemsize)
        dtype = ring.with_zero(scalar_type_of(values)).dtype
        stored = np.full(self.places, ring.zero, dtype) if ring.zero else np.zeros(self.places, dtype)
        stored[self.positions] = values
        return stored

    def _check(self, places: int, what: str, itemsize: int = 8) -> None:
        require_memory(places * itemsize, what, self.memory_limit)


def _has_singletons(signature: LevelSignature, number: int) -> bool:
    below = signature.levels[number + 1 :]
    return bool(below) and below[0].kind is LevelKind.SINGLETON


def full_arrays(array: Array, storage: Format) -> dict[str, Array] | None:
    """Return an array as a format stores it that has a place for each key, else None.

    It is copied only to bring it into another order. Raises MemoryLimitError if the copy would not fit: an
    array whose elements share their places may be larger than memory.
    """
    signature = level_signature(storage)
    if signature is None or not signature.is_full:
        return None
    ordered = array.transpose(signature.order)
    if not ordered.flags.c_contiguous:
        require_memory(array.nbytes, f"a copy of an array of shape {array.shape} in order")
    return {signature.values: np.ascontiguousarray(ordered).reshape(-1)}


def scalar_type_of(array: Array) -> ScalarType:
    """Return the type of the elements, which is one of storel's."""
    found = ScalarType.of(array.dtype)
    assert found is not None, array.dtype
    return found
