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
    children,
    subterms,
)
from storel.semiring import PLUS_TIMES, SEMIRINGS
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol, Symbols

_MAY_OVERFLOW = frozenset({"divide", "exp", "log", "sqrt", "power", "floor_divide", "modulo"})
"""Functions that make inf or NaN of finite numbers."""


def is_finite(term: Term, symbols: Symbols, *, is_made_so: bool = False) -> bool:
    """Return whether no value that ``term`` multiplies or makes can be inf or NaN, overflow excepted.

    The zero of a semiring does not count, unless another semiring multiplies. ``is_made_so`` says to take it
    that all functions make finite numbers of finite ones.
    """
    return not _is_mixed(term) and _is_finite(term, symbols, is_made_so=is_made_so)


def _is_finite(term: Term, symbols: Symbols, *, is_made_so: bool) -> bool:
    def of(part: Term) -> bool:
        return _is_finite(part, symbols, is_made_so=is_made_so)

    match term:
        case Apply("divide" | "floor_divide" | "modulo", (dividend, divisor)) if _is_nonzero(
            divisor, symbols
        ):
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
            return of(part) and all(of(each) for other in others for each in _products(other))
        case _:
            return all(of(child) for child, _ in children(term))


def nonzero_factors(term: Term, symbols: Symbols) -> frozenset[str] | None:
    """Return arrays and parameters of numbers other than zero, of which each product has one as a factor.

    As long as no zero is in them, no product needs a guard. None where there are other products, but for
    those by a constant, and where it is worth to know of all numbers that none is NaN, as for minima.
    """
    names: set[str] = set()
    for part in subterms(term):
        if _semiring(part) != PLUS_TIMES.name:
            return None
        if isinstance(part, Reduce) and part.monoid not in ("any", "all"):
            return None
        if isinstance(part, Multiply) and not any(_is_nonzero(each, symbols) for each, _ in children(part)):
            found = _nonzero_name(part.left, symbols) or _nonzero_name(part.right, symbols)
            if found is None:
                return None
            names.add(found)
    return frozenset(names)


def _is_mixed(term: Term) -> bool:
    """Return whether a value may be the infinite zero of a semiring, where another semiring multiplies."""
    values = list(_values(term))
    infinite = {ring for each in values if not math.isfinite(SEMIRINGS[ring := _semiring(each)].zero)}
    multiplying = {each.semiring for each in values if isinstance(each, Multiply)}
    return any(ring != other for ring in infinite for other in multiplying)


def _semiring(term: Term) -> str:
    return getattr(term, "semiring", PLUS_TIMES.name)


def _values(term: Term) -> Iterator[Term]:
    """Yield ``term`` and all that its values are made of, but no keys, positions and conditions."""
    yield term
    match term:
        case Range():
            return
        case Lookup(part, _) | Slice(part, _, _) | Singleton(_, part) | If(_, part):
            yield from _values(part)
        case _:
            for child, _ in children(term):
                yield from _values(child)


def _products(term: Term) -> Iterator[Term]:
    """Yield the products in a term."""
    for part in subterms(term):
        if isinstance(part, Multiply) or (isinstance(part, Reduce) and part.monoid == "prod"):
            yield part


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
            fact = symbols[name]
            match fact:
                case ArraySymbol():
                    is_right = fact.finite and fact.nonzeros == fact.length
                case ParameterSymbol():
                    is_right = fact.finite and fact.nonzero
                case _:
                    is_right = False
            return name if is_right else None
        case _:
            return None
