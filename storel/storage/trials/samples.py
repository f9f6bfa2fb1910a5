"""Tensors to try a format on, and what fits of them.

Which tensors a format holds is written nowhere but in its mapping, so it is found by packing. Where the
error says which entries do not fit, the others are tried again; else what is refused is halved until it is
one group. A group is entries that are there together or not at all, since many formats hold an entry only
with others: its mirror image, the rest of its diagonal, one in each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TypeAlias

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError
from storel.storage.formats.format import Format
from storel.storage.packing.selection import EntriesDoNotFit
from storel.storage.tensor import Tensor, pack

LARGEST_VALUE = 9
"""Values are small integers, which every scalar type but bool holds exactly."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Entries of a tensor: rank × count coordinates, values, and the number of each entry's group."""

    shape: tuple[int, ...]
    coordinates: Array
    values: Array
    groups: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def group_count(self) -> int:
        return int(self.groups.max(initial=-1)) + 1

    def part(self, is_kept: Array) -> Sample:
        """Return the entries of the groups for which ``is_kept`` holds; they keep their numbers."""
        kept = is_kept[self.groups]
        return Sample(self.shape, self.coordinates[:, kept], self.values[kept], self.groups[kept])

    def groups_at(self, keys: Array) -> Array:
        """Return the groups of the entries with some keys."""
        places, wanted = (np.ravel_multi_index(tuple(each), self.shape) for each in (self.coordinates, keys))
        return self.groups[np.isin(places, wanted)]

    def separate(self) -> Sample:
        """Return the same entries, each a group of its own."""
        return replace(self, groups=np.arange(len(self)))

    def packed(self, storage: Format) -> Tensor:
        """Store the entries; raises FormatError or DataError if the format does not hold them."""
        return pack(storage, self.coordinates, self.values, self.shape)

    @property
    def content(self) -> bytes:
        """What is the same of no two samples of a shape and a type that differ."""
        return b"".join(each.tobytes() for each in (self.coordinates, self.values, self.groups))


@dataclass(frozen=True, slots=True)
class Fit:
    """What a format holds of a sample: a part, or None if not even a tensor without entries of its shape.

    ``refusal`` says why it is not the whole.
    """

    part: Sample | None
    refusal: FormatError | DataError | None


def fitting(storage: Format, sample: Sample) -> Fit:
    """Return what fits of a sample, as many groups as are found."""
    refusal = _refusal(storage, sample)
    if refusal is None:
        return Fit(sample, None)
    kept = np.zeros(sample.group_count, dtype=bool)
    if (objection := _refusal(storage, sample.part(kept))) is not None:
        return Fit(None, objection)  # what speaks against no entries at all is not about some of them
    pending = _parts(sample, np.arange(sample.group_count), refusal)
    while pending:
        tried = pending.pop()
        kept[tried] = True
        refused = _refusal(storage, sample.part(kept))
        if refused is not None:
            kept[tried] = False
            pending += _parts(sample, tried, refused)
    return Fit(sample.part(kept), refusal)


def best_fit(storage: Format, samples: Iterable[Sample]) -> Sample | None:
    """Return the first sample that fits as a whole, else the part with the most groups; None if none does."""
    others: list[Sample] = []
    for sample in filter(len, samples):
        if _refusal(storage, sample) is None:
            return sample
        others.append(sample)
    parts = [
        part for part in (fitting(storage, each).part for each in others) if part is not None and len(part)
    ]
    return max(parts, key=lambda part: len(np.unique(part.groups)), default=None)


def _refusal(storage: Format, sample: Sample) -> FormatError | DataError | None:
    try:
        sample.packed(storage)
    except (FormatError, DataError) as error:
        return error
    return None


def _parts(sample: Sample, groups: Array, refusal: FormatError | DataError) -> list[Array]:
    """Return what to try of several groups that are refused, the part to try first last.

    That is what the refusal leaves, if it says which entries do not fit, else both halves.
    """
    if isinstance(refusal, EntriesDoNotFit):
        fitting = np.setdiff1d(groups, sample.groups_at(refusal.keys))
        if 0 < len(fitting) < len(groups):
            return [fitting]
    middle = len(groups) // 2
    return [groups[middle:], groups[:middle]] if middle else []


