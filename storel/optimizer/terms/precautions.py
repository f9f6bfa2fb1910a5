"""What may fail behind what says that it is not needed.

    if a(e) != 0 then if e < n then b   =>   if e < n then if a(e) != 0 then b      e is only known to be >= 0
    a(e) * sum(R) b                     =>   let t = sum(R) b in if t != 0 then a(e) * t

To rules both sides are equal, since what an array holds outside of its bounds changes nothing: they put
conditions in any order, and take factors out of loops, which may not run. To read there fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from storel.calculus.binders import binder_facts
from storel.calculus.binding import shift
from storel.calculus.bounds import narrowed
from storel.calculus.domains import Domains, binder_domains
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Apply, If, Let, Multiply, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type, infer, zero_literal
from storel.calculus.walk import children
from storel.optimizer.terms.occurrences import has_loop, replaced
from storel.optimizer.terms.products import factors
from storel.symbols import Symbols


def cautious(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` with conditions of the same body in such an order that those in front are safe.

    Factors of a sum that may fail are only evaluated where it is not zero.
    """
    return _cautious(term, _Place(symbols)) if _may_be_cautious(term) else term


def _may_be_cautious(term: Term) -> bool:
    """Return whether a body in ``term`` has several conditions, or a sum is multiplied."""
    match term:
        case If(_, If()):
            return True
        case Multiply(left, right) if has_loop(left) or has_loop(right):
            return True
        case _:
            return any(_may_be_cautious(child) for child, _ in children(term))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a term stands: what is known of the variables around it, the innermost first, and what holds."""

    symbols: Symbols
    types: tuple[Type, ...] = ()
    intervals: tuple[Interval, ...] = ()
    domains: Domains = ()
    conditions: tuple[Term, ...] = ()

    def below(self, term: Term, position: int, binders: int) -> _Place:
        """Return the place of a child of ``term``."""
        if isinstance(term, If) and position == 1:
            return self.where(term.condition)
        if not binders:
            return self
        types, intervals = binder_facts(term, self.symbols, self.types, self.intervals)
        return _Place(
            self.symbols,
            (*reversed(types), *self.types),
            (*reversed(intervals), *self.intervals),
            (*reversed(binder_domains(term, binders)), *self.domains),
            tuple(shift(each, binders) for each in self.conditions),
        )

    def where(self, condition: Term) -> _Place:
        """Return the same place behind a condition."""
        inner = narrowed(condition, self.symbols, self.intervals)
        return _Place(self.symbols, self.types, inner, self.domains, (*self.conditions, condition))

    def is_safe(self, term: Term) -> bool:
        return is_safe(
            term, self.symbols, self.types, self.intervals, domains=self.domains, conditions=self.conditions
        )


def _cautious(term: Term, place: _Place) -> Term:
    if isinstance(term, If) and isinstance(term.body, If):
        term = _in_order(term, place)
    if isinstance(term, Multiply):
        term = _sum_first(term, place)
    for position, (child, binders) in enumerate(children(term)):
        if not _may_be_cautious(child):
            continue
        made = _cautious(child, place.below(term, position, binders))
        if made is not child:
            term = replaced(term, (position,), made)
    return term


def _in_order(term: If, place: _Place) -> Term:
    """Return ``term`` with its conditions reordered: each is the first left that is proved safe, if any."""
    asked: list[Term] = []
    body: Term = term
    while isinstance(body, If) and body.semiring == term.semiring:
        asked.append(body.condition)
        body = body.body
    placed: list[Term] = []
    waiting = asked.copy()
    while waiting:
        safe = (each for each in waiting if place.is_safe(each))
        placed.append(next(safe, waiting[0]))
        waiting.remove(placed[-1])
        place = place.where(placed[-1])
    if placed == asked:
        return term
    for condition in reversed(placed):
        body = If(condition, body, term.semiring)
    return body


def _sum_first(term: Multiply, place: _Place) -> Term:
    """Return a product of numbers with factors that may fail behind the question whether a sum is zero."""
    parts = factors(term, term.semiring)
    if not any(map(has_loop, parts)) or infer(term, place.symbols, place.types).rank > 0:
        return term
    first = _asked_first(parts, place)
    if len(first) in (0, len(parts)):
        return term

    def product(left: Term, right: Term) -> Term:
        return Multiply(left, right, term.semiring)

    asked = reduce(product, first)
    zero = zero_literal(infer(asked, place.symbols, place.types), term.semiring)
    others = [shift(part, 1) for part in parts if part not in first]
    whole = reduce(product, [*others, Variable(0)])
    return Let(asked, If(Apply("not_equal", (Variable(0), zero)), whole, term.semiring))


def _asked_first(parts: list[Term], place: _Place) -> list[Term]:
    """Return the factors that say whether the others are needed: a sum among them, if possible a safe one."""
    safe = [part for part in parts if place.is_safe(part)]
    if any(map(has_loop, safe)):
        return safe
    return [part for part in parts if part in safe or has_loop(part)]
