"""The ways to compute a definition that are worth measuring, kind by kind of what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import get_args

from storel.compilation.alternatives import considered, with_schedule
from storel.compilation.compiler import Compilation, Task, compile_as_stored
from storel.compilation.reformat import conversions, convertible_operands
from storel.compilation.schedule import Schedule, digest_of
from storel.compilation.scheduling import formats_of
from storel.optimizer.physical.preferences import Gathering, Preferences, StoreKind

MOST_TERMS = 8
"""Terms that are tried of each search."""

STORES = {"table": "tables", "hash": "hash tables", "list": "lists of places", "rows": "compressed rows"}
GATHERINGS = {"bitmap": "by bitmaps", "list": "by lists"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to compute a definition."""

    schedule: Schedule
    compilation: Compilation


def of_estimates(compilation: Compilation) -> Candidate:
    """Return what the compiler chooses by its estimates as a candidate."""
    term = digest_of(compilation.optimized.term)
    return Candidate(Schedule(term, formats_of(compilation.converted)), compilation)


def is_alike(one: Candidate, other: Candidate) -> bool:
    """Return whether two candidates are computed in the same way."""
    return _essence(one.compilation) == _essence(other.compilation)


def _essence(compilation: Compilation) -> tuple[object, ...]:
    threads = compilation.used_threads if compilation.phases else 1
    return formats_of(compilation.converted), threads, compilation.plan


def terms(task: Task, first: Compilation, own: Compilation) -> Iterator[Candidate]:
    """Yield the plans of the terms that were priced, with operands as they are stored, and converted.

    ``first`` is what the compiler began with, ``own`` its choice.
    """
    for base in _bases(task, first, own):
        formats = formats_of(base.converted)
        for each in islice(considered(base), MOST_TERMS):
            yield from _scheduled(base, Schedule(digest_of(each.term), formats))


def _bases(task: Task, first: Compilation, own: Compilation) -> Iterator[Compilation]:
    yield own
    if formats_of(own.converted) != formats_of(first.converted):
        yield first
    environment = replace(task.environment, tensors={**task.environment.tensors, **first.converted})
    cost = first.optimized.cost.nanoseconds
    names = convertible_operands(first.optimized.term, environment, lambda: cost)
    fixed = {*first.converted, *first.composed.opened}
    for name in (each for each in names if each not in fixed):
        for tensor in conversions(environment.tensors[name], environment):
            base = compile_as_stored(task, {**first.converted, name: tensor})
            if base.result.wanted is own.result.wanted:
                yield base


def stores(best: Candidate) -> Iterator[Candidate]:
    """Yield candidates whose intermediate results are stored otherwise than those of the best one."""
    return _preferring(best, [replace(best.schedule.preferences, store=each) for each in get_args(StoreKind)])


def gatherings(best: Candidate) -> Iterator[Candidate]:
    """Yield candidates whose rows are put in order otherwise."""
    return _preferring(
        best, [replace(best.schedule.preferences, gather=each) for each in get_args(Gathering)]
    )


def divisions(best: Candidate) -> Iterator[Candidate]:
    """Yield candidates that are computed by one thread, and by several."""
    for divides in (False, True):
        yield from _scheduled(best.compilation, replace(best.schedule, divides=divides))


def _preferring(best: Candidate, preferences: list[Preferences]) -> Iterator[Candidate]:
    for each in preferences:
        yield from _scheduled(best.compilation, replace(best.schedule, preferences=each))


def _scheduled(base: Compilation, schedule: Schedule) -> Iterator[Candidate]:
    """Yield the candidate of a schedule for operands stored as in ``base``, if it can be planned."""
    made = with_schedule(base, schedule)
    if made is not None:
        yield Candidate(schedule, made)


def describe(candidate: Candidate, own: Candidate) -> str:
    """Return in what a candidate differs from what the compiler chooses itself."""
    if candidate is own:
        return "as estimated"
    schedule, compilation = candidate.schedule, candidate.compilation
    return ", ".join(
        part
        for part in (
            *_conversions(schedule, own.schedule),
            _term(candidate) if schedule.term != own.schedule.term else "",
            STORES.get(schedule.preferences.store or "", ""),
            GATHERINGS.get(schedule.preferences.gather or "", ""),
            "" if schedule.divides is None else _threads(compilation.used_threads),
        )
        if part
    )


def _conversions(schedule: Schedule, own: Schedule) -> list[str]:
    if schedule.converted == own.converted:
        return []
    return [f"{name} in {storage}" for name, storage in schedule.converted] or ["nothing converted"]


def _term(candidate: Candidate) -> str:
    """Return the rank of a term among those that were priced, and where it comes from."""
    for number, each in enumerate(considered(candidate.compilation), 1):
        if digest_of(each.term) == candidate.schedule.term:
            return f"term {number} ({each.origin})"
    raise AssertionError("a candidate of a term that was not considered")


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
