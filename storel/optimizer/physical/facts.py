"""What the planner asks of arrays and segments."""

from __future__ import annotations

from collections.abc import Sequence

from storel.calculus.bounds import bounds, elements
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Literal, Symbol, Term, Variable
from storel.calculus.one_to_one import is_segment
from storel.plan.nodes import Accumulate, Action, Bind, Elements, Enter, Guard, Loop, ScalarStore
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

ZERO = Literal(0, ScalarType.INT64)
ONE = Literal(1, ScalarType.INT64)
LARGEST = 2**63 - 1
"""The largest key."""


def array(symbols: Symbols, name: str) -> ArraySymbol:
    """Return what is known about the array ``name``."""
    fact = symbols[name]
    assert isinstance(fact, ArraySymbol)
    return fact


def size_term(symbols: Symbols, value: int) -> Term:
    """Return the size symbol with this value, the first known, so that the kernel is not specialized."""
    names = (fact.name for fact in symbols.values() if isinstance(fact, SizeSymbol) and fact.value == value)
    name = next(names, None)
    return Literal(value, ScalarType.INT64) if name is None else Symbol(name)


def is_increasing(symbols: Symbols, name: str, low: Term, high: Term) -> bool:
    """Return whether the elements of the segment strictly increase, by what is declared."""
    fact = array(symbols, name)
    return fact.increasing or (fact.within is not None and is_segment(fact.within, low, high))


def is_ascending(symbols: Symbols, name: str) -> bool:
    """Return whether no element of the array is less than one before it."""
    return array(symbols, name).never_descends


def united(
    parts: Sequence[Action], intervals: tuple[Interval, ...], symbols: Symbols
) -> tuple[Loop | Enter, ...]:
    """Return the parts of a sum as the branches of a union: scans, and values at single keys; else none."""
    entering = map(_entering, parts)
    branches = [
        part for part in entering if isinstance(part, Loop | Enter) and _is_branch(part, intervals, symbols)
    ]
    is_union = len(branches) == len(parts) > 1 and any(isinstance(branch, Loop) for branch in branches)
    return tuple(branches) if is_union else ()


def _entering(part: Action) -> Action:
    """Return a loop that enters some of its elements as one that enters each, but adds nothing to others."""
    match part:
        case Loop(Elements() as source, body) if (added := _added(body, 0)) is not None:
            return Loop(source, Enter(Variable(0), added))
        case _:
            return part


def _added(action: Action, element: int) -> Action | None:
    """Return what ``action`` adds at the variable ``element``, if it enters that and nothing else."""
    match action:
        case Enter(Variable(key), body) if key == element:
            return body
        case Guard(condition, body) if (added := _added(body, element)) is not None:
            return Guard(condition, added)
        case Bind(ScalarStore() as store, value, body) if (added := _added(body, element + 1)) is not None:
            return Bind(store, value, added)
        case _:
            return None


def _is_branch(part: Loop | Enter, intervals: tuple[Interval, ...], symbols: Symbols) -> bool:
    """Return whether a part enters the elements of a segment, which strictly increase, or one value.

    None of its keys is the largest, which stands for the end of a scan.
    """
    match part:
        case Loop(Elements(name, low, high), Enter(Variable(0), _)):
            in_order, keys = is_increasing(symbols, name, low, high), elements(array(symbols, name))
        case Enter(key, Accumulate()):
            in_order, keys = True, bounds(key, symbols, intervals)
        case _:
            return False
    return in_order and keys.high is not None and keys.high < LARGEST
