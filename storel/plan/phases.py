"""A plan in phases, one after the other, each of which several threads can run (partition.py).

result <- bind table <- A in B      =      table <- A ;  result <- B      (B reads the table)

result <- together A, B             =      result <- A ;  result <- B     (B goes on where A ended)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from storel.calculus.nodes import Term
from storel.plan.binding import store_terms
from storel.plan.contraction import Contraction, contraction
from storel.plan.fission import fission
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Destination,
    Levels,
    Place,
    Plan,
    ScalarStore,
    Store,
    TableStore,
    Together,
)
from storel.plan.partition import Split, outermost, split_of
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Phase:
    """A plan that reads the ``stores`` that phases before it filled: variable 0 is the last of them.

    It fills a store that phases after it read, ``filled``, or else makes the result, or ``continues`` either:
    it adds to what the phases before it made. A phase may have a ``split``, by which
    several threads run it, or be a dense ``contraction``.
    """

    plan: Plan
    stores: tuple[Store, ...]
    split: Split | None = None
    contraction: Contraction | None = None
    filled: Store | None = None
    continues: bool = False

    def extents(self, result: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the extents of what the phase fills, where ``result`` are those of the whole plan's."""
        return result if self.filled is None else store_terms(self.filled)


def phases(
    plan: Plan, symbols: Symbols, *, reorders: bool, is_finite: bool, memory: float = math.inf
) -> tuple[Phase, ...]:
    """Return the phases of ``plan``.

    ``reorders`` says that real sums may be added up in any order, ``is_finite`` that all values are finite.
    Loops are taken apart where that makes dense contractions of their stages, whose tables take no more than
    ``memory`` bytes.
    """
    found = _phases(plan, symbols, reorders, is_finite)
    if not (reorders and is_finite):
        return found
    apart = fission(plan)
    if apart == plan:
        return found
    stages = _phases(apart, symbols, reorders, is_finite)
    needed = sum(phase.contraction.result_bytes for phase in stages if phase.contraction is not None)
    are_products = all(phase.contraction is not None for phase in stages)
    return stages if are_products and needed <= memory else found


def _phases(plan: Plan, symbols: Symbols, reorders: bool, is_finite: bool) -> tuple[Phase, ...]:
    def completed(phase: Phase) -> Phase:
        is_product = reorders and is_finite and not phase.continues
        return replace(
            phase,
            split=split_of(phase.plan, symbols, reorders=reorders),
            contraction=contraction(phase.plan, phase.stores, symbols) if is_product else None,
        )

    return tuple(map(completed, _steps(plan, (), symbols)))


def _steps(
    plan: Plan, stores: tuple[Store, ...], symbols: Symbols, *, continues: bool = False
) -> Iterator[Phase]:
    """Yield what is done one after the other, where the ``stores`` are filled."""
    match plan.action:
        case Bind(store, value, body) if (
            not isinstance(value, Accumulate) and (destination := _destination(store)) is not None
        ):
            for number, each in enumerate(_groups(Plan(destination, value), symbols)):
                yield Phase(each, stores, filled=store, continues=number > 0)
            yield from _steps(replace(plan, action=body), (store, *stores), symbols, continues=continues)
        case _:
            groups = _groups(plan, symbols)
            if len(groups) == 1:
                yield Phase(plan, stores, continues=continues)
                return
            for number, each in enumerate(groups):
                yield from _steps(each, stores, symbols, continues=continues or number > 0)


def _is_dense(destination: Destination) -> bool:
    """Return whether a result can be continued: places that hold the zero until something is added."""
    match destination:
        case Levels(levels, leaf):
            return leaf.zero is not None and all(isinstance(level, Place) for level in levels)
        case _:
            return False


def _destination(store: Store) -> Destination | None:
    """Return the result that holds what ``store`` does, None if there is none."""
    match store:
        case ScalarStore(zero=zero):
            return None if zero is None else Levels((), store)
        case TableStore(scalar_type, operator, zero, extents):
            return Levels(tuple(map(Place, extents)), ScalarStore(scalar_type, operator, zero))
        case _:
            return None


def _parts(action: Action) -> list[Action]:
    """Return actions that do together what ``action`` does; what is cheap is done for each."""
    match action:
        case Together(actions) if actions:
            return [part for each in actions for part in _parts(each)]
        case Bind(ScalarStore() as store, Accumulate() as value, body):
            return [Bind(store, value, part) for part in _parts(body)]
        case _:
            return [action]


def _groups(plan: Plan, symbols: Symbols) -> list[Plan]:
    """Return plans that do one after the other what ``plan`` does.

    Neighbours stay together that nothing is gained by taking apart: loops that can be run in the same parts,
    and what is not run in parts at all.
    """
    if not _is_dense(plan.destination):
        return [plan]
    groups: list[list[Action]] = []
    for part in _parts(plan.action):
        if groups and _are_alike([*groups[-1], part], plan, symbols):
            groups[-1].append(part)
        else:
            groups.append([part])
    actions = (group[0] if len(group) == 1 else Together(tuple(group)) for group in groups)
    return [replace(plan, action=action) for action in actions]


def _are_alike(actions: list[Action], plan: Plan, symbols: Symbols) -> bool:
    if any(isinstance(action, Bind) and not outermost(action) for action in actions):
        return False
    splits = [split_of(replace(plan, action=action), symbols, reorders=True) for action in actions]
    if not any(splits):
        return True
    both = split_of(replace(plan, action=Together(tuple(actions))), symbols, reorders=True)
    return both is not None and all(split is not None and split.parts is both.parts for split in splits)
