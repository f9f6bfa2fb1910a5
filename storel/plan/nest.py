"""Loops around one value, by their numbers: what dense contractions are found in.

    loop i in 0:m: enter i: bind t <- a(i): loop j in 0:n: guard t != 0: accumulate t · b(j) / d(j)

has loops 0 and 1, of which the first is entered, the value a(0) · b(1) / d(1), whose variables are loops,
and its factors are a(0), b(1) and 1 / d(1). A condition is a factor, too, 1 where it holds; what asks whether
another factor is zero is none, unless that may be divided by zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.binding import shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import ANY, Context, Interval
from storel.calculus.nodes import Apply, If, Let, Literal, Lookup, Multiply, Term, Variable
from storel.calculus.strictness import vanishes
from storel.calculus.walk import length, map_children
from storel.plan.copies import Key, copied_keys
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Entries,
    Guard,
    Loop,
    Positions,
    ScalarStore,
    Store,
    TableStore,
)
from storel.scalars import ScalarType
from storel.symbols import Symbols

ONE = Literal(1.0, ScalarType.FLOAT64)
ZERO = Literal(0, ScalarType.INT64)

MOST_NODES = 256
"""How long a value may be that is written out: names of names grow with each use, out of all bounds."""

Binders: TypeAlias = "tuple[int | Term, ...]"
"""What each binder around a term stands for, the innermost first: the loop of this number, or a value."""


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops from 0 around one value: their extents, and the numbers of those whose variables are entered.

    The variables of the ``value``, and of the ``conditions`` under which it is added, are the loops' numbers;
    behind them are the stores.
    """

    extents: tuple[int, ...]
    entered: tuple[int, ...]
    value: Term
    conditions: tuple[Term, ...] = ()

    def context(self, stores: int = 0) -> Context:
        """Return the bounds of the loops' variables, and of so many stores behind them."""
        return (*(Interval(0, extent - 1) for extent in self.extents), *(ANY,) * stores)

    @property
    def factors(self) -> tuple[Term, ...]:
        """The factors of the value; a division by d is a factor 1 / d, a condition c one ``if c then 1``."""
        asked = (If(condition, ONE) for condition in self.conditions)
        return tuple(_needed((*_factors(self.value), *asked)))


def nest_of(action: Action, stores: tuple[Store, ...], symbols: Symbols) -> Nest | None:
    """Return ``action`` as a nest of loops around one value; a table that is only copied counts as none.

    A loop over the entries of a row is one over all of its places where those without an entry add nothing.
    """
    extents: list[int] = []
    rows: list[int] = []
    binders: Binders = ()
    entered: list[int | Term] = []
    conditions: list[tuple[Term, Binders]] = []
    copy: _Copy | None = None
    while True:
        match action:
            case Loop(Positions(Literal(0), high), body):
                extent = constant(high, symbols) or 0
                binders = (len(extents), len(extents), *binders)
                extents.append(extent)
            case Loop(Entries(row), body):
                extent = row_extent(row, len(binders), stores, symbols)
                binders = (Lookup(shift(row, 1), Variable(0)), len(extents), *binders)
                rows.append(len(binders))
                conditions.append((Apply("not_equal", (Variable(0), ZERO)), binders))
                extents.append(extent)
            case Enter(Variable(index), body) if index < len(binders):
                entered.append(binders[index])
            case Bind(ScalarStore(), Accumulate(value), body):
                binders = (value, *binders)
            case Guard(condition, body):
                conditions.append((condition, binders))
            case Bind(TableStore() as store, body, copying) if copy is None:
                keys = copied_keys(copying, store.extents)
                if keys is None:
                    return None
                copy, entered = _Copy(keys, tuple(entered), binders), []
            case Accumulate(value):
                reached = entered if copy is None else copy.entered(entered)
                loops = tuple(loop for loop in reached if isinstance(loop, int))
                is_nest = all(extents) and len(set(loops)) == len(reached)
                is_nest = is_nest and all(_vanishes_without(each, value, binders) for each in rows)
                if not is_nest:
                    return None
                known = _resolved(binders, len(extents))
                if known is None:
                    return None
                parts = ((value, binders), *conditions)
                made = [
                    _by_loops(part, known[len(binders) - len(outside) :], len(extents))
                    for part, outside in parts
                ]
                is_short = all(length(part) <= MOST_NODES for part in made)
                return Nest(tuple(extents), loops, made[0], tuple(made[1:])) if is_short else None
            case _:
                return None
        action = body


