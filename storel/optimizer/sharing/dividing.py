"""A sum whose summands are all divided by the same term is divided once, as a whole.

    sum(R) … e / d …   =>  let x = sum(R) … e … in if x != 0 then x / d        d does not depend on R

and so for each entry where the sum is a dictionary, whose keys ``d`` may depend on: ``e / d(i, j)`` that is
entered at i and j. Conditions that kept 0 / 0 from being added up are left
out with the quotient: what remains is a product of what they asked for. As with all factors that are moved
through sums, what is added up last differs in its last bits, and where d is 0 or no number. Where keys tell
all iterations apart nothing is added up, and nothing is divided: 0 / 0 is NaN there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from storel.calculus.apart import determined
from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.intervals import Context, EntryBounds, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type, infer, zero_literal
from storel.calculus.walk import children, map_children
from storel.optimizer.physical.facts import ZERO, size_term
from storel.optimizer.terms.occurrences import is_value, occurrences, reindexed, replaced
from storel.scalars import ScalarType
from storel.symbols import Symbols

_RING = "plus_times"

_NO_BINDER = -1
"""Stands for a key that is no variable of a loop."""


def divided(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` (closed) with one sum divided as a whole."""
    for found in occurrences(term, symbols):
        loop = found.term
        if not isinstance(loop, Sum) or loop.semiring != _RING:
            continue
        kind = infer(loop, symbols, found.types)
        top = _Inside(kind.rank)
        divisors = dict.fromkeys(_divisors(loop, top))
        for divisor in divisors if divisors and _adds(loop, symbols, found.intervals) else ():
            whole = _undivided(loop, divisor, top)
            if whole is not None and not is_safe(whole, symbols, found.types, found.intervals):
                whole = _undivided(loop, divisor, replace(top, is_guarded=True))
            # Sums of integers may leave 64 bits, and those of float32 lose digits that quotients have.
            if whole is None or infer(whole, symbols, found.types) != kind:
                continue
            outside = shift(divisor, 1, 2 * kind.rank)
            yield replaced(term, found.path, Let(whole, _quotients(outside, kind.rank)))
            held = bounds(whole, symbols, found.intervals)
            looked_up = _by_keys(Variable(0), held, outside, symbols) if kind.rank > 0 else None
            if looked_up is not None:
                yield replaced(term, found.path, Let(whole, looked_up))


