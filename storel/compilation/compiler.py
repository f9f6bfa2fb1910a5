"""The whole compiler on one page: what a definition goes through on its way to running code.

    program     the definition as written                                     syntax
    composed    storage mappings and views inlined                            storage.compose
    term        one De Bruijn term                                            calculus.lower
    normalized  loops over dictionaries are loops over arrays                 optimizer, first phase
    optimized   the cheapest equal term                                       optimizer
    plan        every loop, store and destination chosen                      optimizer.physical
    loops       a kernel of the loop IR                                       loops.lowering
    source      C or Numba                                                    codegen

``STAGES`` names them in this order, for ``explain``. ``compile_as_stored`` is the way to the plan, with
operands as they are; the ``Compilation`` that it returns goes on from there. Which operands are converted
first, and what was measured to be faster, is decided in ``scheduling``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from storel.calculus import printer as term_printer
from storel.calculus.generators import ByColumns, Total, asks_for_columns
from storel.calculus.lower import lower as lower_expression
from storel.calculus.lower import lower_mapping
from storel.calculus.nodes import Term
from storel.calculus.reals import computes_reals
from storel.calculus.verify import verify as verify_term
from storel.compilation import machine
from storel.compilation.compiled import Compilation
from storel.compilation.environment import Environment
from storel.compilation.reformat import conversion_cost
from storel.compilation.reliance import reliance
from storel.compilation.results import choose_result_format
from storel.host import memory, threads
from storel.loops import printer as loop_printer
from storel.loops.verify import verify as verify_loops
from storel.optimizer.arrangement.join_order import orders
from storel.optimizer.arrangement.paths import along_paths
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import Optimized
from storel.optimizer.outcome import Options as SearchOptions
from storel.optimizer.physical.plan import Request, plan_term
from storel.optimizer.remember import optimized as search
from storel.optimizer.rules.rulefile import RuleSet
from storel.plan import printer as plan_printer
from storel.plan.verify import verify as verify_plan
from storel.runtime.toolchain import choose
from storel.storage.compose import Composed, View, compose, operand_of
from storel.storage.formats.format import Format
from storel.storage.tensor import Tensor
from storel.symbols import MappingSymbol, Symbols
from storel.syntax import printer as syntax_printer
from storel.syntax.analyze import Definition

Backend: TypeAlias = Literal["auto", "c", "numba", "interpret"]

FloatingPoint: TypeAlias = Literal["strict", "reassociate", "expand"]

BACKENDS: tuple[Backend, ...] = get_args(Backend)
FLOATING_POINT: tuple[FloatingPoint, ...] = get_args(FloatingPoint)


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile and run; the defaults are what a user gets who says nothing.

    ``floating_point`` says what may happen to sums and products of reals: they stay in the order written;
    they are reordered; products of sums may be multiplied out, too, which can cancel.
    ``binders`` says how the optimizer holds bound variables, ``verifies`` checks every stage's invariants.
    ``search`` replaces parts of the optimizer, binders included. ``threads`` is how many a kernel uses at
    most, by default one for each processor (``storel.host.threads``).
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


NOTHING_CONVERTED: Mapping[str, Tensor] = {}


def compile_as_stored(task: Task, converted: Mapping[str, Tensor] = NOTHING_CONVERTED) -> Compilation:
    """Compile a definition for its operands as they are stored, but for those that are ``converted``.

    The result is stored as the task says, or in what suits its estimated number of entries.
    """
    definition, environment, options = task.definition, task.environment, task.options
    composed, term = written_out(task, converted)
    composed = replace(composed, symbols={**composed.symbols, **_mapping_symbols(composed)})
    symbols = composed.symbols
    budgets = search_options(options)
    optimized, is_reordered = _searched(task, composed, term)
    cost = optimized.cost
    result = choose_result_format(task.storage, definition.shape, cost.counts, environment.formats)
    request = Request(definition.shape, result.candidate, cost.entries)
    relied = reliance(optimized.term, optimized.nonzero, symbols, composed.dense)
    compilation = Compilation(
        definition=definition,
        composed=composed,
        term=term,
        optimized=optimized,
        result=result,
        plan=plan_term(optimized.term, request, relied.symbols, definition.semiring),
        backend=choose("auto" if options.backend == "interpret" else options.backend),
        converted=converted,
        converting=sum(
            conversion_cost(environment.tensors[operand_of(name)], each) for name, each in converted.items()
        ),
        reliance=relied,
        is_reordered=is_reordered,
        constants=budgets.cost.constants if isinstance(budgets.cost, Nanoseconds) else machine.constants(),
        threads=threads.count(options.threads),
        memory=budgets.memory,
    )
    if options.verifies:
        _verify(compilation)
    return compilation


def written_out(task: Task, converted: Mapping[str, Tensor] = NOTHING_CONVERTED) -> tuple[Composed, Term]:
    """Return a definition with the mappings of its operands, as a program and as a term."""
    definition, environment = task.definition, task.environment
    tensors = {**environment.tensors, **converted}
    facts = replace(environment, tensors=tensors).facts()
    composed = compose(view_of(definition), task.views, tensors, facts)
    return composed, lower_expression(composed.expression, composed.symbols, definition.semiring)


def _searched(task: Task, composed: Composed, term: Term) -> tuple[Optimized, bool]:
    """Return what the search makes of a term, and whether its sums may be added up in any order.

    With strict floating point they may where nothing real is computed.
    """
    options, symbols, semiring = task.options, composed.symbols, task.definition.semiring
    if options.floating_point == "strict":
        as_written = search(term, symbols, options.rules, search_options(options))
        if computes_reals(as_written.normalized, symbols):
            return as_written, False
        options = replace(options, floating_point="reassociate")
    expression = along_paths(composed.expression)
    first = term if expression == composed.expression else lower_expression(expression, symbols, semiring)
    others = _others(replace(composed, expression=expression), task.definition, first)
    return search(first, symbols, options.rules, search_options(options), others), True


def _verify(compilation: Compilation) -> None:
    """Raise where a stage of the compilation breaks its invariants, which is a mistake of the compiler."""
    verify_term(compilation.term, compilation.symbols)
    verify_term(compilation.optimized.term, compilation.symbols)
    verify_plan(compilation.plan, compilation.symbols)
    verify_loops(compilation.kernel)


def _others(composed: Composed, definition: Definition, first: Term) -> tuple[Term, ...]:
    """Return other terms of a definition: generators in other orders, the best ones first, and by columns."""
    reordered = tuple(orders(composed.expression, composed.symbols))
    by_columns = filter(asks_for_columns, (composed.expression, *reordered))
    others = (
        lower_expression(each, composed.symbols, definition.semiring, total)
        for total, expressions in ((Total, reordered), (ByColumns, by_columns))
        for each in expressions
    )
    return tuple(term for term in dict.fromkeys(others) if term != first)


def _mapping_symbols(composed: Composed) -> Symbols:
    """Return the facts about mappings, each named as its tensor is."""
    return {
        each.mapped.tensor: MappingSymbol(
            each.mapped.tensor,
            lower_mapping(each.mapped, composed.symbols),
            each.extents,
            each.makes_keys_once,
        )
        for each in composed.mappings
    }


def view_of(definition: Definition) -> View:
    """Return what composition needs to inline a definition."""
    return View(definition.expression, definition.shape, definition.semiring, definition.sizes)


def search_options(options: Options) -> SearchOptions:
    """Return the budgets, the costs and the memory that ``options`` let the search have."""
    measured = Nanoseconds(machine.constants())
    given = options.search or SearchOptions(cost=measured, binders=options.binders)
    main = Limits(iterations=0) if options.floating_point == "strict" else given.main
    expands = given.expands or options.floating_point == "expand"
    limit = memory.available() if options.memory_limit is None else options.memory_limit
    return replace(given, main=main, expands=expands, memory=min(given.memory, limit))
