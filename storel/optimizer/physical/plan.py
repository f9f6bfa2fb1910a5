"""The physical planner: a term and the wanted format of its result to a plan."""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Term
from storel.calculus.verify import Type, infer
from storel.optimizer.physical.actions import ActionPlanner
from storel.optimizer.physical.aligning import aligned, multiplied_rows, united_rows
from storel.optimizer.physical.destination import (
    Candidate,
    choose_destination,
    result_type,
    separated,
    unguarded,
)
from storel.optimizer.physical.facts import size_term
from storel.optimizer.physical.normalize import hoist_keys, normalized
from storel.optimizer.physical.ordering import binding_orders, reordered
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.optimizer.physical.scope import Scope, sum_over
from storel.optimizer.physical.shape import semiring_of
from storel.optimizer.physical.steady import name_steady
from storel.plan.nodes import Action, Levels, Place, Plan, ScalarStore
from storel.semiring import SEMIRINGS, Semiring
from storel.storage.formats.signature import LevelKind
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted of a result: its extents, and the layout that it shall be assembled in, if any.

    ``entries`` is the estimated number of entries, ``preferences`` are taken where that is possible.
    """

    extents: tuple[int, ...]
    candidate: Candidate | None
    entries: float
    preferences: Preferences = PLANNERS_OWN


def plan_term(term: Term, request: Request, symbols: Symbols, semiring: str | None = None) -> Plan:
    """Return the plan that computes ``term``.

    Keys are entered in the order of the levels that are assembled: those of the candidate, of the result, or
    of the loops, whichever can be first. Where none can, entries are listed.
    """
    term = normalized(term, symbols)
    planner = _Planner(request, symbols, SEMIRINGS[semiring or semiring_of(term)])
    rank, candidate = len(request.extents), request.candidate
    if rank == 0:
        return Plan(Levels((), planner.leaf(term)), planner.action(term))
    if candidate is None:
        return planner.planned(term, None)
    natural = tuple(range(rank))
    tried: set[tuple[int, ...]] = set()
    for order in (candidate.dimensions, natural, *binding_orders(term, rank)):
        moved = None if order in tried else reordered(term, order)
        tried.add(order)
        if moved is None:
            continue
        moved = moved if order == natural else hoist_keys(moved)
        entered = candidate.entered_in(order, request.extents, request.entries)
        rows = request.extents[order[0]]
        found = planner.planned(multiplied_rows(moved, rows, symbols), entered)
        if isinstance(found.destination, Levels):
            united = united_rows(moved, rows, symbols) if _has_places(found.destination) else None
            return found if united is None else planner.planned(united, entered)
        by_row = aligned(moved, rows, request.entries, symbols)
        if by_row is not None:
            found = planner.planned(by_row, entered)
            if isinstance(found.destination, Levels):
                return found
    return planner.planned(term, None)


@dataclass(frozen=True, slots=True)
class _Planner:
    """Plans terms with the keys of one result, in one order or another."""

    request: Request
    symbols: Symbols
    ring: Semiring

    def leaf(self, term: Term) -> ScalarStore:
        """Return how values are combined: the type guessed for {} may not hold the zero that it is."""
        found = infer(term, self.symbols)
        held = Type(self.ring.with_zero(found.scalar), found.rank) if found.rank > 0 else found
        return result_type(held, self.ring)

    def action(self, term: Term) -> Action:
        planner = ActionPlanner(self.symbols, self.request.preferences.store)
        return planner.value(name_steady(term, self.symbols), Scope(), sum_over(self.ring.name))

    def planned(self, term: Term, candidate: Candidate | None) -> Plan:
        """Return the plan of a term whose keys are nested as the levels of ``candidate`` are."""
        request, action = self.request, self.action(term)
        if candidate is not None and LevelKind.COMPRESSED not in candidate.kinds:
            action = separated(action)
        dimensions = range(len(request.extents)) if candidate is None else candidate.dimensions
        extents = tuple(request.extents[dimension] for dimension in dimensions)
        destination = choose_destination(
            action,
            candidate,
            self.leaf(term),
            extent_terms(extents, self.symbols),
            extents,
            request.entries,
            self.symbols,
            request.preferences.gather,
        )
        if isinstance(destination, Levels) and _is_written_once(destination):
            action = unguarded(action, self.ring.name)
        return Plan(destination, action)


def _has_places(levels: Levels) -> bool:
    return all(isinstance(level, Place) for level in levels.levels)


def _is_written_once(levels: Levels) -> bool:
    """Return whether values go to places that hold zeros, to each at most one."""
    last = levels.levels[-1]
    return _has_places(levels) and isinstance(last, Place) and last.once


def entered_extents(plan: Plan, extents: tuple[int, ...], symbols: Symbols) -> tuple[Term, ...]:
    """Return the terms that stand for the extents of a result, in the order in which keys are entered."""
    if isinstance(plan.destination, Levels):
        extents = tuple(extents[dimension] for dimension in plan.destination.dimensions)
    return extent_terms(extents, symbols)


def extent_terms(extents: tuple[int, ...], symbols: Symbols) -> tuple[Term, ...]:
    """Return the closed terms that stand for the extents of a result."""
    return tuple(size_term(symbols, extent) for extent in extents)
