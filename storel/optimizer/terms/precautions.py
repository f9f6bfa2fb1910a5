"""Conditions that cannot fail, before those that may.

    if a(e) != 0 then if e < n then b   =>   if e < n then if a(e) != 0 then b      e is only known to be >= 0

To rules both are equal, since what an array holds outside of its bounds changes nothing. To read there fails.
"""

from __future__ import annotations

from storel.calculus.binders import binder_facts
from storel.calculus.bounds import narrowed
from storel.calculus.intervals import Interval
from storel.calculus.nodes import If, Term, children
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type
from storel.optimizer.terms.occurrences import replaced
from storel.symbols import Symbols


def cautious(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` with conditions of the same body in such an order that those in front are safe."""
    return _cautious(term, symbols, (), ()) if _asks_twice(term) else term


def _asks_twice(term: Term) -> bool:
    """Return whether a body in ``term`` has several conditions."""
    if isinstance(term, If) and isinstance(term.body, If):
        return True
    return any(_asks_twice(child) for child, _ in children(term))


def _cautious(term: Term, symbols: Symbols, types: tuple[Type, ...], intervals: tuple[Interval, ...]) -> Term:
    if isinstance(term, If) and isinstance(term.body, If):
        term = _in_order(term, symbols, types, intervals)
    for position, (child, binders) in enumerate(children(term)):
        inner_types, inner = types, intervals
        if binders:
            new_types, new = binder_facts(term, symbols, types, intervals)
            inner_types, inner = (*reversed(new_types), *types), (*reversed(new), *intervals)
        if isinstance(term, If) and position == 1:
            inner = narrowed(term.condition, symbols, intervals)
        made = _cautious(child, symbols, inner_types, inner)
        if made is not child:
            term = replaced(term, (position,), made)
    return term


def _in_order(term: If, symbols: Symbols, types: tuple[Type, ...], intervals: tuple[Interval, ...]) -> Term:
    """Return ``term`` with each condition in front of it the first that is proved not to fail, if one is."""
    asked: list[Term] = []
    body: Term = term
    while isinstance(body, If) and body.semiring == term.semiring:
        asked.append(body.condition)
        body = body.body
    placed: list[Term] = []
    waiting = asked.copy()
    while waiting:
        safe = (each for each in waiting if is_safe(each, symbols, types, intervals))
        placed.append(next(safe, waiting[0]))
        waiting.remove(placed[-1])
        intervals = narrowed(placed[-1], symbols, intervals)
    if placed == asked:
        return term
    for condition in reversed(placed):
        body = If(condition, body, term.semiring)
    return body
