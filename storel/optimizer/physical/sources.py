"""What a loop goes through, as a plan says it, and the scope inside the loop."""

from __future__ import annotations

from storel.calculus.binding import shift
from storel.calculus.bounds import binder_bounds, bounds
from storel.calculus.intervals import Interval
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
)
from storel.calculus.verify import KEY, Type, infer
from storel.optimizer.physical.facts import ONE, ZERO, array, is_increasing, size_term
from storel.optimizer.physical.scope import Scope
from storel.optimizer.physical.shape import is_store
from storel.plan.binding import row_extents, source_extents
from storel.plan.nodes import Elements, Entries, Intersection, Matches, Positions, Source
from storel.symbols import Symbols


def scan(source: Term, scope: Scope, symbols: Symbols) -> tuple[Source, Scope] | None:
    """Return what a loop that binds key and value goes through, and the scope inside.

    None if that is a dictionary that is not stored.
    """
    planned = _planned(source, symbols)
    if planned is None:
        return None
    key, element = binder_bounds(source, symbols, scope.intervals)
    match planned:
        case Entries(store):
            stored = infer(source, symbols, scope.types)
            highs = [bounds(extent, symbols).high for extent in row_extents(store, scope.extents)]
            keys = [Interval(0, None if high is None else high - 1) for high in highs]
            value = Type(stored.scalar, stored.rank - 1), keys[1] if len(keys) > 1 else element
            extents = source_extents(planned, scope.extents)
            return planned, scope.bind((KEY, keys[0]), value, extents=extents, loops=1)
        case Elements(name):
            value = Type(array(symbols, name).element_type), element
            return planned, scope.bind((KEY, key), value, loops=1)
        case Positions():
            return planned, scope.bind((KEY, key), (KEY, element), loops=1)


def intersection(left: Term, right: Term, scope: Scope, symbols: Symbols) -> tuple[Source, Scope]:
    """Return the common elements of two arrays, and the scope inside: positions in each, and the element."""
    p, x = binder_bounds(left, symbols, scope.intervals)
    q, y = binder_bounds(right, symbols, scope.intervals)
    inner = scope.bind((KEY, p), (KEY, q), (KEY, x.meet(y)), loops=1)
    return Intersection(_elements(left, symbols), _elements(right, symbols)), inner


def matches(source: Term, key: Term, scope: Scope, symbols: Symbols) -> tuple[Source, Scope]:
    """Return where ``key`` is found in an array, and the scope inside: its position."""
    found = _elements(source, symbols)
    unique = array(symbols, found.array).unique
    unique = unique or is_increasing(symbols, found.array, found.low, found.high)
    position, _ = binder_bounds(source, symbols, scope.intervals)
    inner = scope.bind((KEY, position), loops=1)
    return Matches(found.array, found.low, found.high, key, unique), inner


def _planned(source: Term, symbols: Symbols) -> Elements | Entries | Positions | None:
    if isinstance(source, Range | Slice | Symbol):
        ends = _range(source)
        return _elements(source, symbols) if ends is None else Positions(*ends)
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


def _elements(source: Term, symbols: Symbols) -> Elements:
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
