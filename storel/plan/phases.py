"""A plan in phases, one after the other, each of which several threads can run (partition.py).

    result <- bind table <- A in B      =      table <- A ;  result <- B      (B reads the table)

    result <- together A, B             =      result <- A ;  result <- B     (B goes on where A ended)

Scalars and tables that a phase filled are variables of those that read them; rows are arrays (arrays.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from storel.calculus.bounds import bounds
from storel.calculus.nodes import Term
from storel.plan.arrays import RowArrays, store_name
from storel.plan.binding import destination_of, fills_rows, store_terms
from storel.plan.contraction import Contraction, contraction
from storel.plan.finite import is_finite
from storel.plan.fission import fission
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Destination,
    Levels,
    Place,
    Plan,
    RowsStore,
    ScalarStore,
    Store,
    TableStore,
    Together,
)
from storel.plan.operands import stored_operands
from storel.plan.partition import Parts, Split, outermost, split_of
from storel.plan.passes import iterations
from storel.plan.summands import summands
from storel.plan.sweep import block, swept
from storel.symbols import ArraySymbol, Symbols


@dataclass(frozen=True, slots=True)
class Phase:
    """A plan that reads what phases before it filled: ``stores``, variable 0 the last, and ``arrays``.

    It fills a store itself, ``filled``, as arrays of the names ``fills``, or else makes the result; or it
    ``continues`` either, adding to what the phases before it made. A phase may have a ``split``, by which
    several threads run it, or be a dense ``contraction``, whose operands are checked for inf and NaN if they
    are not proved to be finite. Of a dense result it clears each row of the outer ``swept`` levels itself,
    as it comes to it, or the rows of a ``block`` of keys.
    """

    plan: Plan
    stores: tuple[Store, ...] = ()
    arrays: tuple[ArraySymbol, ...] = ()
    split: Split | None = None
    contraction: Contraction | None = None
    filled: Store | None = None
    fills: tuple[str, ...] = ()
    continues: bool = False
    is_checked: bool = False
    swept: int = 0
    block: int = 0

    @property
    def part(self) -> Plan:
        """What one thread runs: a part of the plan where it has a split, else the whole."""
        return self.plan if self.split is None else self.split.plan

    def known(self, symbols: Symbols) -> Symbols:
        """Return what is known of all that the phase reads, where ``symbols`` are those of the whole plan."""
        return {**symbols, **{array.name: array for array in self.arrays}} if self.arrays else symbols

    def extents(self, result: tuple[Term, ...]) -> tuple[Term, ...]:
        """Return the extents of what the phase fills, where ``result`` are those of the whole plan's."""
        return result if self.filled is None else store_terms(self.filled)


def phases(plan: Plan, symbols: Symbols, *, reorders: bool, memory: float = math.inf) -> tuple[Phase, ...]:
    """Return the phases of ``plan``.

    ``reorders`` says that real sums may be added up in any order. Loops are taken apart where that makes
    dense contractions of their stages, whose tables take no more than ``memory`` bytes.
    """
    found = _phases(plan, symbols, reorders)
    if not reorders or all(phase.contraction is not None for phase in found):
        return found
    stages = _phases(stored_operands(fission(plan), symbols), symbols, reorders, apart=True)
    products = [math.prod(each.contraction.extents) for each in stages if each.contraction is not None]
    most = max(products, default=0)
    others = (each for each in stages if each.contraction is None)
    are_passes = all(iterations(each.plan.action, most, each.stores, symbols) <= most for each in others)
    needed = sum(_table_bytes(each, symbols) for each in stages)
    return stages if products and are_passes and needed <= memory else found


def _table_bytes(phase: Phase, symbols: Symbols) -> float:
    """Return the bytes of what a phase makes, if that is a table or the result of a dense contraction."""
    if phase.contraction is not None:
        return phase.contraction.result_bytes
    if not isinstance(phase.filled, TableStore):
        return 0.0
    extents = (bounds(extent, symbols).high for extent in phase.filled.extents)
    return phase.filled.type.itemsize * math.prod(math.inf if each is None else each for each in extents)


