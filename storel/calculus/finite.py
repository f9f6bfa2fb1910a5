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
from storel.symbols import ArraySymbol, Symbols

_MAY_OVERFLOW = frozenset({"divide", "exp", "log", "sqrt", "power", "floor_divide", "modulo"})
"""Functions that make inf or NaN of finite numbers."""


def is_finite(term: Term, symbols: Symbols) -> bool:
    """Return whether no value that ``term`` reads or makes can be inf or NaN, overflow excepted."""
    match term:
        case Apply("divide", (dividend, Literal(value))) if value != 0:
            return math.isfinite(value) and is_finite(dividend, symbols)
        case Apply(function, _) if function in _MAY_OVERFLOW:
            return False
        case Reduce("least" | "greatest"):
            return False
        case Literal(value):
            return math.isfinite(value)
        case Symbol(name):
            fact = symbols[name]
            return not isinstance(fact, ArraySymbol) or fact.finite
        case Range():
            return True
        case Lookup(part, _) | Slice(part, _, _) | Singleton(_, part) | If(_, part):
            return is_finite(part, symbols)  # keys, positions and conditions are integers
        case _:
            return all(is_finite(child, symbols) for child, _ in children(term))
