"""Kernels that compute a result in parts, a thread for each, and the parts put together.

Parts of a sparse result are written one behind the other into the same buffers, with room for what each may
have at most; they are then moved together. So no more memory is reserved than one thread needs, and
nothing is moved where the bound is exact, as it is where the result has its operand's pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from storel.arrays import Array
from storel.loops.lowering.division import PART_HIGH, PART_LOW
from storel.loops.nodes import Allocation, Join
from storel.runtime import buffers, pool
from storel.runtime.contraction import ContractionKernel
from storel.runtime.kernel import NOTHING, CompiledKernel, Input, allowance, located
from storel.semiring import Scalar

Arguments: TypeAlias = Mapping[str, Scalar]

UPDATES_PER_PLACE = 4
"""Parts have results of their own where each place of them takes at least so many steps of all the work."""

LEAST_WORK = 1 << 15
"""Steps below which a phase is not worth waking a thread for."""


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


@dataclass(frozen=True, slots=True)
class Step:
    """A phase of a plan: it makes the result, or outputs that are inputs of later steps, by ``fills``.

    One that ``continues`` adds to the output of the step before it that fills the same.
    """

    kernel: CompiledKernel | ContractionKernel
    fills: tuple[tuple[str, str], ...]
    continues: bool


@dataclass(frozen=True)
class ParallelKernel:
    """The kernels of a plan's phases, in their order.

    Where a contraction is not right for its inputs, all is computed ``otherwise``: the tables that it reads
    may hold quotients by zero that occur nowhere in the plan. That kernel is compiled once it is needed.
    """

    steps: tuple[Step, ...]
    threads: int
    otherwise: Callable[[], CompiledKernel] | None = None

    def __call__(
        self,
        scalars: Arguments,
        inputs: Mapping[str, Array],
        memory_limit: int | None = None,
    ) -> dict[str, Array]:
        """Return the outputs by buffer name, as a ``CompiledKernel`` does."""
        return self.run(scalars, located(inputs), memory_limit)

    def run(
        self, scalars: Arguments, inputs: Mapping[str, Input], memory_limit: int | None = None
    ) -> dict[str, Array]:
        """Do the same with arrays whose addresses are known."""
        given = dict(inputs)
        result: Mapping[str, Array] = NOTHING
        store: Mapping[str, Array] = NOTHING
        for step in self.steps:
            is_right = not isinstance(step.kernel, ContractionKernel) or step.kernel.is_right(given)
            if not is_right and self.otherwise is not None:
                return self.otherwise().run(scalars, inputs, memory_limit)
            if not step.fills:
                begun = result if step.continues else NOTHING
                result = self._run(step.kernel, scalars, given, memory_limit, begun)
            else:
                begun = store if step.continues else NOTHING
                store = self._run(step.kernel, scalars, given, memory_limit, begun)
                given.update((name, Input.of(store[output])) for output, name in step.fills)
        return dict(result)

    def _run(
        self,
        phase: CompiledKernel | ContractionKernel,
        scalars: Arguments,
        inputs: Mapping[str, Input],
        limit: int | None,
        begun: Mapping[str, Array],
    ) -> Mapping[str, Array]:
        """Return the outputs of a phase, which are those that were ``begun``, if any."""
        if isinstance(phase, ContractionKernel) or phase.kernel.divide is None:
            return phase.run(scalars, inputs, limit, begun)
        addresses = phase.addresses(inputs)
        ends, work = phase.divide(scalars, inputs, self.threads)
        whole = {**scalars, PART_LOW.name: ends[0][0], PART_HIGH.name: ends[-1][1]}
        if len(ends) == 1 or work < LEAST_WORK:
            return phase.run(whole, inputs, limit, begun)
        parts = [{**scalars, PART_LOW.name: low, PART_HIGH.name: high} for low, high in ends]
        sizes = phase.bound_parts(parts, addresses)
        if not self._fits(phase, sizes, work, limit, begun):
            return phase.run(whole, inputs, limit, begun)
        regions = [
            _Region(allocation, [size[allocation.slot] for size in sizes], begun.get(allocation.buffer.name))
            for allocation in phase.kernel.allocations
        ]
        arrays = [[region.parts[number] for region in regions] for number in range(len(parts))]
        lengths = phase.compute_parts(parts, addresses, arrays)
        outputs = [region for region in regions if region.allocation.is_output]
        operator = phase.kernel.operator
        joined = pool.run_all([partial(region.joined, lengths, operator) for region in outputs])
        return {region.allocation.buffer.name: array for region, array in zip(outputs, joined, strict=True)}

    def _fits(
        self,
        phase: CompiledKernel,
        sizes: list[list[int]],
        work: int,
        limit: int | None,
        begun: Mapping[str, Array],
    ) -> bool:
        """Return whether it pays to compute the parts apart, and there is the memory for it."""
        needed = 0
        for allocation in phase.kernel.allocations:
            counts = [size[allocation.slot] for size in sizes]
            if allocation.join is Join.COMBINED and sum(counts) * UPDATES_PER_PLACE > work:
                return False
            count = counts[0] if allocation.join is Join.SHARED else sum(counts)
            needed += count * allocation.buffer.type.itemsize
        return needed <= (allowance(needed, begun) if limit is None else limit)


class _Region:
    """The memory of an allocation: an array for each part, one behind the other unless they share one.

    What was ``begun`` is shared, or that of the first part.
    """

    def __init__(self, allocation: Allocation, counts: list[int], begun: Array | None) -> None:
        self.allocation = allocation
        if allocation.join is Join.SHARED:
            self._base = buffers.allocate(allocation, counts[0], len(counts)) if begun is None else begun
            self.parts = [self._base] * len(counts)
            return
        if begun is not None:
            self.parts = [begun, *(buffers.allocate(allocation, count) for count in counts[1:])]
            return
        self._base = buffers.allocate(allocation, sum(counts), len(counts))
        starts = (0, *accumulate(counts))
        self.parts = [self._base[start : start + count] for start, count in zip(starts, counts, strict=False)]

    def joined(self, lengths: list[list[int]], operator: str) -> Array:
        """Return the parts put together; ``lengths`` are what each part used."""
        match self.allocation.join:
            case Join.SHARED | None:
                return self._base
            case Join.COMBINED:
                return self._reduced(_COMBINING[operator])
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