def _phases(plan: Plan, symbols: Symbols, reorders: bool, *, apart: bool = False) -> tuple[Phase, ...]:
    surely: dict[str, bool] = {}
    likely: dict[str, bool] = {}

    def completed(phase: Phase) -> Phase:
        known = phase.known(symbols)
        names = [store_name(number) for number in reversed(range(len(phase.stores)))]
        action, zero = phase.plan.action, phase.filled.zero if phase.filled is not None else None
        is_safe = is_finite(action, known, tuple(surely[name] for name in names))
        may_be_safe = is_finite(action, known, tuple(likely[name] for name in names), is_made_so=True)
        if isinstance(phase.filled, ScalarStore | TableStore):
            (name,) = phase.fills
            is_zero_finite = zero is None or math.isfinite(zero)
            surely[name] = is_safe and is_zero_finite and (not phase.continues or surely[name])
            likely[name] = may_be_safe and is_zero_finite and (not phase.continues or likely[name])
        split = split_of(phase.plan, known, reorders=reorders)
        is_swept = not phase.continues and (split is None or split.parts is not Parts.COMBINED)
        product = contraction(phase.plan, phase.stores, known) if reorders and may_be_safe else None
        return replace(
            phase,
            split=split,
            contraction=product,
            is_checked=product is not None and not is_safe,
            swept=swept(phase.plan, known) if is_swept else 0,
            block=0 if split is None or phase.continues else block(split, known),
        )

    return tuple(map(completed, _steps(Phase(plan), symbols, count(), apart)))


def _steps(this: Phase, symbols: Symbols, numbers: Iterator[int], apart: bool) -> Iterator[Phase]:
    """Yield what ``this`` does, one thing after the other; stores of rows are given ``numbers``.

    What is added up is taken ``apart`` in any case, or where something is gained by it.
    """
    plan, known = this.plan, this.known(symbols)
    match plan.action:
        case Bind(RowsStore() as store, value, body) if fills_rows(value, store.extents[0]):
            rows = RowArrays(next(numbers), store)
            yield replace(
                this,
                plan=Plan(rows.destination(known), value),
                filled=store,
                fills=rows.names,
                continues=False,
            )
            after = replace(plan, action=rows.read(body))
            yield from _steps(
                replace(this, plan=after, arrays=(*this.arrays, *rows.symbols(known))),
                symbols,
                numbers,
                apart,
            )
        case Bind(store, value, body) if (
            not isinstance(value, Accumulate) and (destination := destination_of(store)) is not None
        ):
            name = store_name(len(this.stores))
            for number, each in enumerate(_groups(Plan(destination, value), this.stores, known, apart)):
                yield replace(this, plan=each, filled=store, fills=(name,), continues=number > 0)
            after = replace(plan, action=body)
            yield from _steps(
                replace(this, plan=after, stores=(store, *this.stores)), symbols, numbers, apart
            )
        case _:
            groups = _groups(plan, this.stores, known, apart)
            if len(groups) == 1:
                yield this
                return
            for number, each in enumerate(groups):
                part = replace(this, plan=each, continues=this.continues or number > 0)
                yield from _steps(part, symbols, numbers, apart)


def _is_dense(destination: Destination) -> bool:
    """Return whether a result can be continued: places that hold the zero until something is added.

    A product cannot: a zero among its factors makes it zero whatever comes later, inf and NaN included.
    """
    match destination:
        case Levels(levels, ScalarStore(operator=operator, zero=zero)):
            is_added = zero is not None and operator != "multiply"
            return is_added and all(isinstance(level, Place) for level in levels)
        case _:
            return False


def _parts(action: Action) -> list[Action]:
    """Return actions that do together what ``action`` does; what is cheap is done for each."""
    match action:
        case Together(actions) if actions:
            return [part for each in actions for part in _parts(each)]
        case Bind(ScalarStore() as store, Accumulate() as value, body):
            return [Bind(store, value, part) for part in _parts(body)]
        case _:
            return [action]


def _groups(plan: Plan, stores: tuple[Store, ...], symbols: Symbols, apart: bool) -> list[Plan]:
    """Return plans that do one after the other what ``plan`` does.

    Unless they are taken ``apart``, products of matrices in front, neighbours stay together that nothing is
    gained by taking apart: loops that can be run in the same parts, and what is not run in parts at all.
    """
    if not _is_dense(plan.destination):
        return [plan]
    if apart:
        parts = (replace(plan, action=each) for each in summands(plan.action))
        return sorted(parts, key=lambda part: contraction(part, stores, symbols) is None)
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
    if both is None or None in splits:
        return False
    return all(split.parts.are_apart == both.parts.are_apart for split in splits if split is not None)
