"""The kernels of a plan that several threads run: its phases, which fill what those after them read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from storel.arrays import Array
from storel.runtime.contraction import ContractionKernel
from storel.runtime.divided import DividedKernel
from storel.runtime.kernel import NOTHING, CompiledKernel, Input, Scalars, located

PhaseKernel: TypeAlias = CompiledKernel | DividedKernel | ContractionKernel


@dataclass(frozen=True, slots=True)
class Step:
    """A phase of a plan: it makes the result, or outputs that are inputs of later steps, by ``fills``.

    One that ``continues`` adds to the output of the step before it that fills the same.
    """

    kernel: PhaseKernel
    fills: tuple[tuple[str, str], ...]
    continues: bool


@dataclass(frozen=True)
class ParallelKernel:
    """The kernels of a plan's phases, in their order.

    Where a contraction is not right for its inputs, all is computed ``otherwise``: the tables that it reads
    may hold quotients by zero that occur nowhere in the plan. That kernel is compiled once it is needed.
    """

    steps: tuple[Step, ...]
    otherwise: Callable[[], CompiledKernel] | None = None

    def __call__(
        self,
        scalars: Scalars,
        inputs: Mapping[str, Array],
        memory_limit: int | None = None,
    ) -> dict[str, Array]:
        """Return the outputs by buffer name, as a ``CompiledKernel`` does."""
        return self.run(scalars, located(inputs), memory_limit)

    def run(
        self, scalars: Scalars, inputs: Mapping[str, Input], memory_limit: int | None = None
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
                result = step.kernel.run(scalars, given, memory_limit, begun)
            else:
                begun = store if step.continues else NOTHING
                store = step.kernel.run(scalars, given, memory_limit, begun)
                given.update((name, Input.of(store[output])) for output, name in step.fills)
        return dict(result)
