"""Whether reads of arrays, of ranges and of parts of either are proved to be inside."""

from __future__ import annotations

from storel.calculus.bounds import bounds
from storel.calculus.domains import Domains, bounds_within
from storel.calculus.intervals import Context
from storel.calculus.nodes import Literal, Range, Slice, Symbol, Term
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols


def ends(array: Term, symbols: Symbols) -> tuple[Term, Term]:
    """Return the first position of an array, a range or a part of either, and the one behind the last."""
    match array:
        case Symbol(name):
            fact = symbols[name]
            assert isinstance(fact, ArraySymbol)
            return Literal(0, ScalarType.INT64), Literal(fact.length, ScalarType.INT64)
        case Range(low, high) | Slice(_, low, high):
            return low, high
        case _:
            raise AssertionError(f"not an array: {type(array).__name__}")


def reads_in_bounds(
    array: Term,
    key: Term,
    symbols: Symbols,
    context: Context = (),
    domains: Domains = (),
    conditions: tuple[Term, ...] = (),
) -> bool:
    """Return whether reading ``array`` at ``key`` is proved to stay within it.

    There the loops around have ``domains``, and ``conditions`` hold.
    """
    match array:
        case Symbol(name):
            fact = symbols.get(name)
            if not isinstance(fact, ArraySymbol):
                return False
            if bounds(key, symbols, context).within(0, fact.length - 1):
                return True
            if not (any(domains) or conditions):
                return False
            return bounds_within(key, symbols, context, domains, conditions).within(0, fact.length - 1)
        case Range(low, high) | Slice(_, low, high):
            first, end = bounds(low, symbols, context).high, bounds(high, symbols, context).low
            found = bounds(key, symbols, context)
            if first is None or end is None or not found.within(first, end - 1):
                return False
            return isinstance(array, Range) or reads_in_bounds(
                array.array, key, symbols, context, domains, conditions
            )
        case _:
            return False


def scans_in_bounds(source: Slice, symbols: Symbols, context: Context = ()) -> bool:
    """Return whether going over ``source`` is proved to stay within its array."""
    fact = symbols.get(source.array.name) if isinstance(source.array, Symbol) else None
    low, high = bounds(source.low, symbols, context).low, bounds(source.high, symbols, context).high
    if not isinstance(fact, ArraySymbol) or low is None or high is None:
        return False
    return low >= 0 and high <= fact.length
