"""Sums that are added to something get a name, so that each is complete before it is added.

    a + sum(R) e           =>  let t = sum(R) e in a + t
    D + sum(R) {k -> e}    =>  let t = sum(R) {k -> e} in D + t        unless each entry is made once

A plan adds what a loop makes to where the whole sum goes, one after the other, which shows in the last bits
of reals. Where floating point is strict, what is written in brackets is added up first. Only a loop in the
body of another one remains one with it: it is the same term as the loop over the entries of both.
"""

from __future__ import annotations

from storel.calculus.binders import seen_inside
from storel.calculus.binding import shift
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Find, Let, Merge, Sum, Term, Variable
from storel.calculus.reals import is_once
from storel.calculus.verify import Type, infer
from storel.calculus.walk import children, map_children
from storel.optimizer.terms.occurrences import has_loop, is_value
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols


def in_brackets(
    term: Term, symbols: Symbols, types: tuple[Type, ...] = (), intervals: tuple[Interval, ...] = ()
) -> Term:
    """Return ``term`` with names for the sums of reals in it that are added to something.

    The variables around it are of these ``types`` and within these ``intervals``, the innermost first.
    """
    inside = seen_inside(term, symbols, types, intervals)

    def visit(child: Term, binders: int) -> Term:
        return in_brackets(child, symbols, *(inside if binders else (types, intervals)))

    term = map_children(term, visit)
    if not (isinstance(term, Add) and SEMIRINGS[term.semiring].plus_name == "add"):
        return term
    kind = infer(term, symbols, types)
    if not kind.scalar.is_real:
        return term
    if kind.rank > 0:
        return _added(term.left, term.right, term) if _adds(term.right, symbols, types, intervals) else term
    if has_loop(term.left):
        inner = Add(Variable(0), shift(term.right, 1), term.semiring)
        return Let(term.left, _added(inner.left, inner.right, inner) if has_loop(inner.right) else inner)
    return _added(term.left, term.right, term) if has_loop(term.right) else term


def _added(left: Term, right: Term, term: Add) -> Let:
    """Return ``left + right`` with a name for what is on the right."""
    return Let(right, Add(shift(left, 1), Variable(0), term.semiring))


def _adds(term: Term, symbols: Symbols, types: tuple[Type, ...], intervals: tuple[Interval, ...]) -> bool:
    """Return whether entries of a dictionary may be sums, or it has a name already."""
    inside = seen_inside(term, symbols, types, intervals)
    match term:
        case Add():
            return True
        case Sum() | Find() | Merge() if not is_once(term, symbols, inside[1]):
            return True
        case _:
            return any(
                _adds(child, symbols, *(inside if binders else (types, intervals)))
                for place, (child, binders) in enumerate(children(term))
                if is_value(term, place)
            )
