"""Entries of a tensor as lists of keys and values, and the part of them that a format holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from storel.arrays import Array

FILLED = 5_000_000
"""Places beyond which what has an entry everywhere is not tried."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Values at distinct keys: rank × count ``keys`` within ``shape``."""

    shape: tuple[int, ...]
    keys: Array
    values: Array

    @property
    def places(self) -> Array:
        """The number of each entry's place, row by row."""
        return numbered(self.shape, self.keys)

    def where(self, is_kept: Array) -> Entries:
        return Entries(self.shape, self.keys[:, is_kept], self.values[is_kept])

    def within(self, shape: tuple[int, ...]) -> Entries:
        """Return the leading part of another shape."""
        is_inside = np.less(self.keys, np.array(shape)[:, None]).all(axis=0)
        return replace(self.where(np.asarray(is_inside)), shape=shape)

    def with_values(self, values: Array) -> Entries:
        return replace(self, values=values)


def numbered(shape: tuple[int, ...], keys: Array) -> Array:
    """Return the numbers of places in row-major order; a scalar has place 0."""
    numbers = np.zeros(keys.shape[1], np.int64)
    for extent, axis in zip(shape, keys, strict=True):
        numbers = numbers * extent + axis
    return numbers


def summed(shape: tuple[int, ...], keys: Array, values: Array) -> Entries:
    """Return entries with the values at equal keys added up, as NumPy adds numbers; bools are counted."""
    numbers = values.astype(np.int64) if values.dtype == np.bool_ else values
    _, first, inverse = np.unique(numbered(shape, keys), return_index=True, return_inverse=True)
    sums = np.zeros(len(first), numbers.dtype)
    np.add.at(sums, inverse, numbers)
    return Entries(shape, keys[:, first], sums)


def first_difference(found: Entries, expected: Entries, tolerance: float) -> str | None:
    """Return where two tensors differ by more than ``tolerance``; a missing entry is zero."""
    if found.shape != expected.shape:
        return f"shape {found.shape} instead of {expected.shape}"
    pairs = (found.places, expected.places)
    places, inverse = np.unique(np.concatenate(pairs), return_inverse=True)
    both = np.zeros((2, len(places)), np.longdouble)
    np.add.at(both[0], inverse[: len(pairs[0])], found.values)
    np.add.at(both[1], inverse[len(pairs[0]) :], expected.values)
    # The negation finds what is no number, too.
    is_wrong = ~(abs(both[0] - both[1]) <= tolerance)
    if not is_wrong.any():
        return None
    first = int(np.argmax(is_wrong))
    key = tuple(int(each) for each in np.unravel_index(places[first], found.shape)) if found.shape else ()
    return f"{key}: {both[0, first]:g} instead of {both[1, first]:g}, one of {is_wrong.sum()}"


Part: TypeAlias = Callable[[Entries], Entries]


def near_the_diagonal(lower: int, upper: int) -> Part:
    return lambda given: given.where(
        (given.keys[1] - given.keys[0] >= -lower) & (given.keys[1] - given.keys[0] <= upper)
    )


def _some_diagonals(given: Entries) -> Entries:
    offsets = given.keys[1] - given.keys[0]
    return given.where((offsets % 7 == 0) & (abs(offsets) <= 70))


def _upper(given: Entries) -> Entries:
    return given.where(given.keys[1] >= given.keys[0])


def _lower(given: Entries) -> Entries:
    return given.where(given.keys[1] <= given.keys[0])


def _symmetric(given: Entries) -> Entries:
    half, below = _lower(given), given.where(given.keys[1] < given.keys[0])
    return _joined(half, below.keys[::-1], below.values)


def _skew(given: Entries) -> Entries:
    below = given.where(given.keys[1] < given.keys[0])
    return _joined(below, below.keys[::-1], -below.values)


def _joined(given: Entries, keys: Array, values: Array) -> Entries:
    joined = np.concatenate((given.values, values))
    return Entries(given.shape, np.concatenate((given.keys, keys), axis=1), joined)


def _blocks(given: Entries) -> Entries:
    return given.where(given.keys[0] // 4 == given.keys[1] // 4)


def _alike(given: Entries) -> Entries:
    return replace(given, values=np.full_like(given.values, 3))


def _everywhere(given: Entries, value: Callable[[Array], Array]) -> Entries:
    count = int(np.prod(given.shape))
    if count > FILLED:
        raise MemoryError
    keys = np.indices(given.shape).reshape(len(given.shape), count)
    return Entries(given.shape, keys, value(keys).astype(given.values.dtype))


def _threes(keys: Array) -> Array:
    return np.full(keys.shape[1], 3)


def _chosen_columns(given: Entries, columns: Callable[[Array], Array]) -> Entries:
    """Return one entry in each row, all alike; without columns there can be no rows."""
    shape = given.shape if given.shape[1] else (0, 0)
    rows = np.arange(shape[0])
    keys = np.array([rows, columns(rows) % max(shape[1], 1)])
    return Entries(shape, keys, np.full(len(rows), 3, given.values.dtype))


def _main_diagonal(given: Entries) -> Entries:
    rows = np.arange(min(given.shape))
    return Entries(given.shape, np.array([rows, rows]), np.full(len(rows), 3, given.values.dtype))


def _runs(given: Entries) -> Entries:
    return replace(given, values=np.where(given.keys[0] % 2, 1, 2).astype(given.values.dtype))


PARTS: Mapping[str, Part] = {
    "band": near_the_diagonal(3, 5),
    "diagonal": near_the_diagonal(0, 0),
    "tridiagonal": near_the_diagonal(1, 1),
    "dia": _some_diagonals,
    "upper_triangular": _upper,
    "lower_triangular": _lower,
    "skyline": _lower,
    "symmetric": _symmetric,
    "skew": _skew,
    "block_diagonal": _blocks,
    "toeplitz": lambda given: _everywhere(given, lambda keys: (keys[1] - keys[0]) % 5),
    "constant": lambda given: _everywhere(given, _threes),
    "permutation": lambda given: _chosen_columns(given, lambda rows: rows + 2),
    "one_hot": lambda given: _chosen_columns(given, lambda rows: rows * 5 // 2),
    "identity": _main_diagonal,
    "pattern": _alike,
    "rle": _runs,
}
"""What formats hold of any entries, where it is not all of them. The keys of zeros may be among it."""

WITHOUT_BOOLS = frozenset({"skew", "low_rank", "kronecker"})
"""Formats that hold no bools: these have no negatives, and sums of their products are numbers."""