def places(shape: tuple[int, ...]) -> Array:
    """Return the coordinates of every place, rank × count."""
    return np.indices(shape).reshape(len(shape), math.prod(shape))


def random_entries(random: np.random.Generator, shape: tuple[int, ...], density: float) -> Sample:
    """Return entries that are there, each by itself, with a probability."""
    is_chosen = random.random(math.prod(shape)) < density
    coordinates = places(shape)[:, is_chosen]
    count = coordinates.shape[1]
    signs = random.choice([-1.0, 1.0], count)
    values = signs * random.integers(1, LARGEST_VALUE, count, endpoint=True)
    return Sample(shape, coordinates, values, np.arange(count))


Structure: TypeAlias = Callable[[Sample], Sample]


def structures(shape: tuple[int, ...]) -> Iterator[tuple[str, Structure]]:
    """Yield how entries may depend on each other: functions from independent ones to such."""
    yield "any entries", lambda sample: sample
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        yield "with mirror images", _mirrored
        yield "with negative mirror images", _negated
    if len(shape) >= 3 and len(set(shape)) == 1:
        yield "the same in any order of keys", _permuted
    if len(shape) == 2:
        yield "diagonals of one value", _shifted
        yield "one in each row, all 1", _one_in_each_row
    if shape:
        yield "any entries, all 1", lambda sample: replace(sample, values=np.ones(len(sample)))
        yield "every place, one value", _filled


def _filled(sample: Sample) -> Sample:
    """Return all places with one value, unless the sample is empty."""
    coordinates = places(sample.shape) if len(sample) else sample.coordinates
    count = coordinates.shape[1]
    return Sample(
        sample.shape, coordinates, np.repeat(sample.values[:1], count), np.zeros(count, dtype=np.int64)
    )


def _mirrored(sample: Sample) -> Sample:
    row, column = sample.coordinates[-2:]
    return _with_images(sample.part(row >= column), 1)


def _negated(sample: Sample) -> Sample:
    row, column = sample.coordinates[-2:]
    return _with_images(sample.part(row > column), -1)


def _with_images(half: Sample, sign: int) -> Sample:
    """Return entries with their images at the diagonal, the values multiplied by ``sign``."""
    groups = np.arange(len(half))
    has_image = half.coordinates[-1] != half.coordinates[-2]
    images = half.coordinates[:, has_image]
    images[[-2, -1]] = images[[-1, -2]]
    return Sample(
        half.shape,
        np.concatenate((half.coordinates, images), axis=1),
        np.concatenate((half.values, sign * half.values[has_image])),
        np.concatenate((groups, groups[has_image])),
    )


def _permuted(sample: Sample) -> Sample:
    """Return entries whose keys descend, each with its value at the same keys in any other order."""
    ordered = sample.part(np.all(np.diff(sample.coordinates, axis=0) <= 0, axis=0))
    orders = [list(order) for order in permutations(range(len(sample.shape)))]
    images = np.concatenate([ordered.coordinates[order] for order in orders], axis=1)
    coordinates, first = np.unique(images, axis=1, return_index=True)
    groups = first % max(len(ordered), 1)
    return Sample(sample.shape, coordinates, ordered.values[groups], groups)


def _shifted(sample: Sample) -> Sample:
    """Return all places of the diagonals that have an entry, with the value of the first."""
    row, column = sample.coordinates
    offsets, first = np.unique(column - row, return_index=True)
    coordinates = places(sample.shape)
    diagonals = coordinates[1] - coordinates[0]
    is_chosen = np.isin(diagonals, offsets)
    groups = np.searchsorted(offsets, diagonals[is_chosen])
    return Sample(sample.shape, coordinates[:, is_chosen], sample.values[first][groups], groups)


def _one_in_each_row(sample: Sample) -> Sample:
    """Return one entry in each row, no two in a column while there are columns; none of an empty sample."""
    rows, columns = sample.shape
    count = rows if len(sample) else 0
    shuffled = np.random.default_rng(len(sample)).permutation(max(sample.shape))[:count] % max(columns, 1)
    keys = np.array([np.arange(count), shuffled])
    return Sample(sample.shape, keys, np.ones(count), np.zeros(count, dtype=np.int64))
