"""The whole compiler on one page: what a definition goes through on its way to running code.

    program     the definition as written                                     syntax
    composed    storage mappings and views inlined                            storage.compose
    term        one De Bruijn term                                            calculus.lower
    normalized  loops over dictionaries are loops over arrays                 optimizer, first phase
    optimized   the cheapest equal term                                       optimizer
    plan        every loop, store and destination chosen                      optimizer.physical
    loops       a kernel of the loop IR                                       loops.lower
    source      C or Numba                                                    codegen

``STAGES`` names them in this order, for ``explain``; ``compile_stored`` is the way itself, for operands as
they are stored. Which are converted first, and what was measured to be faster, is decided in ``scheduling``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from storel import machine, memory, threads
from storel.calculus import printer as term_printer
from storel.calculus.finite import is_finite as all_finite
from storel.calculus.lower import lower as lower_expression
from storel.calculus.nodes import Term
from storel.calculus.verify import verify as verify_term
from storel.codegen import c_contraction, c_source, numba_source
from storel.environment import Environment
from storel.loops import printer as loop_printer
from storel.loops.assembly import result_names
from storel.loops.lower import lower as lower_plan
from storel.loops.nodes import Kernel
from storel.loops.passes import improved
from storel.loops.profile import Profile
from storel.loops.verify import verify as verify_loops
from storel.optimizer.cardinality import appraise, entries
from storel.optimizer.constants import Constants
from storel.optimizer.cost import Nanoseconds
from storel.optimizer.join_order import orders
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import Optimized
from storel.optimizer.outcome import Options as SearchOptions
from storel.optimizer.physical.plan import Request, entered_extents, plan_term
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.optimizer.remember import optimized as search
from storel.optimizer.rulefile import RuleSet
from storel.plan import printer as plan_printer
from storel.plan.nodes import Levels, Plan
from storel.plan.phases import Phase, phases
from storel.plan.sweep import swept
from storel.plan.verify import verify as verify_plan
from storel.results import ResultFormat, choose_result_format
from storel.runtime.kernel import CompiledKernel
from storel.runtime.parallel import ParallelKernel
from storel.runtime.program import Program, Unit
from storel.runtime.toolchain import choose
from storel.schedule import Schedule
from storel.storage.compose import Composed, View, compose
from storel.storage.formats import Format
from storel.storage.tensor import Tensor
from storel.symbols import MappingSymbol, Symbols
from storel.syntax import printer as syntax_printer
from storel.syntax.analyze import Definition

Backend: TypeAlias = Literal["auto", "c", "numba", "interpret"]

FloatingPoint: TypeAlias = Literal["strict", "reassociate", "expand"]

BACKENDS = ("auto", "c", "numba", "interpret")
FLOATING_POINT = ("strict", "reassociate", "expand")


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile and run; the defaults are what a user gets who says nothing.

    ``floating_point`` says what may happen to sums and products: they stay in the order written; they are
    reordered; products of sums may be multiplied out, too, which can cancel.
    ``binders`` says how the optimizer holds bound variables, ``verifies`` checks every stage's invariants.
    ``search`` replaces parts of the optimizer, binders included. ``threads`` is how many a kernel uses at
    most, by default one for each processor (``storel.threads``).
    """

    backend: Backend = "auto"
    memory_limit: int | None = None
    rules: RuleSet | None = None
    floating_point: FloatingPoint = "reassociate"
    binders: str = "named"
    verifies: bool = False
    search: SearchOptions | None = None
    threads: int | None = None


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Task:
    """A definition to compile for the data at hand: ``views`` are inlined, ``storage`` is the result's."""

    definition: Definition
    views: Mapping[str, View]
    environment: Environment
    storage: Format | None = None
    options: Options = DEFAULTS


