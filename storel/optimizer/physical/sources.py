"""What a loop goes through, as a plan says it."""

from __future__ import annotations

from storel.calculus.nodes import Apply, Range, Slice, Symbol, Term
from storel.optimizer.physical.facts import ZERO, array, size_term
from storel.optimizer.physical.shape import is_store
from storel.plan.nodes import Elements, Entries, Positions, Source
from storel.symbols import Symbols


def planned_source(source: Term, symbols: Symbols) -> Source | None:
    """Return the source of a loop; None if it is a dictionary that is not stored."""
    match source:
        case Range(low, high):
            return Positions(low, high)
        case Symbol() | Slice(Symbol()):
            return elements(source, symbols)
        case Slice(Range(first, last), low, high):
            return Positions(Apply("maximum", (first, low)), Apply("minimum", (last, high)))
        case _:
            return Entries(source) if is_store(source) else None


def elements(source: Term, symbols: Symbols) -> Elements:
    """Return the scan of an array or a part of it."""
    match source:
        case Symbol(name):
            return Elements(name, ZERO, size_term(symbols, array(symbols, name).length))
        case Slice(Symbol(name), low, high):
            return Elements(name, low, high)
        case Slice(Slice(inner, first, last), low, high):
            ends = Apply("maximum", (first, low)), Apply("minimum", (last, high))
            return elements(Slice(inner, *ends), symbols)
        case _:
            raise AssertionError(f"not an array: {type(source).__name__}")
