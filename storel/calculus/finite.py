"""Whether values can be inf or NaN, which a product by zero must then be guarded against."""

from __future__ import annotations

import math

from storel.calculus.nodes import (
    Apply,
    If,
    Literal,
    Lookup,
    Range,
    Reduce,
    Singleton,
    Slice,
    Symbol,
    Term,
    children,
)
from storel.symbols import ArraySymbol, ParameterSymbol, Symbols

_MAY_OVERFLOW = frozenset({"divide", "exp", "log", "sqrt", "power", "floor_divide", "modulo"})
"""Functions that make inf or NaN of finite numbers."""


def is_finite(term: Term, symbols: Symbols, *, is_made_so: bool = False) -> bool:
    """Return whether no value that ``term`` reads or makes can be inf or NaN, overflow excepted.

    ``is_made_so`` says to take it that all functions make finite numbers of finite ones.
    """
    match term:
        case Apply("divide", (dividend, Literal(value))) if value != 0:
            return math.isfinite(value) and is_finite(dividend, symbols, is_made_so=is_made_so)
        case Apply(function, _) if function in _MAY_OVERFLOW and not is_made_so:
            return False
        case Reduce("least" | "greatest"):
            return False
        case Literal(value):
            return math.isfinite(value)
        case Symbol(name):
            fact = symbols[name]
            return not isinstance(fact, ArraySymbol | ParameterSymbol) or fact.finite
        case Range():
            return True
        case Lookup(part, _) | Slice(part, _, _) | Singleton(_, part) | If(_, part):
            # keys, positions and conditions are integers
            return is_finite(part, symbols, is_made_so=is_made_so)
        case _:
            return all(is_finite(child, symbols, is_made_so=is_made_so) for child, _ in children(term))
