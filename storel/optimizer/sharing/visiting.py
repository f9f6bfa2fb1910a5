"""Go through the entries that are searched for, where a loop over all keys makes nothing of the others.

    sum(<j, _> in 0:n) f(a(j), b(j))   where a(j) = sum(<p, x> in S) if x == j then s(p), as b with T and t,
                                       and f(0, 0) = 0
        =>  (sum(<p, j> in S) let u = s(p) in if u != 0 then f(u, b(j)))
          + sum(<q, j> in T) if a(j) == 0 then let u = t(q) in f(0, u)

A loop over the entries of a union of rows is one over all keys that asks whether there is an entry:

    sum(<j, v> in a + b) e   =>  sum(<j, _> in 0:n) let v = a(j) + b(j) in if v != 0 then e

So whatever is made of the elements of sparse rows takes as many steps as they have entries. Rules do so for
sums and products (``lookups.rules``); here ``f`` is any term that vanishes where all of them do. It is the
union of a merge lattice, with one operand after the other (Kjolstad et al., "The tensor algebra compiler",
OOPSLA 2017, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple, TypeAlias, cast

from storel.calculus.binders import binder_types
from storel.calculus.binding import free_mask, shift, substitute
from storel.calculus.bounds import binder_bounds, decided, narrowed
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.one_to_one import is_one_to_one
from storel.calculus.safety import is_safe
from storel.calculus.strictness import strict
from storel.calculus.verify import infer, zero_literal
from storel.calculus.walk import children
from storel.optimizer.physical.facts import is_increasing, size_term
from storel.optimizer.physical.shape import addends
from storel.optimizer.terms.occurrences import (
    LOOPS,
    Occurrence,
    abstracted,
    asks_first,
    has_loop,
    occurrences,
    reindexed,
    replaced,
)
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

Search: TypeAlias = Sum | Find

MOST_OPERANDS = 3
"""How many rows are visited one after the other; each asks whether those before it have its key."""


def visited(term: Term, symbols: Symbols, *, reassociates: bool = True) -> Iterator[Term]:
    """Yield ``term`` (closed) with one loop over a range going through the entries of what it searches.

    Numbers of several operands are only added up in turn if ``reassociates`` says so, unless each key has an
    entry of its own.
    """
    for found in occurrences(term, symbols):
        loop = _over_keys(found, symbols)
        if loop is None:
            continue
        wanted = list(_searches(loop.body, loop.semiring, 0, symbols))
        searches = tuple(dict.fromkeys(each.term for each in wanted))
        if not searches or len(searches) > MOST_OPERANDS or not _vanishes(loop, searches):
            continue
        types = (*reversed(binder_types(loop, symbols, found.types)), *found.types)
        if len(searches) > 1 and any(infer(search, symbols, types).rank > 0 for search in searches):
            continue  # whether a row has entries is not asked by a comparison with zero
        uses = ([each for each in wanted if each.term == search] for search in searches)
        guards = [guard for each in uses if (guard := _guards(each, found, symbols)) is not None]
        if len(guards) < len(searches):
            continue
        if len(searches) == 1 or reassociates or _is_entered(loop.body):
            made = _part(found, loop, searches, guards, 0, symbols)
            for place in range(1, len(searches)):
                made = Add(made, _part(found, loop, searches, guards, place, symbols), loop.semiring)
            yield replaced(term, found.path, made)


def _over_keys(found: Occurrence, symbols: Symbols) -> Sum | None:
    """Return the loop that was found, if it is one over all keys, or what it is as such.

    That is for each key of a union of rows what is made of an entry, if there is one: the sum is not zero.
    Where no more is looked up it is left: each entry is used as the rows are added up, and stored nowhere.
    """
    match found.term:
        case Sum(Range()) as loop:
            return loop
        case Sum(Add(semiring=own) as source, body, semiring) if has_loop(body):
            rows = addends(source)
        case _:
            return None
    kind, there = infer(source, symbols, found.types), [_at_key(row, own) for row in rows]
    keys = [binder_bounds(row.source, symbols, found.intervals)[1] for row in rows if isinstance(row, Sum)]
    highest = [each.high for each in keys if each.is_natural and each.high is not None]
    known = [each for each in there if each is not None]
    if kind.rank > 1 or not len(highest) == len(known) == len(rows):
        return None
    value = reduce(lambda left, right: Add(left, right, own), known)
    is_entry = Apply("not_equal", (Variable(0), zero_literal(kind, own)))
    made: Term = Let(value, If(is_entry, reindexed(body, lambda index: index and index + 1), semiring))
    for each in known:  # the body may ask for the same in the other way
        made = substitute(abstracted(shift(made, 1), shift(each, 1), 0), _sought(each, symbols))
    return Sum(Range(Literal(0, ScalarType.INT64), size_term(symbols, max(highest) + 1)), made, semiring)


def _at_key(row: Term, semiring: str) -> Sum | None:
    """Return what a row has at a key, as the body of a loop over all keys sees it.

    None unless the row's keys are the elements of what it goes through.
    """
    match row:
        case Sum(source, Singleton(Variable(0) as element, value, over), own) if over == own == semiring:
            is_here = Apply("equal", (element, Variable(3)))
            return Sum(shift(source, 2), If(is_here, shift(value, 2, 2), own), own)
        case _:
            return None


def _sought(at_key: Sum, symbols: Symbols) -> Search:
    """Return what a row has at a key as what is found there, if its keys increase."""
    match at_key:
        case Sum(Slice(Symbol(name), low, high) as source, If(_, value), own) if is_increasing(
            symbols, name, low, high
        ):
            return Find(source, Variable(1), reindexed(value, lambda index: index - 1 if index else 2), own)
        case _:
            return at_key


class Wanted(NamedTuple):
    """A search as the body of a loop sees it, where variables 0 and 1 both are the key.

    ``conditions`` are what is asked before it that is the same for all keys, as the loop sees it, and
    ``is_certain`` says that nothing at all is asked.
    """

    term: Search
    conditions: tuple[Term, ...]
    is_certain: bool


def _guards(uses: Sequence[Wanted], found: Occurrence, symbols: Symbols) -> tuple[Term, ...] | None:
    """Return what has to hold before the entries of a search are gone through, as the loop sees it.

    ``if i + 1 < n then a(i + 1)(j)`` goes to no row that there is not. None if that cannot be avoided.
    """
    source = shift(uses[0].term.source, -2)

    def is_safe_where(conditions: tuple[Term, ...]) -> bool:
        intervals = found.narrowed
        for each in conditions:
            intervals = narrowed(each, symbols, intervals)
        holding = (*found.holding, *conditions)
        domains = found.domains
        return is_safe(source, symbols, found.types, intervals, domains=domains, conditions=holding)

    if any(each.is_certain for each in uses) or is_safe_where(()):
        return ()
    first, *others = uses
    common = tuple(each for each in first.conditions if all(each in other.conditions for other in others))
    return common if is_safe_where(common) else None


def _searches(
    term: Term,
    semiring: str,
    depth: int,
    symbols: Symbols,
    conditions: tuple[Term, ...] = (),
    is_certain: bool = True,
) -> Iterator[Wanted]:
    """Yield what ``term``, ``depth`` binders below the body of a loop, looks up at the loop's key."""
    keys = Variable(depth), Variable(depth + 1)
    match term:
        case Find(source, key, _, over) if _same_zero(over, semiring):
            is_keyed = key in keys
        case Sum(source, If(Apply("equal", sides), _, own), over) if own == over:
            is_sought = Variable(0) in sides and any(shift(key, 2) in sides for key in keys)
            is_keyed = is_sought and _same_zero(over, semiring)
        case _:
            source, is_keyed = term, False
    inside = (1 << depth) - 1
    is_outside = not free_mask(term) & inside and not free_mask(source) & 0b11 << depth
    if is_keyed and is_outside and is_one_to_one(source, symbols) and not isinstance(source, Range):
        yield Wanted(cast("Search", shift(term, -depth)), conditions, is_certain)
        return
    for place, (child, binders) in enumerate(children(term)):
        if not has_loop(child):
            continue
        asked, below = conditions, depth + 2
        if isinstance(term, If) and place == 1 and not free_mask(term.condition) & ((1 << below) - 1):
            asked = (*conditions, shift(term.condition, -below))
        may_be_skipped = place > 0 and (asks_first(term) or isinstance(term, LOOPS))
        certain = is_certain and not may_be_skipped
        yield from _searches(child, semiring, depth + binders, symbols, asked, certain)