@dataclass(frozen=True)
class Compilation:
    """Everything the compiler made of one definition.

    ``converted`` are operands in another format, ``constants`` are what its plan is forecast with; sums are
    added up in any order where ``is_reordered`` says so. ``schedule`` was measured to be the fastest; it is
    None where the estimates decide.
    """

    definition: Definition
    composed: Composed
    term: Term
    optimized: Optimized
    result: ResultFormat
    plan: Plan
    kernel: Kernel
    backend: Literal["c", "numba"]
    converted: Mapping[str, Tensor]
    is_finite: bool
    is_reordered: bool
    constants: Constants
    threads: int
    memory: float
    schedule: Schedule | None = None

    @property
    def symbols(self) -> Symbols:
        return self.composed.symbols

    @cached_property
    def source(self) -> str:
        """The text of the kernel in its backend's language."""
        return self._rendered(self.kernel)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The plan as it is run in parts, none where one kernel does it all.

        There are parts for several threads where that is worth it, and for dense contractions.
        """
        found = phases(
            self.plan,
            self.symbols,
            reorders=self.is_reordered,
            is_finite=self.is_finite,
            memory=self.memory,
        )
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
    def entered_extents(self) -> tuple[Term, ...]:
        """The extents of the result, in the order in which the plan enters its keys."""
        shape = tuple(extent.size for extent in self.definition.extents)
        return entered_extents(self.plan, shape, self.symbols)

    @cached_property
    def program(self) -> Program:
        """The kernel's text, one for each phase where it is run in parts."""
        if not self.phases:
            return Program(self.backend, (Unit(self.kernel, self.source),))
        return Program(self.backend, tuple(map(self._unit, self.phases)), self.used_threads)

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
            return Unit(phase.contraction, source, fills)
        symbols = phase.known(self.symbols)
        kernel = lower_plan(
            phase.plan if phase.split is None else phase.split.plan,
            phase.extents(self.entered_extents),
            symbols,
            is_finite=self.is_finite,
            stores=phase.stores,
            split=phase.split,
            swept=phase.swept,
            continues=phase.continues,
        )
        kernel = improved(kernel, symbols, reorders=self.is_reordered)
        return Unit(kernel, self._rendered(kernel), fills, phase.continues)

    def _rendered(self, kernel: Kernel) -> str:
        return c_source.render(kernel) if self.backend == "c" else numba_source.render(kernel)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stop on the way, and how it looks."""

    name: str
    show: Callable[[Compilation], str]


STAGES = (
    Stage("program", lambda c: syntax_printer.render(c.definition.expression)),
    Stage("composed", lambda c: syntax_printer.render(c.composed.expression)),
    Stage("term", lambda c: term_printer.show(c.term)),
    Stage("normalized", lambda c: term_printer.show(c.optimized.normalized)),
    Stage("optimized", lambda c: term_printer.show(c.optimized.term)),
    Stage("plan", lambda c: plan_printer.render(c.plan)),
    Stage("loops", lambda c: loop_printer.kernel_text(c.kernel)),
    Stage("source", lambda c: c.source),
)


WORTH_THREADS = 100_000.0
"""The nanoseconds from which on a kernel is expected to gain by several threads."""

NOTHING_CONVERTED: Mapping[str, Tensor] = {}


def compile_stored(task: Task, converted: Mapping[str, Tensor] = NOTHING_CONVERTED) -> Compilation:
    """Compile a definition for its operands as they are stored, but for those that are ``converted``.

    The result is stored as the task says, or in what suits its estimated number of entries.
    """
    definition, environment, options = task.definition, task.environment, task.options
    if converted:
        environment = replace(environment, tensors={**environment.tensors, **converted})
    composed = compose(view_of(definition), task.views, environment.tensors, environment.facts())
    term = lower_expression(composed.expression, composed.symbols, definition.semiring)
    composed = replace(composed, symbols={**composed.symbols, **_mapping_symbols(composed)})
    symbols = composed.symbols
    budgets = search_options(options)
    others = () if options.floating_point == "strict" else _in_other_orders(composed, definition)
    optimized = search(term, symbols, options.rules, budgets, others)
    extents = tuple(extent.size for extent in definition.extents)
    estimate = appraise(optimized.term, symbols)
    result = choose_result_format(task.storage, extents, estimate.counts, environment.formats)
    request = Request(extents, result.candidate, estimate.total)
    plan = plan_term(optimized.term, request, symbols, definition.semiring)
    is_finite = all_finite(optimized.term, symbols) and environment.has_only_finite_parameters()
    is_reordered = options.floating_point != "strict"
    kernel = _lowered(plan, definition, symbols, is_finite, is_reordered)
    if options.verifies:
        verify_term(term, symbols)
        verify_term(optimized.term, symbols)
        verify_plan(plan, symbols)
        verify_loops(kernel)
    backend = choose("auto" if options.backend == "interpret" else options.backend)
    return Compilation(
        definition, composed, term, optimized, result, plan, kernel, backend, converted, is_finite,
        is_reordered,
        budgets.cost.constants if isinstance(budgets.cost, Nanoseconds) else machine.constants(),
        threads.count(options.threads),
        budgets.memory,
    )  # fmt: skip


def _in_other_orders(composed: Composed, definition: Definition) -> tuple[Term, ...]:
    """Return the terms of a definition whose generators stand in other orders, the best ones first."""
    others = orders(composed.expression, composed.symbols)
    return tuple(lower_expression(each, composed.symbols, definition.semiring) for each in others)


def _mapping_symbols(composed: Composed) -> Symbols:
    """Return the facts about mappings that make no entry twice, each named as its tensor is."""
    return {
        each.tensor: MappingSymbol(
            each.tensor, lower_expression(each.mapping, composed.symbols, each.semiring)
        )
        for each in composed.mappings
    }


def _lowered(
    plan: Plan,
    definition: Definition,
    symbols: Symbols,
    is_finite: bool,
    is_reordered: bool,
    profile: Profile | None = None,
) -> Kernel:
    shape = tuple(extent.size for extent in definition.extents)
    extents = entered_extents(plan, shape, symbols)
    kernel = lower_plan(
        plan, extents, symbols, is_finite=is_finite, profile=profile, swept=swept(plan, symbols)
    )
    return improved(kernel, symbols, reorders=is_reordered)


def counting_kernel(compilation: Compilation) -> Kernel:
    """Return a kernel that does the same and counts what each action of the plan does (``loops.profile``)."""
    this = compilation
    return _lowered(this.plan, this.definition, this.symbols, this.is_finite, this.is_reordered, Profile())


def replanned(compilation: Compilation, term: Term, preferences: Preferences = PLANNERS_OWN) -> Compilation:
    """Return the same with the plan of another term that means the same, such as one that was considered."""
    this = compilation
    extents = tuple(extent.size for extent in this.definition.extents)
    request = Request(extents, this.result.candidate, entries(term, this.symbols), preferences)
    plan = plan_term(term, request, this.symbols, this.definition.semiring)
    is_finite = this.is_finite and all_finite(term, this.symbols)
    kernel = _lowered(plan, this.definition, this.symbols, is_finite, this.is_reordered)
    return replace(this, plan=plan, kernel=kernel, is_finite=is_finite)


def view_of(definition: Definition) -> View:
    """Return what composition needs to inline a definition."""
    extents = tuple(extent.size for extent in definition.extents)
    return View(definition.expression, extents, definition.semiring, definition.sizes)


def search_options(options: Options) -> SearchOptions:
    """Return the budgets, the costs and the memory that ``options`` let the search have."""
    measured = Nanoseconds(machine.constants())
    given = options.search or SearchOptions(cost=measured, binders=options.binders)
    main = Limits(iterations=0) if options.floating_point == "strict" else given.main
    expands = given.expands or options.floating_point == "expand"
    limit = memory.available() if options.memory_limit is None else options.memory_limit
    return replace(given, main=main, expands=expands, memory=min(given.memory, limit))
