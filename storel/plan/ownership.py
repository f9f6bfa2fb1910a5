"""Which places of a result iterations of a loop have for themselves, so that threads need not wait.

    loop i in 0:n: enter i: …                                  place i is that of iteration i
    loop i in 0:n: loop j in 0:4: enter 4 * i + j: …           so are four places
    loop i in 0:n: together (enter i: …), (enter i + 1: …)     is not: i + 1 is a place of the next one, too

A key tells which iteration enters it where it is a number whose values differ by ``base`` at least from one
iteration to another, plus a digit below that. All keys that are entered must tell it alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.intervals import ANY, Context
from storel.calculus.nodes import Add, Lookup, Multiply, Range, Slice, Symbol, Term, Variable
from storel.plan.binding import binders
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Guard,
    Loop,
    Positions,
    Source,
    Together,
    Unite,
)
from storel.symbols import ArraySymbol, Symbols

FEWEST_RUNS = 64
"""Fewer runs of equal elements may not be divided evenly among threads."""


@dataclass(frozen=True, slots=True)
class _Owned:
    """The places whose key at a ``level`` is ``number``, a term of the loop's variables, plus a digit.

    Different iterations have numbers that differ by ``base`` or more; digits are ``low`` … ``high``. Keys may
    be looked up by that in unique ``arrays``, one after the other.
    """

    level: int
    number: Term
    base: int
    low: int = 0
    high: int = 0
    arrays: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Inside:
    """A place in the body of a loop: what is known there, below how many binders, and after how many keys.

    The variables ``own`` of the loop differ from one iteration to another.
    """

    symbols: Symbols
    own: frozenset[int]
    context: Context
    depth: int = 0
    level: int = 0

    def below(self, context: Context) -> _Inside:
        """Return the same below the binders that were added to ``context``."""
        return replace(self, context=context, depth=self.depth + len(context) - len(self.context))


def enter_their_own(loops: Sequence[Loop], symbols: Symbols, *, by_runs: bool = False) -> bool:
    """Return whether different iterations of loops with one source are proved to enter different places.

    Or else it says so ``by_runs`` of iterations that are not in the same run of equal elements.
    """
    found = [_owned(loop.body, inside) for loop in loops for inside in _bodies(loop.source, symbols, by_runs)]
    return len(found) == len(loops) and bool(reduce(_common, found))


def _bodies(source: Source, symbols: Symbols, by_runs: bool) -> Iterator[_Inside]:
    """Yield the body of a loop over ``source``, if its iterations, or their runs, can be told apart."""
    match source:
        case Positions():
            own = frozenset({0, 1})
        case Elements(array):
            are_told = _is_unique(array, symbols) or (by_runs and _has_runs(array, symbols))
            own = frozenset({0, 1}) if are_told else frozenset({1})
        case _:
            return
    yield _Inside(symbols, own, _with_binders(source, (), symbols))


def _has_runs(array: str, symbols: Symbols) -> bool:
    """Return whether equal elements of an array follow each other, and there are many different ones."""
    fact = symbols[array]
    return isinstance(fact, ArraySymbol) and fact.never_descends and (fact.distinct or 0) >= FEWEST_RUNS


def _is_unique(array: str, symbols: Symbols) -> bool:
    fact = symbols[array]
    return isinstance(fact, ArraySymbol) and (fact.increasing or fact.unique)


def _owned(action: Action, inside: _Inside) -> frozenset[_Owned]:
    """Return the places that every key that ``action`` enters is one of, each way to tell them."""
    match action:
        case Accumulate():
            return frozenset()
        case Enter(key, body):
            return _told(key, inside) | _owned(body, replace(inside, level=inside.level + 1))
        case Guard(_, body):
            return _owned(body, inside)
        case Loop(source, body):
            return _owned(body, inside.below(_with_binders(source, inside.context, inside.symbols)))
        case Bind(_, _, body):
            return _owned(body, inside.below((ANY, *inside.context)))
        case Together(actions) | Unite(actions):
            found = [_owned(part, inside) for part in actions]
            return reduce(_common, found) if found else frozenset()


def _common(one: frozenset[_Owned], other: frozenset[_Owned]) -> frozenset[_Owned]:
    """Return what owns the places of both."""
    both: set[_Owned] = set()
    for left in one:
        for right in other:
            low, high = min(left.low, right.low), max(left.high, right.high)
            if replace(left, low=low, high=high) == replace(right, low=low, high=high):
                both.update([replace(left, low=low, high=high)] if high - low < left.base else [])
    return frozenset(both)


def _told(key: Term, inside: _Inside) -> frozenset[_Owned]:
    """Return in which ways ``key`` tells the iteration that enters it."""
    match key:
        case Lookup(Symbol(name), inner) if _is_unique(name, inside.symbols):
            return frozenset(replace(each, arrays=(name, *each.arrays)) for each in _told(inner, inside))
        case Add(left, right, "plus_times"):
            return frozenset(
                found
                for scaled, rest in ((left, right), (right, left))
                for found in _with_digit(scaled, rest, inside)
            )
        case _:
            base = _distance(key, inside)
            if base == 0:
                return frozenset()
            return frozenset({_Owned(inside.level, shift(key, -inside.depth), base)})


def _with_digit(scaled: Term, rest: Term, inside: _Inside) -> Iterator[_Owned]:
    base = _distance(scaled, inside)
    digit = bounds(rest, inside.symbols, inside.context)
    if base > 0 and digit.low is not None and digit.high is not None and digit.high - digit.low < base:
        yield _Owned(inside.level, shift(scaled, -inside.depth), base, digit.low, digit.high)


def _distance(term: Term, inside: _Inside) -> int:
    """Return by how much values of ``term`` differ at least from one iteration to another; 0 if unknown."""
    match term:
        case Variable(index):
            return int(index - inside.depth in inside.own)
        case Lookup(Symbol(name), inner):
            return int(_is_unique(name, inside.symbols) and _distance(inner, inside) > 0)
        case Multiply(left, right, "plus_times"):
            for scaled, factor in ((left, right), (right, left)):
                interval = bounds(factor, inside.symbols, inside.context)
                is_constant = interval.low is not None and interval.low == interval.high
                if is_constant and not free_variables(factor):
                    return abs(interval.low or 0) * _distance(scaled, inside)
            return 0
        case _:
            return 0


def _with_binders(source: Source, context: Context, symbols: Symbols) -> Context:
    """Return ``context`` with the binders of ``source``."""
    match source:
        case Positions(low, high):
            key, value = binder_bounds(Range(low, high), symbols, context)
            return (value, key, *context)
        case Elements(array, low, high):
            key, value = binder_bounds(Slice(Symbol(array), low, high), symbols, context)
            return (value, key, *context)
        case _:
            return (*[ANY] * binders(source), *context)