def _vanishes_without(entry: int, value: Term, binders: Binders) -> bool:
    """Return whether ``value`` is zero where that binder, counted from outside, stands for a zero."""
    zeros = 0
    for number, stands_for in enumerate(reversed(binders), 1):
        is_zero = not isinstance(stands_for, int) and vanishes(stands_for, zeros)
        zeros = zeros << 1 | (is_zero or number == entry)
    return vanishes(value, zeros)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A table that is copied: the keys of the copy, what was entered before it, and the binders around it."""

    keys: tuple[Key, ...]
    before: tuple[int | Term, ...]
    outside: Binders

    def entered(self, table: list[int | Term]) -> list[int | Term]:
        """Return what is entered in all, where ``table`` is what the filling of the table enters."""
        keys = (table[key.index] if key.is_of_table else self.outside[key.index] for key in self.keys)
        return [*self.before, *keys]


def row_extent(row: Term, binders: int, stores: tuple[Store, ...], symbols: Symbols) -> int:
    """Return the length of a row of a table, which stands under so many binders; 0 if it is none."""
    depth = 0
    while isinstance(row, Lookup):
        row, depth = row.mapping, depth + 1
    store = stores[row.index - binders] if isinstance(row, Variable) and row.index >= binders else None
    if not isinstance(store, TableStore) or len(store.extents) != depth + 1:
        return 0
    return constant(store.extents[depth], symbols) or 0


def product(factors: Sequence[Term], one: Literal = ONE) -> Term:
    """Return what has these factors, among them quotients of 1 and conditions.

    Where a condition does not hold nothing is divided, which may be zero by zero.
    """
    whole: Term | None = None
    for factor in sorted(_needed(factors), key=lambda each: (isinstance(each, If), _is_quotient(each))):
        match factor:
            case Apply("divide", (dividend, divisor)) if dividend == ONE:
                whole = Apply("divide", (one if whole is None else whole, divisor))
            case If(condition, body) if body == ONE:
                whole = If(condition, one if whole is None else whole)
            case _:
                whole = factor if whole is None else Multiply(whole, factor)
    return one if whole is None else whole


def _factors(term: Term) -> Iterator[Term]:
    match term:
        case Multiply(left, right, "plus_times"):
            yield from _factors(left)
            yield from _factors(right)
        case Apply("divide", (dividend, Literal(divisor))) if divisor != 0 and math.isfinite(1.0 / divisor):
            yield from _factors(dividend)
            yield Literal(1.0 / divisor, ScalarType.FLOAT64)
        case Apply("divide", (dividend, divisor)):
            yield from _factors(dividend)
            yield Apply("divide", (ONE, divisor))
        case If(condition, body, "plus_times"):
            yield from _factors(body)
            yield If(condition, ONE)
        case _:
            yield term


def _needed(factors: Sequence[Term]) -> Iterator[Term]:
    """Yield factors, less conditions that another one is not zero: where it is zero, so is the product.

    That is not so if one is a quotient: 0 / 0 is not zero.
    """
    is_quotient = any(map(_is_quotient, factors))
    for factor in factors:
        match factor:
            case If(Apply("not_equal", (asked, Literal(0))), body) if body == ONE and asked in factors:
                if is_quotient:
                    yield factor
            case _:
                yield factor


def _is_quotient(factor: Term) -> bool:
    return isinstance(factor, Apply) and factor.function == "divide"


def _resolved(binders: Binders, count: int) -> tuple[Term, ...] | None:
    """Return what binders stand for by the numbers of ``count`` loops; None where that is too long."""
    known: tuple[Term, ...] = ()
    for each in reversed(binders):
        made = Variable(each) if isinstance(each, int) else _by_loops(each, known, count)
        if length(made) > MOST_NODES:
            return None
        known = (made, *known)
    return known


def _by_loops(term: Term, known: tuple[Term, ...], count: int) -> Term:
    """Return ``term`` with what is ``known`` of its variables, and the stores behind ``count`` loops."""
    match term:
        case Variable(index):
            return known[index] if index < len(known) else Variable(index - len(known) + count)
        case Let(value, body):
            return _by_loops(body, (_by_loops(value, known, count), *known), count)
        case _:
            return map_children(term, lambda child, _: _by_loops(child, known, count))


def constant(term: Term, symbols: Symbols) -> int | None:
    """Return the value of a term that has only one."""
    interval = bounds(term, symbols)
    return interval.low if interval.low == interval.high else None
