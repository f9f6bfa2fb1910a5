"""Tables of what is made for each key: filled row by row, or by loops that do not depend on the row first."""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binders import binder_types
from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import Interval
from storel.calculus.nodes import (
    Add,
    Find,
    If,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.verify import Type, infer
from storel.optimizer.physical.facts import ZERO
from storel.optimizer.physical.shape import semiring_of
from storel.optimizer.terms.occurrences import reindexed
from storel.symbols import Symbols


def tables(
    keys: Range, entry: Term, symbols: Symbols, types: tuple[Type, ...]
) -> Iterator[Sum | Add | Multiply]:
    """Yield the table of ``entry`` (its row is variable 1) over ``keys``, row by row and loop by loop.

    ``types`` are those of the variables that ``entry`` sees.
    """
    own = semiring_of(entry)
    by_rows = _by_rows(keys, entry, own)
    yield by_rows
    by_loops = _by_loops(keys, entry, own, symbols, types)
    if by_loops != by_rows:
        yield by_loops


def _by_rows(keys: Range, entry: Term, own: str) -> Sum:
    return Sum(keys, Singleton(Variable(1), entry, own), own)


def _by_loops(
    keys: Range, entry: Term, own: str, symbols: Symbols, types: tuple[Type, ...]
) -> Sum | Add | Multiply:
    """Return the table of ``entry`` with loops that do not depend on the row outside of those over rows.

    ``own`` is the semiring of the table; loops over another one stay in the rows.
    """
    match entry:
        case Add(left, right, semiring) if semiring == own:
            one, other = (_by_loops(keys, each, own, symbols, types) for each in (left, right))
            return Add(one, other, own)
        case Sum(source, body, semiring) if semiring == own and not free_variables(source) & {0, 1}:
            # The binders of the table (2, 3 from inside the loop) and of the loop (0, 1) trade places.
            swapped = reindexed(
                body, lambda index: index + 2 if index < 2 else index - 2 if index < 4 else index
            )
            inner = Range(shift(keys.low, 2), shift(keys.high, 2))
            seen = (*types[:2], *reversed(binder_types(entry, symbols, types)), *types[2:])
            row = _searched(inner, swapped, own, symbols, seen) or row_of(inner, swapped, own)
            return Sum(shift(source, -2), row, own)
        case Find() | Multiply():
            return _searched(keys, entry, own, symbols, types) or _by_rows(keys, entry, own)
        case _:
            return _by_rows(keys, entry, own)


def _searched(
    keys: Range, entry: Term, own: str, symbols: Symbols, types: tuple[Type, ...]
) -> Sum | Multiply | None:
    """Return the table of what is searched for by its row, times a number: all that is found.

    None if ``entry`` is nothing of the kind.
    """
    match entry:
        case Find(source, Variable(1), body, semiring) if (
            semiring == own
            and not free_variables(source) & {0, 1}
            and are_among(bounds(Lookup(shift(source, -2), ZERO), symbols), keys, symbols)
        ):
            # What is found is the row: the position (0) is the one of the loop over all that may be found.
            found = reindexed(body, lambda index: 1 if index == 0 else 0 if index < 3 else index - 1)
            return Sum(shift(source, -2), Singleton(Variable(0), found, own), own)
        case Multiply(left, right, semiring) if semiring == own:
            for factor, rest in ((left, right), (right, left)):
                if free_variables(factor) & {0, 1} or infer(factor, symbols, types).rank > 0:
                    continue
                made = _searched(keys, rest, own, symbols, types)
                if made is not None:
                    return Multiply(shift(factor, -2), made, own)
            return None
        case _:
            return None


def row_of(keys: Term, entry: Term, semiring: str) -> Term:
    """Return the dictionary of ``entry`` under each key; what does not depend on the key is asked once."""
    if isinstance(entry, If) and entry.semiring == semiring and not free_variables(entry.condition) & {0, 1}:
        return If(shift(entry.condition, -2), row_of(keys, entry.body, semiring), semiring)
    return Sum(keys, Singleton(Variable(1), entry, semiring), semiring)


def are_among(numbers: Interval, keys: Range, symbols: Symbols) -> bool:
    """Return whether all ``numbers`` are proved to be among ``keys``."""
    first, end = bounds(keys.low, symbols).high, bounds(keys.high, symbols).low
    return first is not None and end is not None and numbers.within(first, end - 1)
