"""Whether a term computes with reals: if it does not, its sums and products may be taken in any order.

Sums and products of integers are exact modulo 2^32 or 2^64, and reals that are only compared, counted or
handed on are not rounded.
"""

from __future__ import annotations

from storel.calculus.apart import determined
from storel.calculus.binders import seen_inside
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Apply, Find, Merge, Multiply, Reduce, Sum, Term
from storel.calculus.one_to_one import is_one_to_one, unique_keys
from storel.calculus.verify import Type, infer
from storel.calculus.walk import children
from storel.symbols import Symbols

ELEMENT, POSITION = 0, 1
"""The variables that a loop binds, the innermost first."""


def computes_reals(
    term: Term, symbols: Symbols, types: tuple[Type, ...] = (), intervals: tuple[Interval, ...] = ()
) -> bool:
    """Return whether a part of ``term`` adds, multiplies or applies a function, and gives reals.

    The variables around it are of these ``types`` and within these ``intervals``, the innermost first.
    """
    inside = seen_inside(term, symbols, types, intervals)
    match term:
        case Sum() | Find() | Merge():
            is_computed = not is_once(term, symbols, inside[1])
        case _:
            is_computed = isinstance(term, Add | Multiply | Apply | Reduce)
    if is_computed and infer(term, symbols, types).scalar.is_real:
        return True
    return any(
        computes_reals(child, symbols, *(inside if binders else (types, intervals)))
        for child, binders in children(term)
    )


def is_once(loop: Sum | Find | Merge, symbols: Symbols, intervals: tuple[Interval, ...]) -> bool:
    """Return whether a loop evidently adds nothing: it makes each entry once, or finds one element.

    What its body sees is within ``intervals``, the innermost first.
    """
    match loop:
        case Find(source):
            return is_one_to_one(source, symbols)
        case Sum(source, body) if unique_keys(source, body, symbols) == 0:
            found = determined(body, symbols, intervals).by_all
            return POSITION in found or (ELEMENT in found and is_one_to_one(source, symbols))
        case Sum():
            return True
        case Merge():
            return False