def _adds(term: Term, symbols: Symbols, context: Context) -> bool:
    """Return whether values of ``term`` are added up, as far as its loops' keys tell."""
    match term:
        case Sum(source, body):
            positions, elements = binder_bounds(source, symbols, context)
            inner = (elements, positions, *context)
            return not determined(body, symbols, inner).by_all or _adds(body, symbols, inner)
        case Singleton(_, body) | If(_, body):
            return _adds(body, symbols, context)
        case Let(value, body):
            return _adds(body, symbols, (bounds(value, symbols, context), *context))
        case Add() | Merge() | Find():
            return True
        case Multiply(left, right):
            return _adds(left, symbols, context) or _adds(right, symbols, context)
        case Apply("divide", (dividend, _)):
            return _adds(dividend, symbols, context)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where a term stands in one of a ``rank``: under so many ``binders``, and ``keys`` that are entered.

    Each key is the number of the binder, counted from outside, of the variable that it is. All
    conditions remain where it ``is_guarded``: what they guard may fail.
    """

    rank: int
    binders: int = 0
    keys: tuple[int, ...] = ()
    is_guarded: bool = False

    def under(self, term: Term, binders: int) -> _Inside:
        """Return where a child of ``term`` stands that is under so many binders more."""
        match term:
            case Singleton(Variable(index)) if index < self.binders:
                keys = (*self.keys, self.binders - 1 - index)
            case Singleton():
                keys = (*self.keys, _NO_BINDER)
            case _:
                keys = self.keys
        return replace(self, binders=self.binders + binders, keys=keys)

    def by_keys(self, divisor: Term) -> Term | None:
        """Return ``divisor`` in loops over the entries of what is made; None if it needs more than keys."""
        needed = {index for index in free_variables(divisor) if index < self.binders}
        if not all(self.binders - 1 - index in self.keys for index in needed):
            return None

        def entered(index: int) -> int:
            if index >= self.binders:
                return index - self.binders + 2 * self.rank
            level = self.keys.index(self.binders - 1 - index)
            return 2 * (self.rank - 1 - level) + 1

        return reindexed(divisor, entered)


def _divisors(term: Term, inside: _Inside) -> Iterator[Term]:
    """Yield what values in ``term`` are divided by that depends on nothing but keys in it."""
    match term:
        case Apply("divide", (_, divisor)) if (by_keys := inside.by_keys(divisor)) is not None:
            yield by_keys
        case _:
            pass
    for index, (child, binders) in enumerate(children(term)):
        if is_value(term, index):
            yield from _divisors(child, inside.under(term, binders))


def _undivided(term: Term, divisor: Term, inside: _Inside) -> Term | None:
    """Return ``term`` without its divisions by ``divisor``; None if it is not linear in these quotients."""

    def of(child: Term, binders: int = 0) -> Term | None:
        return _undivided(child, divisor, inside.under(term, binders))

    match term:
        case Apply("divide", (dividend, found)):
            if inside.by_keys(found) == divisor:
                return dividend
            made = of(dividend)
            return None if made is None else Apply("divide", (made, found))
        case Multiply(left, right, semiring) if semiring == _RING:
            if (made := of(left)) is not None:
                return Multiply(made, right, semiring)
            return None if (made := of(right)) is None else Multiply(left, made, semiring)
        case Add(left, right, semiring) if semiring == _RING:
            one, other = of(left), of(right)
            return None if one is None or other is None else Add(one, other, semiring)
        case If(condition, body, semiring) if semiring == _RING:
            made = of(body)
            if made is None or (not inside.is_guarded and _only_asks_for_a_factor(condition, made)):
                return made
            return If(condition, made, semiring)
        case Let():
            return _with_body(term, of)
        case Sum() | Merge() | Find() | Singleton() if term.semiring == _RING:
            return _with_body(term, of)
        case _:
            return None


def _with_body(term: Term, change: Callable[[Term, int], Term | None]) -> Term | None:
    """Return ``term`` with its last child, the body, changed."""
    last = len(children(term)) - 1
    body, binders = children(term)[last]
    made = change(body, binders)
    if made is None:
        return None
    position = iter(range(last + 1))
    return map_children(term, lambda child, _: made if next(position) == last else child)


def _only_asks_for_a_factor(condition: Term, body: Term) -> bool:
    """Return whether ``condition`` is that a factor of ``body`` is not zero, so that it changes nothing."""
    match condition:
        case Apply("not_equal", (asked, Literal(value))) if value == 0:
            return _has_factor(body, asked)
        case _:
            return False


def _has_factor(term: Term, factor: Term) -> bool:
    match term:
        case Multiply(left, right, semiring) if semiring == _RING:
            return _has_factor(left, factor) or _has_factor(right, factor)
        case Singleton(_, value, semiring) | If(_, value, semiring) if semiring == _RING:
            return _has_factor(value, factor)
        case Sum(_, body, semiring) if semiring == _RING:
            return _has_factor(body, shift(factor, 2))
        case _:
            return term == factor


def _quotients(divisor: Term, rank: int) -> Term:
    """Return what is variable 0, of a ``rank``, divided entry by entry; ``divisor`` stands in all loops."""
    if rank == 0:
        return _quotient(Variable(0), divisor)
    value = Apply("divide", (Variable(0), divisor)) if rank == 1 else _quotients(divisor, rank - 1)
    return Sum(Variable(0), Singleton(Variable(1), value))


def _by_keys(table: Term, held: Interval, divisor: Term, symbols: Symbols) -> Term | None:
    """Return ``table`` divided by ``divisor``, looked up key by key; None if its keys have no bound."""
    if not isinstance(held, EntryBounds):
        return _quotient(table, divisor)
    if held.keys.high is None:
        return None
    keys, row = Range(ZERO, size_term(symbols, held.keys.high + 1)), Lookup(shift(table, 2), Variable(1))
    value = _by_keys(row, held.values, divisor, symbols)
    return None if value is None else Sum(keys, Singleton(Variable(1), value))


def _quotient(dividend: Term, divisor: Term) -> Term:
    """Return a quotient of numbers: where the dividend is 0 there is nothing."""
    quotient = Apply("divide", (dividend, divisor))
    if isinstance(divisor, Literal) and divisor.value != 0:
        return quotient
    zero = zero_literal(Type(ScalarType.FLOAT64), _RING)
    return If(Apply("not_equal", (dividend, zero)), quotient)
