"""What a loop goes through, as a plan says it."""

from __future__ import annotations

from storel.calculus.binding import shift
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Lookup,
    Merge,
    Range,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
    map_children,
)
from storel.optimizer.physical.facts import ONE, ZERO, array, size_term
from storel.optimizer.physical.shape import has_loop, is_store
from storel.plan.nodes import Elements, Entries, Positions, Source
from storel.symbols import Symbols


def planned_source(source: Term, symbols: Symbols) -> Source | None:
    """Return the source of a loop; None if it is a dictionary that is not stored."""
    if isinstance(source, Range | Slice | Symbol):
        ends = _range(source)
        return elements(source, symbols) if ends is None else Positions(*ends)
    return Entries(source) if is_store(source) else None


def _range(source: Term) -> tuple[Term, Term] | None:
    """Return the ends of a range, or of a part of one; None for an array."""
    match source:
        case Range(low, high):
            return low, high
        case Slice(inner, low, high) if (ends := _range(inner)) is not None:
            return _part(ends, low, high)
        case _:
            return None


def _part(ends: tuple[Term, Term], low: Term, high: Term) -> tuple[Term, Term]:
    """Return the ends of ``low:high``, a part of what has these ends: reads that fail unless it is one.

    Where ``low:high`` is empty so is what is returned.
    """
    whole, last = Range(*ends), Apply("subtract", (high, ONE))
    is_any = Apply("less", (low, high))
    return If(is_any, Lookup(whole, low)), If(is_any, Add(Lookup(whole, last), ONE))


def computed_end(source: Term) -> Term | None:
    """Return the first end of a range, or of a part of an array, that takes a loop; None if none does."""
    match source:
        case Slice(inner, low, high):
            ends = computed_end(inner), low, high
        case Range(low, high):
            ends = low, high
        case _:
            return None
    return next((end for end in ends if end is not None and has_loop(end)), None)


def with_named_end(source: Term, end: Term) -> Term:
    """Return ``source`` below a ``let`` that names an end of it."""
    if source == end:
        return Variable(0)
    if isinstance(source, Range | Slice):
        return map_children(source, lambda child, _: with_named_end(child, end))
    return shift(source, 1)


def without_ranges(term: Merge | Find) -> Term | None:
    """Return the same without co-iterating or searching a range; None if the sources are arrays.

    An integer is in a range if it is between the ends, and its position there is itself.
    """
    match term:
        case Find(source, key, body, semiring) if (ends := _range(source)) is not None:
            low, high = (shift(end, 1) for end in ends)
            return Let(key, If(_between(low, Variable(0), high), body, semiring))
        case Merge(left, right, body, semiring) if (ends := _range(right)) is not None:
            return _conditional(left, ends, (Variable(1), Variable(1)), body, semiring)
        case Merge(left, right, body, semiring) if (ends := _range(left)) is not None:
            return _conditional(right, ends, (Variable(0), Variable(2)), body, semiring)
        case _:
            return None


def _conditional(
    source: Term, ends: tuple[Term, Term], positions: tuple[Term, Term], body: Term, semiring: str
) -> Term:
    """Return a merge's body summed over one of its sources, where the element is between ``ends``.

    ``positions`` are those in the left and in the right source: the one inside the sum, the other inside
    the first as well.
    """
    low, high = (shift(end, 2) for end in ends)
    named = Let(positions[0], Let(positions[1], Let(Variable(2), shift(body, 2, 3))))
    return Sum(source, If(_between(low, Variable(0), high), named, semiring), semiring)


def _between(low: Term, value: Term, high: Term) -> Term:
    return Apply("and", (Apply("less_equal", (low, value)), Apply("less", (value, high))))


def elements(source: Term, symbols: Symbols) -> Elements:
    """Return the scan of an array or a part of it."""
    match source:
        case Slice(Symbol(name), low, high):  # a scan that is not inside of its array fails
            return Elements(name, low, high)
        case _:
            return _checked(source, symbols)


def _checked(source: Term, symbols: Symbols) -> Elements:
    """Return the scan of an array, or of a part of it with ends that fail outside of the array."""
    match source:
        case Symbol(name):
            return Elements(name, ZERO, size_term(symbols, array(symbols, name).length))
        case Slice(inner, low, high):
            whole = _checked(inner, symbols)
            return Elements(whole.array, *_part((whole.low, whole.high), low, high))
        case _:
            raise AssertionError(f"not an array: {type(source).__name__}")
