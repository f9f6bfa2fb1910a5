"""Which products need a guard, since a factor may be zero where the other one is inf or NaN.

None does where all values are finite, nor where each product has a factor that is neither zero nor inf nor
NaN: what a sparse matrix stores seldom is, and then nothing has to be known of what it is multiplied by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from storel.calculus.nodes import (
    Apply,
    If,
    Literal,
    Lookup,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Symbol,
    Term,
)
from storel.calculus.walk import children, subterms
from storel.semiring import PLUS_TIMES, SEMIRINGS
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol, Symbols

_QUOTIENTS = ("divide", "floor_divide", "modulo")

_MAY_OVERFLOW = frozenset({*_QUOTIENTS, "exp", "log", "sqrt", "power"})
"""Functions that make inf or NaN of finite numbers."""


def is_finite(term: Term, symbols: Symbols, *, is_made_so: bool = False) -> bool:
    """Return whether no value that ``term`` multiplies or makes can be inf or NaN, overflow excepted.

    The zero of a semiring does not count, unless another semiring multiplies. ``is_made_so`` says to take it
    that all functions make finite numbers of finite ones.
    """
    return not _is_mixed(term, symbols) and _is_finite(term, symbols, is_made_so=is_made_so)


def _is_finite(term: Term, symbols: Symbols, *, is_made_so: bool) -> bool:
    def of(part: Term) -> bool:
        return _is_finite(part, symbols, is_made_so=is_made_so)

    match term:
        case Apply(function, (dividend, divisor)) if function in _QUOTIENTS and _is_nonzero(divisor, symbols):
            return of(dividend)
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
            # keys, positions and conditions are integers, but may be computed from products
            others = (child for child, _ in children(term) if child is not part)
            return of(part) and all(of(other) for other in others if any(_products(other, symbols)))
        case _:
            return all(of(child) for child, _ in children(term))


def _is_mixed(term: Term, symbols: Symbols) -> bool:
    """Return whether something may be the infinite zero of a semiring, where another semiring multiplies."""
    rings = {_semiring(part) for part in subterms(term)}
    infinite = {ring for ring in rings if not math.isfinite(SEMIRINGS[ring].zero)}
    multiplying = {_semiring(product) for product in _products(term, symbols)}
    return any(ring != other for ring in infinite for other in multiplying)


def nonzero_factors(term: Term, symbols: Symbols) -> frozenset[str] | None:
    """Return arrays and parameters of numbers other than zero, of which each product has one as a factor.

    As long as no zero is in them, no product needs a guard. None where there are other products, but for
    those by a constant, and over other semirings: minima of many sums take less where none is NaN.
    """
    if any(_semiring(part) != PLUS_TIMES.name for part in subterms(term)):
        return None
    names: set[str] = set()
    for product in _products(term, symbols):
        found = (_nonzero_name(factor, symbols) for factor, _ in children(product))
        name = None if isinstance(product, Reduce) else next(filter(None, found), None)
        if name is None:
            return None
        names.add(name)
    return frozenset(names)


def _semiring(term: Term) -> str:
    return getattr(term, "semiring", PLUS_TIMES.name)


def _products(term: Term, symbols: Symbols) -> Iterator[Multiply | Reduce]:
    """Yield the products in a term, but for those by a constant, which is no zero."""
    for part in subterms(term):
        match part:
            case Multiply(left, right):
                if not (_is_nonzero(left, symbols) or _is_nonzero(right, symbols)):
                    yield part
            case Reduce("prod"):
                yield part
            case _:
                pass


def _is_nonzero(factor: Term, symbols: Symbols) -> bool:
    """Return whether a factor is always the same number, which is neither zero nor inf nor NaN."""
    match factor:
        case Literal(value):
            return value != 0 and math.isfinite(value)
        case Symbol(name):
            fact = symbols[name]
            return isinstance(fact, SizeSymbol) and fact.value != 0
        case _:
            return False


def _nonzero_name(factor: Term, symbols: Symbols) -> str | None:
    """Return which parameter, or array of finite numbers other than zero, a factor is read from."""
    match factor:
        case Lookup(Symbol(name), _) | Symbol(name):
            match symbols[name]:
                case ArraySymbol(nonzero=True, finite=True):
                    return name
                case ParameterSymbol(finite=True, nonzero=True):
                    return name
                case _:
                    return None
        case _:
            return None
