"""Index by key the positions that a loop searches anew each time, and visit those under the key.

    … sum(<p> in l:h) if e(p) == g then t(p) …
        =>  let x = sum(<p> in l:h) {e(p) -> {p -> 1}} in … sum(<p> in x(g)) t(p) …

where ``g``, unlike ``t``, does not depend on ``p``. So two tables are joined whatever is made of the pairs
that match, in their number (the index of a hash join; Selinger et al., "Access Path Selection in a Relational
Database Management System", SIGMOD 1979). What is found is met in the same order as before.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.nodes import Add, Apply, If, Let, Literal, Lookup, Range, Singleton, Sum, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.optimizer.sharing.grouping import equated, exchanged, has_integer_keys, has_natural_keys
from storel.optimizer.terms.occurrences import Binder, Occurrence, at, occurrences, reindexed, replaced
from storel.scalars import ScalarType
from storel.symbols import Symbols

_PRESENT = Literal(True, ScalarType.BOOL)

_LOGIC = "or_and"
"""The semiring of an index, which says of positions whether they are there."""


def indexed(term: Term, symbols: Symbols, *, reassociates: bool = True) -> Iterator[Term]:
    """Yield ``term`` (closed) with one search among positions replaced by a visit of those under its key.

    Loops are only exchanged before if ``reassociates`` says so, which adds up numbers in another order.
    """
    for found in occurrences(term, symbols):
        yield from _indexed(term, found, symbols)
        other = exchanged(term, found, symbols) if reassociates else None
        if other is not None:
            yield from _indexed(*other, symbols)


def _indexed(term: Term, found: Occurrence, symbols: Symbols) -> Iterator[Term]:
    match found.term:
        case Sum(Range(low, high) as visited, body, semiring):
            range_ = Range(_outermost(low, found.scope, is_low=True), _outermost(high, found.scope))
            for (own, searched), rest in _searches(body, semiring):
                search = Sum(range_, _within(rest, visited, range_, semiring), semiring)
                yield from _with_index(term, found, search, own, searched, symbols)
        case _:
            pass


def _searches(body: Term, semiring: str) -> Iterator[tuple[tuple[Term, Term], Term]]:
    """Yield each equality that ``body`` asks for, as own side and searched one, and what it guards."""
    match body:
        case If(condition, guarded, own) if own == semiring:
            found = equated(condition, 2)
            if found is not None:
                yield found, guarded
            for other, rest in _searches(guarded, semiring):
                yield other, If(condition, rest, semiring)
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


def _with_index(
    term: Term, found: Occurrence, search: Sum, own: Term, searched: Term, symbols: Symbols
) -> Iterator[Term]:
    """Yield ``term`` with the positions whose ``own`` key is the ``searched`` one found by an index."""
    entry = Singleton(own, Singleton(Variable(1), _PRESENT, _LOGIC), _LOGIC)
    index = Sum(search.source, entry, _LOGIC)
    outer = found.inside(min(free_variables(index), default=len(found.scope)))
    if not any(binder.is_loop for binder in found.scope[:outer]):
        return
    moved, types, intervals = shift(index, -outer), found.types[outer:], found.intervals[outer:]
    key = shift(searched, -2)
    if not infer(key, symbols, found.types).scalar.is_integer:
        return
    if not has_natural_keys(bounds(moved, symbols, intervals), 2):
        return
    if not has_integer_keys(moved, symbols, types):
        return
    is_searched_safely = is_safe(key, symbols, found.types, found.intervals)
    if not is_searched_safely or not is_safe(moved, symbols, types, intervals):
        return
    # The element of a range is its position, where the element of an index tells that there is one.
    visited = reindexed(search.body, lambda number: 1 if number == 0 else number)
    row = Lookup(Variable(outer), shift(key, 1, outer), _LOGIC)
    visit = Sum(row, shift(visited, 1, outer + 2), search.semiring)
    home = found.home(outer)
    inner = replaced(shift(at(term, home), 1), found.path[len(home) :], visit)
    yield replaced(term, home, Let(moved, inner))
