"""Group by key what a loop looks for anew for each key, and look it up.

    … find(<p> in R at g) t …         =>  let x = sum(<p,y> in R) {y -> t} in … x(g) …
    … sum(R) if e == g then t …       =>  let x = sum(R) {e -> t} in … x(g) …
    … sum(R) if e == g and f == h …   =>  let x = sum(R) {e -> {f -> t}} in … x(g)(h) …
    … sum(R) if e == g then {k -> u * t} …
                                      =>  let x = sum(R) {e -> t} in … {k -> u * x(g)} …

where ``e`` and ``f`` are of what R binds, ``g``, ``h``, ``k`` and ``u`` are not; of a sum each summand is
grouped by itself. What was added up for one key still is, in the same order, but times ``u`` as a whole. Of
two loops either may be the one that is grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from storel.calculus.binding import free_variables, is_outside, shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import EntryBounds, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.calculus.walk import children
from storel.optimizer.sharing.searching import (
    distance_to_zero,
    equated,
    exchanged,
    has_integer_keys,
    has_natural_keys,
    moved,
)
from storel.optimizer.terms.occurrences import Occurrence, at, occurrences, replaced
from storel.optimizer.terms.products import factors
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols

MOST_TABLES = 3
"""Summands of what is looked for up to which each is grouped by itself."""


@dataclass(frozen=True, slots=True)
class Part:
    """A summand of what is looked for: ``table`` at the keys, times ``factors``, as entry at ``entered``."""

    table: Term
    factors: tuple[Term, ...] = ()
    entered: tuple[Term, ...] = ()

    def above(self, binders: int, table: Term) -> Part:
        """Return the part as it is seen from outside of so many binders, with what is there for its table."""
        outer = (tuple(shift(each, -binders) for each in terms) for terms in (self.factors, self.entered))
        return Part(table, *outer)

    def read(self, found: Term, semiring: str) -> Term:
        """Return the part, where ``found`` is what its table has at the keys."""
        whole = reduce(lambda value, each: Multiply(each, value, semiring), self.factors, found)
        return reduce(lambda value, key: Singleton(key, value, semiring), reversed(self.entered), whole)


@dataclass(frozen=True, slots=True)
class Group:
    """Dictionaries, and the keys at which they have, one in the other, what is searched for."""

    keys: tuple[Term, ...]
    parts: tuple[Part, ...]


def grouped(term: Term, symbols: Symbols, *, reassociates: bool = True) -> Iterator[Term]:
    """Yield ``term`` (closed) with one search replaced by tables of what is found under each key.

    Sums are only divided into factors and summands, or their loops exchanged, if ``reassociates`` says so.
    """
    for found in occurrences(term, symbols):
        yield from _grouped(term, found, symbols, reassociates)
    if reassociates:
        for other in exchanged(term, symbols):
            yield from _grouped(*other, symbols, reassociates)


def _grouped(term: Term, found: Occurrence, symbols: Symbols, reassociates: bool) -> Iterator[Term]:
    """Yield ``term`` with what was ``found`` in it looked up, if it is a search."""
    if not isinstance(found.term, Sum | Find):
        return
    group = _group(found.term, 0, found.term.semiring)
    is_whole = all(part == Part(part.table) for part in group.parts)
    # For sparse operands other moves gain more, and would come too late.
    is_dense = isinstance(found.term, Sum) and isinstance(found.term.source, Range)
    if not group.keys or len(group.parts) > MOST_TABLES or not (is_whole or (reassociates and is_dense)):
        return
    rank = infer(found.term, symbols, found.types).rank
    if all(len(part.entered) == rank for part in group.parts):
        yield from _with_tables(term, found, group, found.term.semiring, symbols)


def _with_tables(
    term: Term, found: Occurrence, group: Group, semiring: str, symbols: Symbols
) -> Iterator[Term]:
    free = frozenset[int]().union(*(free_variables(part.table) for part in group.parts))
    outer = found.inside(min(free, default=len(found.scope)))
    home = found.home(outer)
    types, intervals = found.types[outer:], found.intervals[outer:]
    if not outer or not all(infer(key, symbols, found.types).scalar.is_integer for key in group.keys):
        return
    leaving = (each for part in group.parts for each in (*part.factors, *part.entered))
    if not all(is_safe(each, symbols, found.types, found.intervals) for each in leaving):
        return
    group = _from_zero(group, outer, symbols, found.intervals)
    tables = list(dict.fromkeys(part.table for part in group.parts))
    for each in (shift(table, -outer) for table in tables):
        if not has_natural_keys(bounds(each, symbols, intervals), len(group.keys)):
            return
        if not has_integer_keys(each, symbols, types):
            return
        if not is_safe(each, symbols, types, intervals):
            return
    made = _named(term, found, group, semiring, tables, outer)
    if infer(at(made, home), symbols, types) == infer(at(term, home), symbols, types):
        yield made


def _from_zero(group: Group, outer: int, symbols: Symbols, intervals: tuple[Interval, ...]) -> Group:
    """Return a group with keys that may be negative moved, where all of one depth can be by one distance."""
    tables = [bounds(shift(part.table, -outer), symbols, intervals[outer:]) for part in group.parts]
    distances: list[int] = []
    for key in group.keys:
        known = [each for each in tables if isinstance(each, EntryBounds)]
        if len(known) < len(tables):
            return group
        own = reduce(Interval.hull, (each.keys for each in known))
        distances.append(distance_to_zero(own, bounds(key, symbols, intervals)))
        tables = [each.values for each in known]
    if not any(distances):
        return group
    keys = tuple(map(moved, group.keys, distances))
    return Group(keys, tuple(replace(part, table=_moved(part.table, distances)) for part in group.parts))


def _moved(table: Term, distances: Sequence[int]) -> Term:
    """Return a table with its keys, and those of what is under them, moved."""
    match table:
        case Singleton(key, value, semiring) if distances:
            return Singleton(moved(key, distances[0]), _moved(value, distances[1:]), semiring)
        case Sum() | Let() | If():
            place = len(children(table)) - 1
            return replaced(table, (place,), _moved(at(table, (place,)), distances))
        case _:
            return table


def _named(
    term: Term, found: Occurrence, group: Group, semiring: str, tables: Sequence[Term], outer: int
) -> Term:
    """Return ``term`` with ``tables`` named where the variables are that they need, and looked up."""
    count = len(tables)

    def seen(key: Term) -> Term:
        """Seen from the occurrence the last table is variable `outer`, and what was there is further away."""
        return shift(key, count, outer)

    parts: list[Term] = []
    for part in group.parts:
        table: Term = Variable(outer + count - 1 - tables.index(part.table))
        value = reduce(lambda row, key: Lookup(row, seen(key), semiring), group.keys, table)
        outside = replace(
            part, factors=tuple(map(seen, part.factors)), entered=tuple(map(seen, part.entered))
        )
        parts.append(outside.read(value, semiring))
    home = found.home(outer)
    whole = reduce(lambda left, right: Add(left, right, semiring), parts)
    named = replaced(shift(at(term, home), count), found.path[len(home) :], whole)
    for number, table in reversed(list(enumerate(tables))):
        named = Let(shift(table, number - outer), named)
    return replaced(term, home, named)


def _group(term: Term, depth: int, semiring: str) -> Group:
    """Return what is searched for inside of loops that bind ``depth`` variables; without keys, if nothing is.

    All but the tables is seen from here, and does not depend on these variables.
    """
    match term:
        case Sum(source, body, own) if own == semiring:
            inner = _group(body, depth + 2, semiring)
            parts = (part.above(2, Sum(source, part.table, semiring)) for part in inner.parts)
            return Group(tuple(shift(key, -2) for key in inner.keys), tuple(parts))
        case Let(value, body):
            inner = _group(body, depth + 1, semiring)
            parts = (part.above(1, Let(value, part.table)) for part in inner.parts)
            return Group(tuple(shift(key, -1) for key in inner.keys), tuple(parts))
        case If(condition, body, own) if own == semiring:
            inner = _group(body, depth, semiring)
            sides = equated(condition, depth)
            if sides is None:
                parts = (part.above(0, If(condition, part.table, semiring)) for part in inner.parts)
                return replace(inner, parts=tuple(parts))
            own_key, searched = sides
            parts = (part.above(0, Singleton(own_key, part.table, semiring)) for part in inner.parts)
            return Group((searched, *inner.keys), tuple(parts))
        case Find(Symbol() | Slice(Symbol()), searched, body, own) if own == semiring:
            if is_outside(searched, depth):
                # The position of the search is that of the loop, which binds the element as well.
                entry = Singleton(Variable(0), shift(body, 1), semiring)
                return Group((searched,), (Part(Sum(term.source, entry, semiring)),))
        case Apply("equal") if SEMIRINGS[semiring].has_truths:
            sides = equated(term, depth)
            if sides is not None:
                own_key, searched = sides
                table = Singleton(own_key, Literal(True, ScalarType.BOOL), semiring)
                return Group((searched,), (Part(table),))
        case _:
            pass
    return Group((), tuple(_parts(term, depth, semiring)))


def _parts(term: Term, depth: int, semiring: str) -> Iterator[Part]:
    """Yield the summands of what is added up, without the keys and factors that ``depth`` variables miss."""
    match term:
        case Add(left, right, own) if own == semiring:
            yield from _parts(left, depth, semiring)
            yield from _parts(right, depth, semiring)
        case Singleton(key, value, own) if own == semiring and is_outside(key, depth):
            for part in _parts(value, depth, semiring):
                yield replace(part, entered=(key, *part.entered))
        case Singleton():
            yield Part(term)
        case _:
            own_factors = factors(term, semiring)
            outside = [each for each in own_factors if free_variables(each) and is_outside(each, depth)]
            inside = [factor for factor in own_factors if factor not in outside]
            one = SEMIRINGS[semiring].one
            unit = Literal(one, ScalarType.BOOL if isinstance(one, bool) else ScalarType.INT64)
            value = reduce(lambda left, right: Multiply(left, right, semiring), inside or [unit])
            yield Part(value, tuple(outside)) if outside else Part(term)
