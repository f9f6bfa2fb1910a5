"""Sums whose keys ascend, added up key by key: one loop over the keys, in which each is found.

sum(<i, _> in 0:n) {i -> v}  +  sum(<p, k> in a) {k -> w}
  =  sum(<i, _> in 0:n) {i -> v + sum(<p, k> in a) if k == i then w}       a ascending, its elements in 0:n

The entries of several operands then arrive row by row, however each of them stores which row they are in. A
row is found by a search in each list, which takes as long as a few entries do that are listed and sorted.
"""

from __future__ import annotations

from functools import reduce

from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import Add, Find, Literal, Range, Singleton, Slice, Sum, Symbol, Term, Variable
from storel.optimizer.physical.facts import ZERO, array, is_ascending, size_term
from storel.optimizer.physical.shape import addends
from storel.scalars import ScalarType
from storel.symbols import SizeSymbol, Symbols

SEARCH = 3.5
"""How many entries are listed and sorted in the time of a search: 130 ns, at 40 ns each."""


def aligned(term: Term, extent: int, entries: float, symbols: Symbols) -> Term | None:
    """Return a sum of dictionaries with keys in 0:extent as one loop over the keys.

    None where it is none, or where ``entries``, the number of them, are sooner listed and sorted.
    """
    parts = addends(term)
    searches = sum(isinstance(part, Sum) and not isinstance(part.source, Range) for part in parts)
    if not isinstance(term, Add) or searches * SEARCH * extent > entries:
        return None
    semiring, key = term.semiring, Variable(1)
    rows = [_row(part, extent, symbols) for part in parts]
    found = [row for row in rows if row is not None]
    if len(found) < len(rows):
        return None
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
