"""What is decided before a definition is compiled: which operands are converted, and by which schedule.

By itself the compiler takes the cheapest plan by its estimates. Where a schedule was found to be faster by
measuring and is remembered (``schedule.py``), that one is taken without asking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TypeAlias

from storel.compilation import machine, schedule
from storel.compilation.alternatives import (
    with_dense_products,
    with_places,
    with_result_by_array,
    with_schedule,
)
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Task, compile_as_stored, search_options, written_out
from storel.compilation.environment import Environment
from storel.compilation.expectation import expected_time
from storel.compilation.nests import apart, nests, parts
from storel.compilation.reformat import (
    array_names,
    conversions,
    convertible_operands,
    forms,
    is_default,
    least_conversion_cost,
)
from storel.compilation.schedule import Formats, Schedule
from storel.errors import MemoryLimitError
from storel.host import threads
from storel.optimizer.remember import name_of as name_of_search
from storel.plan.binding import free_symbols
from storel.plan.nodes import Coordinates
from storel.storage.compose import Composed, name_of_uses, operand_of
from storel.storage.tensor import Tensor

NEST = 2e7
"""The nanoseconds that a search takes for each two nests of loops that parts of operands make together."""

MOST_USES = 4
"""Uses of an operand up to which each is tried by itself: plans of more loops are searched for in seconds."""

_Forms: TypeAlias = Callable[[str], tuple[Tensor, ...]]
"""The formats that an operand may be stored in, the default first."""


def compile_definition(task: Task) -> Compilation:
    """Compile one definition for the data at hand, by a schedule if one is remembered for it."""
    first = compile_first(task)
    name = note_of(task, first)
    found = None if name is None else schedule.recalled(name)
    chosen = None if found is None else scheduled(task, first, found)
    return planned(task, first) if chosen is None else chosen


def compile_first(task: Task) -> Compilation:
    """Compile a definition in the way that all others are compared with.

    It takes operands as they are stored. Where their parts meet one another, it takes those in their default
    formats, unless the program is worth a search among all choices of a part of each.
    """
    tensors = task.environment.tensors
    if all(parts(tensor) == 1 for tensor in tensors.values()):
        return compile_as_stored(task)
    composed, term = written_out(task)
    met = nests(term)
    whole = _put_together(task, composed) if met > apart(composed, task.environment) else {}
    if not whole:
        return compile_as_stored(task)
    first = with_dense_products(compile_as_stored(task, whole))
    if not is_worth(first, NEST * met**2, task):
        return first
    return min(first, with_dense_products(compile_as_stored(task)), key=expected_time)


def _put_together(task: Task, composed: Composed) -> dict[str, Tensor]:
    """Return the operands in several parts in their default formats, none if there is no room for that."""
    environment = task.environment
    used = {name: environment.tensors[name] for name in sorted(composed.uses.keys() - composed.opened)}
    try:
        return {
            name: next(forms(tensor, environment))
            for name, tensor in used.items()
            if parts(tensor) > 1 and tensor.lists_entries and not is_default(tensor, environment)
        }
    except MemoryLimitError:
        return {}


def planned(task: Task, first: Compilation | None = None) -> Compilation:
    """Return the cheapest compilation by its estimates.

    Operands that would be searched too often are converted (``reformat.py``): first all at once, which is
    all that is tried where the program is not worth more searches; then one by one, the cheapest conversions
    first. A trial itself converts its operand, so at least twice the time of that must be at stake. An
    operand that is used several times may then be stored otherwise for one of its uses. ``first`` is what
    ``compile_first`` returns, if it is at hand.
    """
    environment = task.environment
    best = with_result_by_array(with_dense_products(first or compile_first(task)))

    @cache
    def forms_of(name: str) -> tuple[Tensor, ...]:
        return tuple(forms(environment.tensors[name], environment))

    while pending := _convertible(best, environment):
        cheapest = _all_of_them(task, best, pending, forms_of)
        if is_worth(cheapest, len(pending) * best.optimized.effort, task):
            cheapest = _one_of_them(task, best, cheapest, pending, forms_of)
        if cheapest is best:
            break
        best = cheapest
    for name, times in sorted(best.composed.uses.items()):
        if times > 1:
            best = _use_by_use(task, best, name, forms_of)
    best = with_result_by_array(best)
    if task.storage is None:
        best = with_places(best, environment.formats)
    for name, tensor in best.converted.items():
        environment.tensors[operand_of(name)].keep(tensor)
    return best


def _one_of_them(
    task: Task, best: Compilation, cheapest: Compilation, names: Iterable[str], forms_of: _Forms
) -> Compilation:
    """Return the cheapest compilation of those that convert one more of these operands, or ``cheapest``.

    Those that somebody stored otherwise than by default come first.
    """
    tensors = task.environment.tensors

    def rank(name: str) -> tuple[bool, float]:
        return is_default(tensors[name], task.environment), least_conversion_cost(tensors[name])

    for name in sorted(names, key=rank):
        tensor = tensors[name]
        if not _may_save(tensor, cheapest):
            continue
        for other in forms_of(name):
            if other is not tensor:
                trial = compile_as_stored(task, {**best.converted, name: other})
                cheapest = min(cheapest, trial, key=expected_time)
    return cheapest


def _all_of_them(task: Task, best: Compilation, names: Iterable[str], forms_of: _Forms) -> Compilation:
    """Return the compilation that converts several of these operands to the default, if it is cheaper."""
    tensors, environment = task.environment.tensors, task.environment
    others = [name for name in names if not is_default(tensors[name], environment)]
    if len(others) < 2 or not all(_may_save(tensors[name], best) for name in others):
        return best
    changed = {name: forms_of(name)[0] for name in others}
    return min(best, compile_as_stored(task, {**best.converted, **changed}), key=expected_time)


def _use_by_use(task: Task, best: Compilation, name: str, forms_of: _Forms) -> Compilation:
    """Return the cheapest compilation in which one use of an operand is stored otherwise than the rest.

    A plan does not tell which use it reads against the order, so one after the other is tried, until a plan
    reads none so and makes its result in order.
    """
    own, uses = task.environment.tensors[name], range(best.composed.uses[name])
    if (
        len(uses) > MOST_USES
        or not _may_save(own, best)
        or _is_read_in_order(name, best, task.environment)
        or not is_worth(best, len(uses) * best.optimized.effort, task)
    ):
        return best
    stored = best.converted.get(name, own)
    others = {each: tensor for each, tensor in best.converted.items() if each != name}
    cheapest = best
    for use, other in product(uses, forms_of(name)):
        if other is stored:
            continue
        changed = [other if each == use else stored for each in uses]
        trial = compile_as_stored(task, {**others, **_by_uses(name, own, changed)})
        if expected_time(trial) < expected_time(cheapest):
            cheapest = trial
            is_packed = trial.result.packing(trial.plan.destination) > 0
            is_in_order = not is_packed and _is_read_in_order(name, trial, task.environment)
            if is_in_order or not _may_save(own, trial):
                break
    return cheapest


def _by_uses(name: str, own: Tensor, stored: Sequence[Tensor]) -> dict[str, Tensor]:
    """Return the tensors that the uses of an operand are converted to, each named by the uses of it."""
    numbers: dict[Tensor, list[int]] = {}
    for number, tensor in enumerate(stored, 1):
        numbers.setdefault(tensor, []).append(number)
    return {name_of_uses(name, each): tensor for tensor, each in numbers.items() if tensor is not own}


def is_worth(cheapest: Compilation, effort: float, task: Task) -> bool:
    """Return whether a program is worth so many nanoseconds of search, given the cheapest plan so far."""
    return search_options(task.options).patience * expected_time(cheapest) > effort


def _may_save(tensor: Tensor, compilation: Compilation) -> bool:
    """Return whether a compilation takes long enough for a conversion of a tensor to be tried."""
    return 2 * least_conversion_cost(tensor) < expected_time(compilation)


def _convertible(compilation: Compilation, environment: Environment) -> list[str]:
    """Return the operands, not yet converted, that a compilation reads against their order."""
    fixed = {*compilation.converted, *compilation.composed.opened}
    return [name for name in _against_order(compilation, environment) if name not in fixed]


def _against_order(compilation: Compilation, environment: Environment) -> list[str]:
    """Return the operands, and uses of them, that a compilation reads against the order they are stored in.

    The kernels of dense products take their operands in any order.
    """
    tensors = {**environment.tensors, **compilation.converted}
    names = convertible_operands(
        compilation.optimized.term,
        replace(environment, tensors=tensors),
        lambda: expected_time(compilation),
        is_listed=isinstance(compilation.plan.destination, Coordinates),
    )
    read = _read_by_loops(compilation) if names else set[str]()
    return [name for name in names if not read.isdisjoint(array_names(name, tensors[name]))]


def _is_read_in_order(name: str, compilation: Compilation, environment: Environment) -> bool:
    """Return whether no use of an operand is read against the order it is stored in."""
    return name not in map(operand_of, _against_order(compilation, environment))


def _read_by_loops(compilation: Compilation) -> set[str]:
    """Return what is read by more than kernels of dense products."""
    loops = [phase.plan for phase in compilation.phases if phase.contraction is None]
    plans = loops if compilation.phases else [compilation.plan]
    return {name for plan in plans for name in free_symbols(plan)}


def scheduled(task: Task, first: Compilation, wanted: Schedule) -> Compilation | None:
    """Return the compilation by a schedule, None if it asks for what there is not.

    ``first`` is what ``compile_first`` returns.
    """
    changed = _converted(task, wanted.converted)
    if changed is None or not first.composed.opened.isdisjoint(changed):
        return None
    is_first = wanted.converted == formats_of(first.converted)
    base = first if is_first else compile_as_stored(task, changed)
    return with_schedule(base, wanted)


def note_of(task: Task, first: Compilation) -> str | None:
    """Return the name that a task's schedule is remembered by on this machine, None if it is to have none.

    It says what the search depends on, and what the choice among its plans does. ``first`` is what
    ``compile_first`` returns.
    """
    options, definition = task.options, task.definition
    search = name_of_search(first.term, first.symbols, options.rules, search_options(options))
    if search is None:
        return None
    return schedule.name_of(
        machine.identity(),
        search,
        repr(definition.extents),
        definition.semiring,
        definition.type.value,
        first.result.wanted.text,
        first.backend,
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
        own = tensors.get(operand_of(name))
        others = () if own is None else conversions(own, task.environment)
        tensor = next((each for each in others if each.format == wanted), None)
        if tensor is None:
            return None
        found[name] = tensor
    return found