def _same_zero(one: str, other: str) -> bool:
    """Return whether what is found nowhere is zero over both semirings, as in what is asked of numbers."""
    return SEMIRINGS[one].zero == SEMIRINGS[other].zero


def _vanishes(loop: Sum, searches: Sequence[Search]) -> bool:
    """Return whether the body is zero where all of the searches find nothing."""
    body = shift(loop.body, 1)
    for search in searches:
        body = abstracted(body, shift(search, 1), 0)
    return strict(body, 0, loop.semiring)


def _is_entered(body: Term) -> bool:
    """Return whether what comes of a key is an entry at that key, which nothing else is added to."""
    depth = 0
    while isinstance(body, If | Let):
        depth += isinstance(body, Let)
        body = body.body
    return isinstance(body, Singleton) and body.key in (Variable(depth), Variable(depth + 1))


def _part(
    found: Occurrence,
    loop: Sum,
    searches: Sequence[Search],
    guards: Sequence[tuple[Term, ...]],
    place: int,
    symbols: Symbols,
) -> Term:
    """Return what the entries of one operand bring where those before it have none that is not zero.

    Each of the operands is looked at where its ``guards`` hold.
    """
    types = (*reversed(binder_types(loop, symbols, found.types)), *found.types)
    zeros = [zero_literal(infer(search, symbols, types), search.semiring) for search in searches]
    before = tuple(zip(searches[:place], zeros, strict=False))
    body = loop.body
    for search, zero in before:
        body = substitute(abstracted(shift(body, 1), shift(search, 1), 0), zero)
    body = abstracted(shift(body, 1), shift(searches[place], 1), 0)
    if place < len(searches) - 1:
        body = If(Apply("not_equal", (Variable(0), zeros[place])), body, loop.semiring)
    made: Term = Let(_entry(searches[place]), reindexed(body, lambda index: 1 if index == 2 else index))
    for (search, zero), asked in zip(before, guards, strict=False):
        there = _where([shift(guard, 2) for guard in asked], _at_element(search), search.semiring)
        made = If(Apply("equal", (there, zero)), made, loop.semiring)
    source = shift(searches[place].source, -2)
    made = Sum(source, _within(made, loop, source, found, symbols), loop.semiring)
    return _where(guards[place], made, loop.semiring)


