"""Positions that go on by the same step along each axis, and what arrays hold there: views, not copies.

    for i in 0:m: for k in 0:d: val(k * m + i)      =  first 0, steps (1, m)
    for b in 0:z: for j in 0:4: val(at(b) * 4 + j)  =  rows of 4

Whole rows are taken, not elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from storel.arrays import Array
from storel.source import Span
from storel.storage.unpacking.affine import affine
from storel.storage.unpacking.extremes import LARGEST_INT32, Interval
from storel.storage.unpacking.vectors import ReadOutside
from storel.syntax.nodes.expressions import Expression


@dataclass(frozen=True, slots=True)
class Regular:
    """``first`` plus, for each axis, its step times the index there.

    ``lengths`` are those of the axes, or 1 where the step is 0.
    """

    first: int
    steps: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, first: int, steps: tuple[int, ...], shape: tuple[int, ...]) -> Regular:
        lengths = tuple(length if step else 1 for step, length in zip(steps, shape, strict=True))
        return cls(first, steps, lengths)

    @classmethod
    def consecutive(cls, first: int, shape: tuple[int, ...]) -> Regular:
        """Return what counts the places of a shape in the order of C."""
        steps = [1]
        for length in reversed(shape[1:]):
            steps.append(steps[-1] * length)
        return cls.of(first, tuple(reversed(steps)), shape)

    @classmethod
    def along_last(cls, first: int, shape: tuple[int, ...]) -> Regular:
        """Return what counts along the last axis."""
        return cls.of(first, (*(0 for _ in shape[1:]), 1), shape)

    @property
    def extremes(self) -> Interval:
        """The least and the greatest value, as if there were one even where an axis is empty."""
        ends = [step * max(length - 1, 0) for step, length in zip(self.steps, self.lengths, strict=True)]
        return self.first + sum(min(end, 0) for end in ends), self.first + sum(max(end, 0) for end in ends)

    def values(self) -> Array:
        """Return the positions, with an axis of length 1 where they do not change."""
        dtype = np.int32 if max(map(abs, self.extremes)) <= LARGEST_INT32 else np.int64
        found = np.full((1,) * len(self.steps), self.first, dtype=dtype)
        for axis, (step, length) in enumerate(zip(self.steps, self.lengths, strict=True)):
            if step:
                along = np.arange(0, step * length, step, dtype=dtype)
                found = found + along.reshape(-1, *(1 for _ in self.steps[axis + 1 :]))
        return found

    def with_axis(self) -> Regular:
        """Return the same positions for each index of one more axis."""
        return Regular(self.first, (*self.steps, 0), (*self.lengths, 1))

    def at(self, number: int) -> Regular:
        """Return the positions at an index of the last axis."""
        return Regular(self.first + self.steps[-1] * number, self.steps[:-1], self.lengths[:-1])


@dataclass(frozen=True, slots=True)
class Address:
    """Regular positions, counted from ``base``: 0, or an array that does not change along the last axis.

    In the second case they are regular along the last axis only.
    """

    base: Any
    regular: Regular

    def write(self, elements: Array) -> None:
        """Write the positions to an array of their shape, for one index of the last axis after the other."""
        for number in range(elements.shape[-1]):
            place = self.regular.at(number).first
            np.add(self.base[..., 0], place, out=elements[..., number], casting="same_kind")

    def read(self, name: str, array: Array, span: Span) -> Array | None:
        """Return what an array holds there, with an axis of length 1 where that does not change.

        None where it is neither a view nor made of whole rows. Raises ReadOutside, with this place, if the
        array has not all that is viewed.
        """
        regular = self.regular
        if np.ndim(self.base):
            return self._rows(array)
        if 0 in regular.lengths:
            return np.empty(regular.lengths, array.dtype)
        least, greatest = regular.extremes
        if least < 0 or greatest >= len(array):
            raise ReadOutside(name, array, least if least < 0 else max(least, len(array)), span)
        strides = [step * array.strides[0] for step in regular.steps]
        return as_strided(array[regular.first :], regular.lengths, strides, writeable=False)

    def _rows(self, array: Array) -> Array | None:
        """Return rows of an array that consists of rows of this length, if these are among them."""
        width, step = self.regular.lengths[-1], self.regular.steps[-1]
        if step != 1 or self.regular.first or width < 2 or len(array) % width or not self.base.size:
            return None
        first = self.base[..., 0]
        rows = first // width
        if (rows * width != first).any() or rows.min() < 0 or rows.max() >= len(array) // width:
            return None
        return np.take(array.reshape(-1, width), rows, axis=0)


def address_of(
    index: Expression, names: Mapping[str, Any], regular: Mapping[str, Regular], shape: tuple[int, ...]
) -> Address | None:
    """Return an affine expression of regular positions as one of them; None for any other expression.

    ``names`` are all other names, with as many axes as the shape where they are no numbers, the last
    one of length 1.
    """
    found = affine(index, names, {}, frozenset(regular))
    if found is None or any(map(np.ndim, found.factors.values())):
        return None
    first, steps = 0, [0] * len(shape)
    for name, factor in found.factors.items():
        first += int(factor) * regular[name].first
        for axis, step in enumerate(regular[name].steps):
            steps[axis] += int(factor) * step
    if np.ndim(found.constant) == 0:
        return Address(0, Regular.of(first + int(found.constant), tuple(steps), shape))
    outer = Regular.of(first, (*steps[:-1], 0), shape)
    inner = Regular.of(0, (*(0 for _ in shape[1:]), steps[-1]), shape)
    return Address(found.constant + outer.values(), inner)
