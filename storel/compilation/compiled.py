"""What the compiler made of one definition, from its program to the kernels that run it.

Up to the plan it is kept as it was made. What follows from the plan alone is made when it is asked for: the
loops and their text, and the phases in which several threads run them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from storel.calculus.nodes import Term
from storel.codegen import c_contraction, c_source, numba_source
from storel.compilation.reliance import Reliance, reliance
from storel.compilation.results import Collector, ResultFormat
from storel.compilation.schedule import Schedule
from storel.loops.lowering.assembly import result_names
from storel.loops.lowering.lower import lower
from storel.loops.lowering.profile import Profile
from storel.loops.nodes import Kernel
from storel.loops.passes.sequence import improved
from storel.optimizer.cost.constants import Constants
from storel.optimizer.estimation.cardinality import entries
from storel.optimizer.outcome import Optimized
from storel.optimizer.physical.plan import Request, entered_extents, plan_term
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.plan.nodes import Levels, Plan
from storel.plan.phases import Phase, phases
from storel.plan.sweep import swept
from storel.runtime.kernel import CompiledKernel
from storel.runtime.listening import WORTH_A_THREAD
from storel.runtime.parallel import ParallelKernel
from storel.runtime.program import Program, Unit
from storel.storage.compose import Composed
from storel.storage.tensor import Tensor
from storel.symbols import Symbols
from storel.syntax.analyze import Definition

WORTH_THREADS = 100_000.0
"""The nanoseconds from which on a kernel is expected to gain by several threads."""


@dataclass(frozen=True)
class Compilation:
    """Everything the compiler made of one definition.

    ``converted`` are operands in another format, which takes ``converting`` nanoseconds by the estimates;
    ``constants`` are what its plan is forecast with; sums are added up in any order where ``is_reordered``
    says so. ``schedule`` was measured to be the fastest; it is None where the estimates decide.
    """

    definition: Definition
    composed: Composed
    term: Term
    optimized: Optimized
    result: ResultFormat
    plan: Plan
    backend: Literal["c", "numba"]
    converted: Mapping[str, Tensor]
    converting: float
    reliance: Reliance
    is_reordered: bool
    constants: Constants
    threads: int
    memory: float
    schedule: Schedule | None = None

    @property
    def symbols(self) -> Symbols:
        """The facts that the kernel relies on."""
        return self.reliance.symbols

    @cached_property
    def kernel(self) -> Kernel:
        """The loops that run the whole plan."""
        return self._lowered(self._whole)

    @property
    def counting_kernel(self) -> Kernel:
        """The loops that do the same and count what each action does (``loops.lowering.profile``)."""
        return self._lowered(self._whole, Profile())

    @cached_property
    def source(self) -> str:
        """The text of the kernel in its backend's language, by the program's names, for reading."""
        return self.rendered(self.kernel, is_numbered=False)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The plan as it is run in parts, none where one kernel does it all.

        There are parts for several threads where that is worth it, and for dense contractions.
        """
        found = phases(self.plan, self.symbols, reorders=self.is_reordered, memory=self.memory)
        is_divided = self.used_threads > 1 and any(phase.split is not None for phase in found)
        return found if is_divided or any(phase.contraction is not None for phase in found) else ()

    @property
    def used_threads(self) -> int:
        """How many threads run the kernel: one where it is expected, or was measured, to gain nothing."""
        divides = None if self.schedule is None else self.schedule.divides
        if divides is None:
            divides = self.optimized.cost.nanoseconds >= WORTH_THREADS
        return self.threads if divides else 1

    @property
    def is_long(self) -> bool:
        """Whether somebody may want to interrupt a run, as far as one can expect."""
        return self.optimized.cost.nanoseconds >= WORTH_A_THREAD

    @property
    def entered_extents(self) -> tuple[Term, ...]:
        """The extents of the result, in the order in which the plan enters its keys."""
        return entered_extents(self.plan, self.definition.shape, self.symbols)

    @cached_property
    def collector(self) -> Collector:
        """What makes a tensor of what the kernel writes."""
        return Collector(
            self.plan.destination,
            self.result,
            self.definition.shape,
            self.definition.type,
            self.definition.semiring,
            is_closed=all(extent.is_closed for extent in self.definition.extents),
        )

    @cached_property
    def program(self) -> Program:
        """The kernel's text, one for each phase where it is run in parts."""
        is_strict = not self.is_reordered
        if not self.phases:
            unit = Unit(self.kernel, self.rendered(self.kernel))
            return Program(self.backend, (unit,), is_strict=is_strict)
        otherwise = self._loops(self._whole) if any(phase.is_checked for phase in self.phases) else None
        units = tuple(map(self._unit, self.phases))
        return Program(self.backend, units, self.used_threads, is_strict, otherwise)

    @property
    def compiled(self) -> CompiledKernel | ParallelKernel:
        """The kernel in machine code."""
        return self.program.compiled

    def _unit(self, phase: Phase) -> Unit:
        """Return the kernel of a phase, which makes a part of the result or fills a store, and its text."""
        destination = phase.plan.destination
        outputs = result_names(destination) if isinstance(destination, Levels) else ()
        fills = tuple(zip(outputs, phase.fills, strict=False))
        if phase.contraction is not None:
            source = c_contraction.render(phase.contraction.type) if self.backend == "c" else None
            return Unit(phase.contraction, source, fills, phase.continues, phase.is_checked)
        return replace(self._loops(phase), fills=fills, continues=phase.continues)

    def _loops(self, phase: Phase) -> Unit:
        """Return the loops of a phase."""
        kernel = self._lowered(phase)
        return Unit(kernel, self.rendered(kernel))

    @property
    def _whole(self) -> Phase:
        return Phase(self.plan, swept=swept(self.plan, self.symbols))

    def _lowered(self, phase: Phase, profile: Profile | None = None) -> Kernel:
        symbols, extents = phase.known(self.symbols), phase.extents(self.entered_extents)
        is_unguarded = not self.reliance.are_guarded
        kernel = lower(phase, extents, symbols, is_unguarded=is_unguarded, profile=profile)
        return improved(kernel, symbols, reorders=self.is_reordered)

    def rendered(self, kernel: Kernel, *, is_numbered: bool = True) -> str:
        """Return the text of ``kernel`` in the backend's language, parameters by names or by numbers."""
        render = c_source.render if self.backend == "c" else numba_source.render
        return render(kernel, is_numbered=is_numbered, is_strict=not self.is_reordered)

    def replanned(self, term: Term, preferences: Preferences = PLANNERS_OWN) -> Compilation:
        """Return the same with the plan of another term that means the same, such as one considered."""
        relied = reliance(term, self.optimized.nonzero, self.composed.symbols, self.composed.dense)
        estimated = entries(term, relied.symbols)
        request = Request(self.definition.shape, self.result.candidate, estimated, preferences)
        plan = plan_term(term, request, relied.symbols, self.definition.semiring)
        return replace(self, plan=plan, reliance=relied)
