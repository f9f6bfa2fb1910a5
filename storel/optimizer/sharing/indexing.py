"""Index by key the positions that a loop searches anew each time, and visit those under the key.

    … sum(<p> in l:h) if e(p) == g then t(p) …
        =>  let x = sum(<p> in l:h) {e(p) -> {p -> 1}} in … sum(<p> in x(g)) t(p) …

where ``g``, unlike ``t``, does not depend on ``p``. So two tables are joined whatever is made of the pairs
that match, in their number (the index of a hash join; Selinger et al., "Access Path Selection in a Relational
Database Management System", SIGMOD 1979). What is found is met in the same order as before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from storel.calculus.binders import seen_inside
from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import EntryBounds, Interval
from storel.calculus.nodes import Add, Apply, If, Let, Literal, Lookup, Range, Singleton, Sum, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.optimizer.cost.model import HASHED_PLACES
from storel.optimizer.sharing.searching import (
    distance_to_zero,
    exchanged,
    has_integer_keys,
    has_natural_keys,
    moved,
    searches,
)
from storel.optimizer.terms.occurrences import (
    Binder,
    Occurrence,
    at,
    intervals_of,
    occurrences,
    reindexed,
    replaced,
    types_of,
)
from storel.scalars import ScalarType
from storel.symbols import Symbols

_PRESENT = Literal(True, ScalarType.BOOL)

_LAST_BITS = Literal(2**32 - 1, ScalarType.INT64)
"""Of these, and the positions of an array, there are no more pairs than a table of hashes may have keys."""

_LOGIC = "or_and"
"""The semiring of an index, which says of positions whether they are there."""


def indexed(term: Term, symbols: Symbols, *, reassociates: bool = True) -> Iterator[Term]:
    """Yield ``term`` (closed) with one search among positions replaced by a visit of those under its key.

    Loops are only exchanged before if ``reassociates`` says so, which adds up numbers in another order.
    """
    for found in occurrences(term, symbols):
        yield from _indexed(term, found, symbols)
    if reassociates:
        for other in exchanged(term, symbols):
            yield from _indexed(*other, symbols)


def _indexed(term: Term, found: Occurrence, symbols: Symbols) -> Iterator[Term]:
    match found.term:
        case Sum(Range(low, high) as visited, body, semiring):
            range_ = Range(_outermost(low, found.scope, is_low=True), _outermost(high, found.scope))
            for own, searched, rest in searches(body, semiring):
                search = Sum(range_, _within(rest, visited, range_, semiring), semiring)
                yield from _with_index(term, found, search, own, searched, symbols)
        case _:
            pass


def _outermost(end: Term, scope: tuple[Binder, ...], *, is_low: bool = False) -> Term:
    """Return an end of a range that holds for whatever loops over ranges around it bind."""
    match end:
        case Variable(index) | Add(Variable(index), Literal(1)):
            binding = scope[index].binding
            if isinstance(binding.term, Sum) and isinstance(binding.term.source, Range):
                outside = next(n for n in range(index, len(scope) + 1) if scope[n:] == binding.scope)
                source = binding.term.source
                return _outermost(shift(source.low if is_low else source.high, outside), scope, is_low=is_low)
        case _:
            pass
    return end


def _within(body: Term, visited: Range, all_: Range, semiring: str) -> Term:
    """Return ``body`` where the position (1) is ``visited``."""
    if visited.low != all_.low:
        body = If(Apply("less_equal", (shift(visited.low, 2), Variable(1))), body, semiring)
    if visited.high != all_.high:
        body = If(Apply("less", (Variable(1), shift(visited.high, 2))), body, semiring)
    return body


def _from_zero(
    search: Sum, own: Term, searched: Term, found: Occurrence, symbols: Symbols
) -> tuple[Sum, Term, Term]:
    """Return a search for keys that are not negative, if they are integers.

    Where the least of them is too far away, keys are the last bits, and under these the whole is asked for.
    """
    types, intervals = seen_inside(search, symbols, found.types, found.intervals)
    known = bounds(own, symbols, intervals)
    if known.is_natural or not all(infer(each, symbols, types).scalar.is_integer for each in (own, searched)):
        return search, own, searched
    distance = distance_to_zero(known, bounds(searched, symbols, intervals))
    if distance:
        return search, moved(own, distance), moved(searched, distance)
    asked = If(Apply("equal", (own, searched)), search.body, search.semiring)
    own, searched = (Apply("bit_and", (each, _LAST_BITS)) for each in (own, searched))
    return Sum(search.source, asked, search.semiring), own, searched


def _fills_hashes(term: Term, found: Occurrence, symbols: Symbols) -> bool:
    """Return whether what was found makes entries of a named dictionary of rows that may be hashed.

    How many come is counted before there is an index (plan/count.py), so that each visit might come to all.
    """
    if infer(found.term, symbols, found.types).rank == 0:
        return False
    for length, index in enumerate(found.path):
        around = at(term, found.path[:length])
        if isinstance(around, Let) and index == 0:
            scope = tuple(each for each in found.scope if len(each.body) <= length)
            is_row = infer(around.value, symbols, types_of(scope)).rank == 1
            if not is_row and _places(bounds(around.value, symbols, intervals_of(scope))) > HASHED_PLACES:
                return True
    return False


def _places(entries: Interval) -> float:
    """Return how many keys a dictionary, and those in it, may have together."""
    if not isinstance(entries, EntryBounds):
        return 1
    return (math.inf if entries.keys.high is None else entries.keys.high + 1) * _places(entries.values)


def _with_index(
    term: Term, found: Occurrence, search: Sum, own: Term, searched: Term, symbols: Symbols
) -> Iterator[Term]:
    """Yield ``term`` with the positions whose ``own`` key is the ``searched`` one found by an index."""
    search, own, searched = _from_zero(search, own, searched, found, symbols)
    entry = Singleton(own, Singleton(Variable(1), _PRESENT, _LOGIC), _LOGIC)
    index = Sum(search.source, entry, _LOGIC)
    outer = found.inside(min(free_variables(index), default=len(found.scope)))
    if not any(binder.is_loop for binder in found.scope[:outer]) or _fills_hashes(term, found, symbols):
        return
    placed, types, intervals = shift(index, -outer), found.types[outer:], found.intervals[outer:]
    key = shift(searched, -2)
    if not infer(key, symbols, found.types).scalar.is_integer:
        return
    if not has_natural_keys(bounds(placed, symbols, intervals), 2):
        return
    if not has_integer_keys(placed, symbols, types):
        return
    is_searched_safely = is_safe(key, symbols, found.types, found.intervals)
    if not is_searched_safely or not is_safe(placed, symbols, types, intervals):
        return
    # The element of a range is its position, where the element of an index tells that there is one.
    visited = reindexed(search.body, lambda number: 1 if number == 0 else number)
    row = Lookup(Variable(outer), shift(key, 1, outer), _LOGIC)
    visit = Sum(row, shift(visited, 1, outer + 2), search.semiring)
    home = found.home(outer)
    inner = replaced(shift(at(term, home), 1), found.path[len(home) :], visit)
    yield replaced(term, home, Let(placed, inner))
