"""Numbers that a loop reads under a condition, but always at the same place, are read before it.

    sum(<j, _> in 0:n) if c(j) then e(m(i), j)   =   let x = m(i) in sum(<j, _> in 0:n) if c(j) then e(x, j)

A compiler may not read what the condition keeps from being read, and makes no vector code of such a loop.
Here it is known what can be read in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storel.calculus.binders import seen_inside
from storel.calculus.binding import free_variables, is_outside, shift
from storel.calculus.intervals import Context
from storel.calculus.nodes import If, Let, Lookup, Range, Sum, Symbol, Term
from storel.calculus.safety import is_safe
from storel.calculus.verify import Type
from storel.calculus.walk import children
from storel.optimizer.terms.occurrences import abstracted, has_loop, replaced
from storel.symbols import Symbols


def name_steady(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` (closed) with a name for what its innermost loops over ranges read again and again."""
    return _name_steady(term, symbols, (), ()) if _asks(term) else term


def _asks(term: Term) -> bool:
    """Return whether there is a condition in ``term``."""
    return isinstance(term, If) or any(_asks(child) for child, _ in children(term))


def _name_steady(term: Term, symbols: Symbols, types: tuple[Type, ...], intervals: Context) -> Term:
    if not has_loop(term):
        return term
    for position, (child, binders) in enumerate(children(term)):
        inner_types, inner = types, intervals
        if binders:
            inner_types, inner = seen_inside(term, symbols, types, intervals)
        made = _name_steady(child, symbols, inner_types, inner)
        if made is not child:
            term = replaced(term, (position,), made)
    if isinstance(term, Sum) and isinstance(term.source, Range) and not has_loop(term.body):
        reads = dict.fromkeys(_steady_reads(term.body))
        return _named(term, [read for read in reads if is_safe(read, symbols, types, intervals)])
    return term


def _named(term: Term, reads: Sequence[Term]) -> Term:
    for count, read in enumerate(reads, 1):
        term = abstracted(shift(term, 1), shift(read, count), 0)
    for count, read in reversed(list(enumerate(reads))):
        term = Let(shift(read, count), term)
    return term


def _steady_reads(term: Term, below: int = 2, *, is_conditional: bool = False) -> Iterator[Term]:
    """Yield what is read of arrays under conditions, and is the same for all of the loop's variables.

    It is seen from outside of the loop, whose variables are the last of ``below``.
    """
    match term:
        case Lookup(Symbol(), key) if is_conditional and free_variables(key) and is_outside(key, below):
            yield shift(term, -below)
        case If(condition, body):
            yield from _steady_reads(condition, below, is_conditional=is_conditional)
            depends = not is_outside(condition, below)
            yield from _steady_reads(body, below, is_conditional=is_conditional or depends)
        case _:
            for child, binders in children(term):
                yield from _steady_reads(child, below + binders, is_conditional=is_conditional)