def _where(conditions: Sequence[Term], term: Term, semiring: str) -> Term:
    """Return ``term`` under conditions, of which the first is asked first."""
    for condition in reversed(conditions):
        term = If(condition, term, semiring)
    return term


def _at_element(term: Term) -> Term:
    """Return what the body of a loop over a range sees, of which the element of another loop is the key."""
    return reindexed(term, lambda index: 0 if index < 2 else index)


def _entry(search: Search) -> Term:
    """Return what a search finds at a position, as a loop over all of its positions sees it."""
    match search:
        case Find(_, _, body):
            return reindexed(body, lambda index: 1 if index == 0 else index - 1 if index > 2 else 0)
        case Sum(_, body):
            assert isinstance(body, If)
            return reindexed(body.body, lambda index: index if index < 2 else index - 2 if index > 3 else 0)


def _within(body: Term, loop: Sum, source: Term, found: Occurrence, symbols: Symbols) -> Term:
    """Return ``body`` under the condition that the element is in the loop's range, unless that is certain."""
    assert isinstance(loop.source, Range)
    low, high = shift(loop.source.low, 2), shift(loop.source.high, 2)
    positions, elements = binder_bounds(source, symbols, found.intervals)
    for inside in (Apply("less", (Variable(0), high)), Apply("less_equal", (low, Variable(0)))):
        if not decided(inside, symbols, (elements, positions, *found.intervals)):
            body = If(inside, body, loop.semiring)
    return body
