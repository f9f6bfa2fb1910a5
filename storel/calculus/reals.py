"""Whether a term computes with reals: if it does not, its sums and products may be taken in any order.

Sums and products of integers are exact modulo 2^32 or 2^64, and reals that are only compared, counted or
handed on are not rounded.
"""

from __future__ import annotations

from storel.calculus.apart import determined
from storel.calculus.binders import binder_facts
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Apply, Merge, Multiply, Reduce, Sum, Term, children
from storel.calculus.one_to_one import is_one_to_one
from storel.calculus.verify import Type, infer
from storel.symbols import Symbols

ELEMENT, POSITION = 0, 1
"""The variables that a loop binds, the innermost first."""


def computes_reals(
    term: Term, symbols: Symbols, types: tuple[Type, ...] = (), intervals: tuple[Interval, ...] = ()
) -> bool:
    """Return whether a part of ``term`` adds, multiplies or applies a function, and gives reals.

    The variables around it are of these ``types`` and within these ``intervals``, the innermost first.
    """
    found_types, found_intervals = binder_facts(term, symbols, types, intervals)
    inner_types, inner_intervals = (*reversed(found_types), *types), (*reversed(found_intervals), *intervals)
    match term:
        case Sum(source, body):
            is_computed = not is_once(source, body, symbols, inner_intervals)
        case _:
            is_computed = isinstance(term, Add | Multiply | Apply | Reduce | Merge)
    if is_computed and infer(term, symbols, types).scalar.is_real:
        return True
    return any(
        computes_reals(child, symbols, inner_types, inner_intervals)
        if binders
        else computes_reals(child, symbols, types, intervals)
        for child, binders in children(term)
    )


def is_once(source: Term, body: Term, symbols: Symbols, intervals: tuple[Interval, ...]) -> bool:
    """Return whether a sum evidently adds nothing: it makes each entry once, or finds one element."""
    found = determined(body, symbols, intervals).by_all
    return POSITION in found or (ELEMENT in found and is_one_to_one(source, symbols))
