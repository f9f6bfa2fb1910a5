"""Group by key what a loop looks for anew for each key, and look it up.

    … find(<p> in R at g) t …         =>  let x = sum(<p,y> in R) {y -> t} in … x(g) …
    … sum(R) if e == g then t …       =>  let x = sum(R) {e -> t} in … x(g) …
    … sum(R) if e == g and f == h …   =>  let x = sum(R) {e -> {f -> t}} in … x(g)(h) …

where ``e`` and ``f`` are of what R binds, ``g`` and ``h`` are not. What was added up for one key still is, in
the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import bounds
from storel.calculus.intervals import Entries, Interval
from storel.calculus.nodes import Apply, Find, If, Let, Lookup, Singleton, Slice, Sum, Symbol, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.optimizer.terms.occurrences import Occurrence, at, occurrences, replaced
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Group:
    """A dictionary, and the keys at which it has, one in the other, what is searched for."""

    keys: tuple[Term, ...]
    table: Term


def grouped(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` (closed) with one search replaced by a table of what is found under each key."""
    for found in occurrences(term, symbols):
        if not isinstance(found.term, Sum | Find):
            continue
        group = _group(found.term, 0, found.term.semiring)
        if group.keys and infer(found.term, symbols, found.types).rank == 0:
            yield from _with_table(term, found, group, found.term.semiring, symbols)


def _with_table(
    term: Term, found: Occurrence, group: Group, semiring: str, symbols: Symbols
) -> Iterator[Term]:
    outer = found.inside(min(free_variables(group.table), default=len(found.scope)))
    home = found.home(outer)
    table = shift(group.table, -outer)
    types, intervals = found.types[outer:], found.intervals[outer:]
    if not outer or not all(infer(key, symbols, found.types).scalar.is_integer for key in group.keys):
        return
    if not has_natural_keys(bounds(table, symbols, intervals), len(group.keys)):
        return
    if is_safe(table, symbols, types, intervals):
        # Seen from the occurrence the table is variable `outer`, and what was there is one further away.
        keys = (shift(key, 1, outer) for key in group.keys)
        read = reduce(lambda row, key: Lookup(row, key, semiring), keys, Variable(outer))
        named = replaced(shift(at(term, home), 1), found.path[len(home) :], read)
        yield replaced(term, home, Let(table, named))


def has_natural_keys(entries: Interval, rank: int) -> bool:
    """Return whether keys of a dictionary, and of those in it, are proved not to be negative."""
    if rank == 0:
        return True
    if not isinstance(entries, Entries) or not entries.keys.is_natural:
        return False
    return has_natural_keys(entries.values, rank - 1)


def _group(term: Term, depth: int, semiring: str) -> Group:
    """Return what is searched for inside of loops that bind ``depth`` variables; without keys, if nothing is.

    The keys are seen from here, and do not depend on these variables.
    """
    match term:
        case Sum(source, body, own) if own == semiring:
            inner = _group(body, depth + 2, semiring)
            return Group(tuple(shift(key, -2) for key in inner.keys), Sum(source, inner.table, semiring))
        case Let(value, body):
            inner = _group(body, depth + 1, semiring)
            return Group(tuple(shift(key, -1) for key in inner.keys), Let(value, inner.table))
        case If(condition, body, own) if own == semiring:
            inner = _group(body, depth, semiring)
            sides = _sides(condition, depth)
            if sides is None:
                return replace(inner, table=If(condition, inner.table, semiring))
            own_key, searched = sides
            return Group((searched, *inner.keys), Singleton(own_key, inner.table, semiring))
        case Find(Symbol() | Slice(Symbol()), searched, body, own) if own == semiring:
            if _is_outside(searched, depth):
                # The position of the search is that of the loop, which binds the element as well.
                entry = Singleton(Variable(0), shift(body, 1), semiring)
                return Group((searched,), Sum(term.source, entry, semiring))
        case _:
            pass
    return Group((), term)


def _sides(condition: Term, depth: int) -> tuple[Term, Term] | None:
    """Return the side of an equality that depends on ``depth`` variables, and the one that does not."""
    match condition:
        case Apply("equal", (left, right)):
            for one, other in ((left, right), (right, left)):
                if not _is_outside(one, depth) and _is_outside(other, depth):
                    return one, other
        case _:
            pass
    return None


def _is_outside(term: Term, depth: int) -> bool:
    return all(index >= depth for index in free_variables(term))
