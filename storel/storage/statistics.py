"""What there is to know about the entries of a stored tensor: counted when asked for, then kept.

Where the format is a nest of dense and compressed levels whose keys differ, the entries are not listed:
those below position p of a level lie between two positions of the next level, and so on down to the
values. So the degrees of a mode are differences of ``pos`` arrays, summed up by the keys of its level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from storel.arrays import Array
from storel.degrees import Degrees, DegreeVector, is_countable, summarized
from storel.semiring import SEMIRINGS
from storel.storage.blocks import is_all_finite
from storel.storage.formats.creation import creation_of
from storel.storage.formats.signature import Level, LevelKind, LevelSignature
from storel.storage.formats.sizes import evaluate_size
from storel.storage.stored import Stored
from storel.storage.summary import ModeSummary, Summary
from storel.syntax.nodes.declarations import Ascending, FromTo, Increasing


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics of one tensor; entries are values that are not the semiring's zero."""

    tensor: Stored

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The dimensions in the order that the entries are sorted by."""
        return tuple(range(self.tensor.rank)) if self._levels is None else self._levels.order

    @cached_property
    def nnz(self) -> int:
        return self.tensor.nnz

    @cached_property
    def degrees(self) -> tuple[DegreeVector | None, ...]:
        """How many entries each key of each dimension has; None where keys far outnumber the entries."""
        return tuple(self._degree_vector(mode) for mode in range(self.tensor.rank))

    @cached_property
    def prefixes(self) -> tuple[int, ...]:
        """The number of distinct keys in the first dimension of ``order``, in the first two, …"""
        if self._levels is not None:
            return tuple(int(np.count_nonzero(self._below(number))) for number in range(self.tensor.rank))
        coordinates, values = self.tensor.to_coo()
        is_new = np.zeros(len(values), dtype=bool)
        is_new[:1] = True
        found: list[int] = []
        for axis in coordinates:
            is_new[1:] |= axis[1:] != axis[:-1]
            found.append(int(np.count_nonzero(is_new)))
        return tuple(found)

    @cached_property
    def modes(self) -> tuple[ModeSummary, ...]:
        """The non-empty slices and the degrees of each dimension, with the first and the last key."""
        return tuple(self._mode(number) for number in range(self.tensor.rank))

    @cached_property
    def bandwidth(self) -> tuple[int, int] | None:
        """How far entries of a matrix lie below and above the diagonal; None for other tensors."""
        if self.tensor.rank != 2:
            return None
        if self.nnz == 0:
            return 0, 0
        rows, columns = self.tensor.to_coo()[0]
        distance = columns - rows
        return max(0, -int(distance.min())), max(0, int(distance.max()))

    @cached_property
    def is_symmetric(self) -> bool:
        """Return whether a matrix equals its transpose; what is cheap to see is looked at first."""
        bandwidth = self.bandwidth
        if bandwidth is None or len(set(self.tensor.shape)) != 1 or bandwidth[0] != bandwidth[1]:
            return False
        rows, columns = self.degrees
        if rows is not None and columns is not None and not np.array_equal(rows.values, columns.values):
            return False
        (i, j), values = self.tensor.to_coo()
        turned = np.lexsort((i, j))
        return all(np.array_equal(a, b[turned]) for a, b in ((i, j), (j, i), (values, values)))

    @cached_property
    def is_finite(self) -> bool:
        """Return whether no entry is inf or NaN."""
        return not self.tensor.type.is_real or is_all_finite(self._values)

    @cached_property
    def summary(self) -> Summary:
        """Everything that can be written down."""
        tensor = self.tensor
        return Summary(
            tensor.shape, tensor.type, tensor.format, tensor.semiring, self.nnz, self.order, self.prefixes,
            self.modes, self.bandwidth, self.is_symmetric, self.is_finite, tensor.is_closed,
            creation_of(tensor.storage),
        )  # fmt: skip

    @cached_property
    def _levels(self) -> LevelSignature | None:
        """The levels, if each position of theirs stands for different keys."""
        signature = self.tensor.signature
        if signature is None or not all(_is_exact(self.tensor, level) for level in signature.levels):
            return None
        return signature

    @cached_property
    def _values(self) -> Array:
        return self.tensor.to_coo()[1] if self._levels is None else self.tensor.arrays[self._levels.values]

    @cached_property
    def _entries_before(self) -> Array | None:
        """The number of entries before each stored value; None where all of them are entries."""
        zero = SEMIRINGS[self.tensor.semiring].zero
        is_entry = self._values != zero
        if is_entry.all():
            return None
        return np.concatenate(([0], np.cumsum(is_entry)))

    def _boundaries(self) -> Iterator[tuple[Level, int]]:
        """Yield each level with the number of its positions."""
        assert self._levels is not None
        positions = 1
        for level in self._levels.levels:
            if level.idx is None:
                positions *= self.tensor.sizes[level.extent]
            else:
                positions = len(self.tensor.arrays[level.idx])
            yield level, positions

    def _below(self, number: int) -> Array:
        """Return the number of entries below each position of a level."""
        assert self._levels is not None
        _, positions = list(self._boundaries())[number]
        places = np.arange(positions + 1)
        for level in self._levels.levels[number + 1 :]:
            if level.pos is not None:
                places = self.tensor.arrays[level.pos][places]
            else:
                places = places * self.tensor.sizes[level.extent]
        return np.diff(places if self._entries_before is None else self._entries_before[places])

    def _degree_vector(self, mode: int) -> DegreeVector | None:
        is_listed = self._levels is None or self._level(mode).idx is not None
        if is_listed and not is_countable(self.tensor.shape[mode], len(self._values)):
            return None
        return DegreeVector(lambda: self._degrees(mode))

    def _level(self, mode: int) -> Level:
        assert self._levels is not None
        return self._levels.levels[self._levels.order.index(mode)]

    def _degrees(self, mode: int) -> Array:
        extent = self.tensor.shape[mode]
        keys, weights = self._keys(mode)
        if keys is None:
            return weights.reshape(-1, extent).sum(axis=0) if extent else np.zeros(0, dtype=np.int64)
        if (weights == 1).all():
            return np.bincount(keys, minlength=extent)
        return np.bincount(keys, weights=weights, minlength=extent).astype(np.int64)

    def _keys(self, mode: int) -> tuple[Array | None, Array]:
        """Return keys of a dimension and the entries that each stands for; None for all keys, in turn."""
        if self._levels is None:
            keys = self.tensor.to_coo()[0][mode]
            return keys, np.ones(1, dtype=np.int64)
        idx = self._level(mode).idx
        keys = None if idx is None else self.tensor.arrays[idx]
        return keys, self._below(self._levels.order.index(mode))

    def _mode(self, mode: int) -> ModeSummary:
        extent, vector = self.tensor.shape[mode], self.degrees[mode]
        if vector is not None:
            keys = np.flatnonzero(vector.values)
            return _mode_summary(keys, vector.summary)
        # So few entries among so many keys: sorting them is cheap.
        found, weights = self._keys(mode)
        assert found is not None
        keys, places = np.unique(found, return_inverse=True)
        counts = np.bincount(places, weights=np.broadcast_to(weights, found.shape)).astype(np.int64)
        return _mode_summary(keys[counts > 0], summarized(counts, extent))


def _mode_summary(keys: Array, degrees: Degrees) -> ModeSummary:
    if len(keys) == 0:
        return ModeSummary(degrees, None, None)
    return ModeSummary(degrees, int(keys[0]), int(keys[-1]))


def _is_exact(tensor: Stored, level: Level) -> bool:
    """Return whether no two positions of a level stand for the same keys, and all are below the one above."""
    if level.kind is LevelKind.DENSE:
        return True
    declared = {each.name: each for each in tensor.storage.arrays}
    if level.kind is LevelKind.SINGLETON or level.idx is None:
        return False
    increasing = next((p for p in declared[level.idx].properties if isinstance(p, Increasing)), None)
    if level.pos is None:
        return increasing is not None
    properties = declared[level.pos].properties
    ends = [
        (evaluate_size(p.first, tensor.sizes), evaluate_size(p.last, tensor.sizes))
        for p in properties
        if isinstance(p, FromTo)
    ]
    is_partition = Ascending() in properties and ends == [(0, len(tensor.arrays[level.idx]))]
    return is_partition and increasing is not None and increasing.within in (None, level.pos)
