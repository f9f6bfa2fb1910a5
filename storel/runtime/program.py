"""Kernels as text, which can be sent to another process, and as machine code, once they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from typing import Any

from storel.loops.nodes import Kernel
from storel.plan.contraction import Contraction
from storel.runtime import pool, workers
from storel.runtime.contraction import ContractionKernel, contraction_kernel
from storel.runtime.divided import DividedKernel
from storel.runtime.kernel import CompiledKernel, load
from storel.runtime.library import Backend
from storel.runtime.parallel import ParallelKernel, PhaseKernel, Step


@dataclass(frozen=True, slots=True)
class Unit:
    """A kernel with its text, or a contraction, whose text is None where NumPy computes it.

    ``fills`` are the buffers of the store that it fills, each with its name among the inputs of units after
    it; there are none where it makes the result. One that ``continues`` adds to what the unit before it that
    fills the same made. The operands of a contraction are looked at for inf and NaN if it ``is_checked``.
    """

    kernel: Kernel | Contraction
    source: str | None
    fills: tuple[tuple[str, str], ...] = ()
    continues: bool = False
    is_checked: bool = False


@dataclass(frozen=True)
class Program:
    """The kernels of a plan and their sources: one, or one for each phase that ``threads`` threads run.

    Those of a program with strict floating point round as Numba and the interpreters do. Where a contraction
    that is checked meets inf or NaN the whole plan is run ``otherwise``, by one kernel.
    """

    backend: Backend
    kernels: tuple[Unit, ...]
    threads: int | None = None
    is_strict: bool = False
    otherwise: Unit | None = None

    @cached_property
    def compiled(self) -> CompiledKernel | ParallelKernel:
        """The machine code, compiled or taken from the cache; raises BackendError if neither can be."""
        tasks: list[Callable[[], CompiledKernel | ContractionKernel | None]]
        tasks = [partial(self._loaded, unit) for unit in self.kernels]
        if self.threads is not None:
            tasks.append(workers.prepare)
        loaded = [kernel for kernel in pool.run_all(tasks) if kernel is not None]
        first = loaded[0]
        if self.threads is None and isinstance(first, CompiledKernel):
            return first
        steps = (
            Step(_divided(kernel, self.threads or 1), unit.fills, unit.continues)
            for kernel, unit in zip(loaded, self.kernels, strict=True)
        )
        otherwise = None if self.otherwise is None else cache(partial(self._loops, self.otherwise))
        return ParallelKernel(tuple(steps), otherwise)

    def _loaded(self, unit: Unit) -> CompiledKernel | ContractionKernel:
        if isinstance(unit.kernel, Contraction):
            return contraction_kernel(unit.kernel, unit.source, self.threads or 1, is_checked=unit.is_checked)
        return self._loops(unit)

    def _loops(self, unit: Unit) -> CompiledKernel:
        assert unit.source is not None and isinstance(unit.kernel, Kernel)
        return load(unit.source, unit.kernel, self.backend, is_strict=self.is_strict)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: machine code is made where it arrives."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def _divided(kernel: CompiledKernel | ContractionKernel, threads: int) -> PhaseKernel:
    """Return a kernel that runs in parts, if there is a way to divide it."""
    if isinstance(kernel, ContractionKernel) or kernel.kernel.divide is None:
        return kernel
    return DividedKernel(kernel, threads)
