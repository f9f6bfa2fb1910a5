"""Sums whose keys ascend, added up key by key: one loop over the keys, in which each is found.

sum(<i, _> in 0:n) {i -> v}  +  sum(<p, k> in a) {k -> w}
  =  sum(<i, _> in 0:n) {i -> v + sum(<p, k> in a) if k == i then w}       a ascending, its elements in 0:n

The entries of several operands then arrive row by row, however each of them stores which row they are in, and
a row of a dense result is passed over once. A row is found in each list a step after the last one.
"""

from __future__ import annotations

from functools import reduce

from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import (
    Add,
    Find,
    Literal,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.optimizer.physical.facts import ZERO, array, is_ascending, size_term
from storel.optimizer.physical.shape import addends
from storel.scalars import ScalarType
from storel.symbols import SizeSymbol, Symbols

STEP = 0.05
"""How many entries are listed and sorted in the time of a step to the next row: 6 ns, at 120 ns each."""

SCATTERED = 4
"""How many steps to the next row take as long as a row of a result that has to be fetched once more."""


def aligned(term: Term, extent: int, entries: float, symbols: Symbols) -> Term | None:
    """Return a sum of dictionaries with keys in 0:extent as one loop over the keys.

    None where it is none, or where ``entries``, the number of them, are sooner listed and sorted.
    """
    lists = [part for part in addends(term) if _list(part) is not None]
    return None if len(lists) * STEP * extent > entries else _by_key(term, extent, symbols)


def united_rows(term: Term, extent: int, symbols: Symbols) -> Term | None:
    """Return the same where a loop goes through all keys anyway, and the lists are of many entries."""
    lists = [name for part in addends(term) if (name := _list(part)) is not None]
    is_worth_it = all(array(symbols, name).length * SCATTERED >= extent for name in lists)
    return _by_key(term, extent, symbols) if len(lists) < len(addends(term)) and is_worth_it else None


def multiplied_rows(term: Term, extent: int, symbols: Symbols) -> Term:
    """Return a product of dictionaries, of which one is a list, row by row: no more than a row is stored.

    Any other term is returned as it is, and so are lists that are much shorter than the result has rows.
    """
    if not isinstance(term, Multiply):
        return term
    rows = [_row(side, extent, symbols) for side in (term.left, term.right)]
    lists = [name for side in (term.left, term.right) if (name := _list(side)) is not None]
    is_worth_it = lists and all(array(symbols, name).length >= STEP * extent for name in lists)
    if rows[0] is None or rows[1] is None or not is_worth_it:
        return term
    value = Multiply(rows[0], rows[1], term.semiring)
    return Sum(
        Range(ZERO, size_term(symbols, extent)), Singleton(Variable(1), value, term.semiring), term.semiring
    )


def _list(part: Term) -> str | None:
    """Return the name of the array that a sum goes through, if it does."""
    match part:
        case Sum(Symbol(name) | Slice(Symbol(name))):
            return name
        case _:
            return None


def _by_key(term: Term, extent: int, symbols: Symbols) -> Term | None:
    """Return a sum of dictionaries with keys in 0:extent as one loop over the keys, None where it is none."""
    if not isinstance(term, Add):
        return None
    found = [row for part in addends(term) if (row := _row(part, extent, symbols)) is not None]
    if len(found) < len(addends(term)):
        return None
    semiring, key = term.semiring, Variable(1)
    value = reduce(lambda left, right: Add(left, right, semiring), found)
    return Sum(Range(ZERO, size_term(symbols, extent)), Singleton(key, value, semiring), semiring)


def _row(part: Term, extent: int, symbols: Symbols) -> Term | None:
    """Return what a sum brings to a key, which is variable 1 of the loop over all keys, and its value 0."""
    match part:
        case Sum(Range(low, high), Singleton(Variable(0 | 1), value)) if low == ZERO:
            return value if _size(high, symbols) == extent else None
        case Sum((Symbol(name) | Slice(Symbol(name))) as source, Singleton(Variable(0), value), semiring):
            fact = array(symbols, name)
            is_inside = (
                fact.low is not None and fact.low >= 0 and fact.high is not None and fact.high < extent
            )
            if not is_ascending(symbols, name) or not is_inside:
                return None
            return Find(shift(source, 2), Variable(1), substitute(shift(value, 2, 2), Variable(2)), semiring)
        case _:
            return None


def _size(term: Term, symbols: Symbols) -> int | None:
    match term:
        case Literal(int() as value, ScalarType.INT64):
            return value
        case Symbol(name) if isinstance(fact := symbols[name], SizeSymbol):
            return fact.value
        case _:
            return None
