"""What is decided before a definition is compiled: which operands are converted, and by which schedule.

By itself the compiler takes the cheapest plan by its estimates. Where a schedule was found to be faster by
measuring and is remembered (``schedule.py``), that one is taken without asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from storel.calculus.nodes import Range, Sum, Term, children
from storel.compilation import machine, schedule
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Task, compile_stored, search_options
from storel.compilation.environment import Environment
from storel.compilation.expectation import expected_time, has_only_products
from storel.compilation.reformat import array_names, conversions, convertible_operands, least_conversion_cost
from storel.compilation.schedule import Formats, Schedule
from storel.host import threads
from storel.optimizer.outcome import Priced
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.optimizer.remember import name_of as name_of_search
from storel.plan.binding import free_symbols
from storel.plan.nodes import Coordinates
from storel.storage.tensor import Tensor

WORTH_PRODUCTS = 200_000.0
"""The nanoseconds from which on plans are looked at for dense products."""


def compile_definition(task: Task) -> Compilation:
    """Compile one definition for the data at hand, by a schedule if one is remembered for it."""
    stored = compile_stored(task)
    name = note_of(task, stored)
    found = None if name is None else schedule.recalled(name)
    chosen = None if found is None else scheduled(task, stored, found)
    return planned(task, stored) if chosen is None else chosen


def planned(task: Task, stored: Compilation | None = None) -> Compilation:
    """Return the cheapest compilation by its estimates.

    Operands that would be searched too often are converted first (``reformat.py``), one by one. A trial
    converts its operand, so it must promise to save more than that: what another conversion takes is what
    its own does at least. The cheapest conversions are tried first. ``stored`` is the compilation that
    converts nothing, if it is at hand.
    """
    environment = task.environment
    best = by_products(stored or compile_stored(task))
    made: dict[str, tuple[Tensor, ...]] = {}
    while pending := _convertible(best, environment):
        cheapest = best
        for name in sorted(pending, key=lambda name: least_conversion_cost(environment.tensors[name])):
            tensor = environment.tensors[name]
            if 2 * least_conversion_cost(tensor) >= expected_time(cheapest):
                continue
            if name not in made:
                made[name] = tuple(conversions(tensor, environment))
            for other in made[name]:
                trial = compile_stored(task, {**best.converted, name: other})
                cheapest = min(cheapest, trial, key=expected_time)
        if cheapest is best:
            break
        best = cheapest
    for name, tensor in best.converted.items():
        environment.tensors[name].keep(tensor)
    return best


def by_products(compilation: Compilation) -> Compilation:
    """Return the compilation by a term that is all dense products, if it is expected to take less.

    They have kernels of their own, of which the costs that the search goes by know nothing.
    """
    if compilation.optimized.cost.nanoseconds < WORTH_PRODUCTS:
        return compilation
    found = [compilation]
    if not has_only_products(compilation):
        found += [
            _by_term(compilation, each) for each in considered(compilation) if _has_only_ranges(each.term)
        ]
    best = min((compilation, *filter(has_only_products, found)), key=expected_time)
    return _as_products(best) if has_only_products(best) else compilation


def _as_products(compilation: Compilation) -> Compilation:
    """Return the same compilation with the time that its kernels take for that of its term."""
    optimized = compilation.optimized
    cost = replace(optimized.cost, nanoseconds=expected_time(compilation))
    others = (
        replace(each, cost=cost) if each.term == optimized.term else each for each in optimized.considered
    )
    return replace(compilation, optimized=replace(optimized, cost=cost, considered=tuple(others)))


def _has_only_ranges(term: Term) -> bool:
    """Return whether all loops of a term are over ranges."""
    if isinstance(term, Sum) and not isinstance(term.source, Range):
        return False
    return all(_has_only_ranges(child) for child, _ in children(term))


def _convertible(compilation: Compilation, environment: Environment) -> list[str]:
    """Return the operands, not yet converted, that a compilation still reads against their order.

    The kernels of dense products take their operands in any order.
    """
    names = convertible_operands(
        compilation.optimized.term,
        environment,
        expected_time(compilation),
        is_listed=isinstance(compilation.plan.destination, Coordinates),
    )
    read = _read_by_loops(compilation)
    return [
        name
        for name in names
        if name not in compilation.converted
        and not read.isdisjoint(array_names(name, environment.tensors[name]))
    ]


def _read_by_loops(compilation: Compilation) -> set[str]:
    """Return what is read by more than kernels of dense products."""
    loops = [phase.plan for phase in compilation.phases if phase.contraction is None]
    plans = loops if compilation.phases else [compilation.plan]
    return {name for plan in plans for name in free_symbols(plan)}


def scheduled(task: Task, stored: Compilation, wanted: Schedule) -> Compilation | None:
    """Return the compilation by a schedule, None if it asks for what there is not.

    ``stored`` is the compilation that converts nothing.
    """
    changed = _converted(task, wanted.converted)
    if changed is None:
        return None
    return by_schedule(compile_stored(task, changed) if changed else stored, wanted)


def by_schedule(compilation: Compilation, wanted: Schedule) -> Compilation | None:
    """Return a compilation of the same operands by a schedule, None if its term was not considered."""
    term = next(
        (each for each in considered(compilation) if schedule.digest_of(each.term) == wanted.term), None
    )
    if term is None:
        return None
    return replace(_by_term(compilation, term, wanted.preferences), schedule=wanted)


def _by_term(
    compilation: Compilation, chosen: Priced, preferences: Preferences = PLANNERS_OWN
) -> Compilation:
    """Return the compilation of the same operands by a term that was considered."""
    optimized = replace(compilation.optimized, term=chosen.term, cost=chosen.cost)
    return replace(compilation.replanned(chosen.term, preferences), optimized=optimized)


def considered(compilation: Compilation) -> Iterator[Priced]:
    """Yield the terms that the search priced, the cheapest first; equal ones once."""
    seen: set[str] = set()
    for each in compilation.optimized.considered:
        digest = schedule.digest_of(each.term)
        if digest not in seen:
            seen.add(digest)
            yield each


def note_of(task: Task, stored: Compilation) -> str | None:
    """Return the name that a task's schedule is remembered by on this machine, None if it is to have none.

    It says what the search depends on, and what the choice among its plans does.
    """
    options, definition = task.options, task.definition
    search = name_of_search(stored.term, stored.symbols, options.rules, search_options(options))
    if search is None:
        return None
    return schedule.name_of(
        machine.identity(),
        search,
        repr(definition.extents),
        definition.semiring,
        definition.type.value,
        stored.result.wanted.text,
        stored.backend,
        options.floating_point,
        str(threads.count(options.threads)),
    )


def formats_of(tensors: Mapping[str, Tensor]) -> Formats:
    """Return what a schedule says of converted operands."""
    return tuple(sorted((name, tensor.format) for name, tensor in tensors.items()))


def _converted(task: Task, formats: Formats) -> dict[str, Tensor] | None:
    """Return operands in the formats that a schedule names, None if one cannot be stored so."""
    found: dict[str, Tensor] = {}
    tensors = task.environment.tensors
    for name, wanted in formats:
        others = conversions(tensors[name], task.environment) if name in tensors else ()
        tensor = next((each for each in others if each.format == wanted), None)
        if tensor is None:
            return None
        found[name] = tensor
    return found
