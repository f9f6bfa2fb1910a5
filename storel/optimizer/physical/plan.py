"""The physical planner: a term and the wanted format of its result to a plan."""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.nodes import Term
from storel.calculus.verify import infer
from storel.optimizer.physical.actions import ActionPlanner
from storel.optimizer.physical.destination import (
    Candidate,
    choose_destination,
    result_type,
    separated,
)
from storel.optimizer.physical.facts import size_term
from storel.optimizer.physical.normalize import hoist_keys, inline_atoms
from storel.optimizer.physical.preferences import PLANNERS_OWN, Preferences
from storel.optimizer.physical.scope import Scope, sum_over
from storel.optimizer.physical.shape import semiring_of
from storel.plan.nodes import Levels, Plan
from storel.semiring import SEMIRINGS
from storel.storage.signature import LevelKind
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
    """Return the plan that computes ``term``; keys are entered in the order in which it nests them."""
    term = hoist_keys(inline_atoms(term))
    ring = SEMIRINGS[semiring or semiring_of(term)]
    leaf = result_type(infer(term, symbols), ring)
    action = ActionPlanner(symbols, request.preferences.store).value(term, Scope(), sum_over(ring.name))
    dimensions = extent_terms(request.extents, symbols)
    if not request.extents:
        return Plan(Levels((), leaf), action)
    if request.candidate is not None and LevelKind.COMPRESSED not in request.candidate.kinds:
        action = separated(action)
    destination = choose_destination(
        action,
        request.candidate,
        leaf,
        dimensions,
        request.extents,
        request.entries,
        symbols,
        request.preferences.gather,
    )
    return Plan(destination, action)


def extent_terms(extents: tuple[int, ...], symbols: Symbols) -> tuple[Term, ...]:
    """Return the closed terms that stand for the extents of a result."""
    return tuple(size_term(symbols, extent) for extent in extents)
