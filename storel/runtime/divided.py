"""Kernels whose loop is run in parts, a thread for each, and the parts put together.

Parts of a sparse result are written one behind the other into the same buffers, with room for what each may
have at most; they are then moved together. So no more memory is reserved than one thread needs, and
nothing is moved where the bound is exact, as it is where the result has its operand's pattern.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import NamedTuple
from weakref import ref

import numpy as np

from storel.arrays import Array
from storel.loops.lowering.division import PART_HIGH, PART_LOW
from storel.loops.nodes import Allocation, Join
from storel.runtime import buffers, pool
from storel.runtime.kernel import NOTHING, CompiledKernel, Input, Scalars, allowance

UPDATES_PER_PLACE = 4
"""Parts have results of their own where each place of them takes at least so many steps of all the work."""

LEAST_WORK = 1 << 15
"""Steps below which a phase is not worth waking a thread for."""

LEAST_PIECE = 1 << 20
"""Steps that the work of a part has at least where there are more parts than threads."""

MOST_PIECES = 8
"""How many parts there are for each thread at most."""


def _multiply(one: Array, other: Array, *, out: Array) -> None:
    """Multiply; a zero annihilates even inf and NaN."""
    is_zero = (one == 0) | (other == 0)
    np.multiply(one, other, out=out)
    out[is_zero] = 0


_COMBINING: dict[str, Callable[..., object]] = {
    "add": np.add,
    "multiply": _multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}


class _Division(NamedTuple):
    """The ends of the parts, and what they were found for: the numbers, and the arrays that were read.

    ``sizes`` says for each part how many elements each allocation needs, ``needed`` how many bytes all of
    them; there are none where it does not pay to compute the parts apart.
    """

    numbers: bytes
    arrays: list[ref[Input]]
    ends: list[tuple[int, int]]
    sizes: list[list[int]]
    needed: int

    def is_for(self, numbers: bytes, arrays: list[Input]) -> bool:
        """Return whether it was found for these."""
        known = [each() for each in self.arrays]
        return self.numbers == numbers and all(map(operator.is_, known, arrays))


class DividedKernel:
    """A kernel that is run by several threads, where its work and its memory are worth it.

    How it is divided is found once for the same numbers and tensors.
    """

    def __init__(self, kernel: CompiledKernel, threads: int) -> None:
        self.kernel = kernel
        self._threads = threads
        self._last: _Division | None = None

    def run(
        self,
        scalars: Scalars,
        inputs: Mapping[str, Input],
        memory_limit: int | None = None,
        begun: Mapping[str, Array] = NOTHING,
    ) -> dict[str, Array]:
        """Return the outputs by buffer name, as a ``CompiledKernel`` does."""
        addresses = self.kernel.addresses(inputs)
        division = self._division(scalars, inputs, addresses)
        if not self._fits(division, memory_limit, begun):
            whole = _of_part(scalars, division.ends[0][0], division.ends[-1][1])
            return self.kernel.run(whole, inputs, memory_limit, begun)
        regions = [
            _Region(allocation, [size[allocation.slot] for size in division.sizes], begun, self._threads)
            for allocation in self.kernel.kernel.allocations
        ]
        parts = [_of_part(scalars, low, high) for low, high in division.ends]
        arrays = list(zip(*(region.parts for region in regions), strict=True))
        lengths = self.kernel.compute_parts(parts, addresses, arrays, self._threads)
        outputs = [region for region in regions if region.allocation.is_output]
        combine = _COMBINING[self.kernel.kernel.operator]
        joined = pool.run_all([partial(region.joined, lengths, combine) for region in outputs])
        return {region.allocation.buffer.name: array for region, array in zip(outputs, joined, strict=True)}

    def _fits(self, division: _Division, limit: int | None, begun: Mapping[str, Array]) -> bool:
        """Return whether it pays to compute the parts apart, and there is the memory for it."""
        needed = division.needed
        return bool(division.sizes) and needed <= (allowance(needed, begun) if limit is None else limit)

    def _division(self, scalars: Scalars, inputs: Mapping[str, Input], addresses: list[int]) -> _Division:
        """Return how the kernel is divided for these numbers and arrays."""
        numbers = self.kernel.numbers(scalars)
        arrays = [inputs[name] for name in self.kernel.measured]
        known = self._last
        if known is not None and known.is_for(numbers, arrays):
            return known
        ends, work = self.kernel.divide(scalars, addresses, self._threads)
        pieces = min(MOST_PIECES, work // (self._threads * LEAST_PIECE))
        if pieces > 1 and self._may_be_pieces:
            ends, _ = self.kernel.divide(scalars, addresses, pieces * self._threads)
        sizes: list[list[int]] = []
        if len(ends) > 1 and work >= LEAST_WORK:
            parts = [_of_part(scalars, low, high) for low, high in ends]
            sizes = self.kernel.bound_parts(parts, addresses, self._threads)
            sizes = sizes if self._is_worth(sizes, work) else []
        found = _Division(numbers, [ref(each) for each in arrays], ends, sizes, self._needed(sizes))
        self._last = found
        return found

    @property
    def _may_be_pieces(self) -> bool:
        """Whether parts take no memory of their own, and need not be put together."""
        return all(allocation.join is Join.SHARED for allocation in self.kernel.kernel.allocations)

    def _is_worth(self, sizes: list[list[int]], work: int) -> bool:
        """Return whether there is more to compute than to combine."""
        places = (
            sum(size[allocation.slot] for size in sizes)
            for allocation in self.kernel.kernel.allocations
            if allocation.join is Join.COMBINED
        )
        return all(count * UPDATES_PER_PLACE <= work for count in places)

    def _needed(self, sizes: list[list[int]]) -> int:
        """Return the bytes of all that the parts allocate."""
        needed = 0
        for allocation in self.kernel.kernel.allocations:
            counts = [size[allocation.slot] for size in sizes]
            count = sum(counts[:1] if allocation.join is Join.SHARED else counts)
            needed += count * allocation.buffer.type.itemsize
        return needed


def _of_part(scalars: Scalars, low: int, high: int) -> Scalars:
    """Return the scalars of the part from ``low`` to ``high``."""
    return {**scalars, PART_LOW.name: low, PART_HIGH.name: high}


class _Region:
    """The memory of an allocation: an array for each part, one behind the other unless they share one.

    What was ``begun`` is shared, or that of the first part.
    """

    def __init__(
        self, allocation: Allocation, counts: list[int], begun: Mapping[str, Array], threads: int
    ) -> None:
        self.allocation = allocation
        first = begun.get(allocation.buffer.name)
        if allocation.join is Join.SHARED:
            self._base = buffers.allocate(allocation, counts[0], threads) if first is None else first
            self.parts = [self._base] * len(counts)
            return
        if first is not None:
            self.parts = [first, *(buffers.allocate(allocation, count) for count in counts[1:])]
            return
        self._base = buffers.allocate(allocation, sum(counts), threads)
        starts = (0, *accumulate(counts))
        self.parts = [self._base[start : start + count] for start, count in zip(starts, counts, strict=False)]

    def joined(self, lengths: list[list[int]], combine: Callable[..., object]) -> Array:
        """Return the parts put together; ``lengths`` are what each part used."""
        match self.allocation.join:
            case Join.SHARED | None:
                return self._base
            case Join.COMBINED:
                return self._reduced(combine)
            case Join.ADDED:
                return self._reduced(np.add)
            case Join.APPENDED:
                return self._appended(lengths)
            case Join.SHIFTED:
                return self._shifted(lengths)

    def _reduced(self, combine: Callable[..., object]) -> Array:
        first = self.parts[0]
        with np.errstate(all="ignore"):  # kernels say nothing of inf and NaN either
            for part in self.parts[1:]:
                combine(first, part, out=first)
        return first

    def _appended(self, lengths: list[list[int]]) -> Array:
        assert self.allocation.used is not None
        end = 0
        for part, length in zip(self.parts, lengths, strict=True):
            used = length[self.allocation.used]
            if self._base[end : end + used].ctypes.data != part.ctypes.data:
                self._base[end : end + used] = part[:used]
            end += used
        return buffers.trim(self._base, end)

    def _shifted(self, lengths: list[list[int]]) -> Array:
        """Append arrays of positions: each begins where the one before ends, and counts on from there."""
        assert self.allocation.used is not None and self.allocation.into is not None
        end, shift = 0, 0
        for part, length in zip(self.parts, lengths, strict=True):
            used = length[self.allocation.used]
            np.add(part[:used], shift, out=self._base[end : end + used])
            end += used - 1
            shift += length[self.allocation.into]
        return buffers.trim(self._base, end + 1)
