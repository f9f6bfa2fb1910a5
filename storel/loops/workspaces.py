"""Buffers of a few elements that passes add to a kernel."""

from __future__ import annotations

from dataclasses import replace

from storel.loops.emitter import index
from storel.loops.nodes import Allocation, Buffer, Kernel, Statement, Store
from storel.scalars import ScalarType


class Workspaces:
    """Collects what a pass needs; elements may hold anything at the start."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._made: list[tuple[Allocation, int]] = []

    def reserve(self, name: str, of: ScalarType, length: int) -> Buffer:
        """Return a buffer that is called ``name``, with a number, and has so many elements."""
        buffer = Buffer(f"{name} {len(self._made)}", of)
        slot = len(self._kernel.allocations) + len(self._made)
        self._made.append((Allocation(buffer, slot), length))
        return buffer

    def kernel(self, body: tuple[Statement, ...]) -> Kernel:
        """Return the kernel with the buffers, which computes ``body``; the same one if there are none."""
        if not self._made:
            return self._kernel
        bound, compute = self._kernel.bound, self._kernel.compute
        *buffers, lengths = compute.buffers
        sizes = (Store(bound.buffers[-1], index(made.slot), index(length)) for made, length in self._made)
        made = [allocation for allocation, _ in self._made]
        buffers += [allocation.buffer for allocation in made]
        return replace(
            self._kernel,
            bound=replace(bound, body=(*bound.body, *sizes)),
            compute=replace(compute, buffers=(*buffers, lengths), body=body),
            allocations=(*self._kernel.allocations, *made),
        )
