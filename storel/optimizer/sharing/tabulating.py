"""Parts made once for each value of the innermost variable that they depend on, or of a term of variables.

    … t(g) … t(e) …   =>   let x = sum(<y, _> in 0:n) {y -> t(y)} in … x(g) … x(e) …

    … t(g, h) …   =>   let x = sum(<y, _> in 0:m) {y -> sum(<z, _> in 0:n) {z -> t(z, y)}} in … x(h)(g) …

``t`` is a term that contains a loop: a scalar, or a dictionary; or a costly function, if loops come to its
keys again. g is a variable, or where nothing else is free in t, a term. By two variables a scalar is
tabulated where a loop that is neither's repeats it. A table pays if it is read more often than it has rows,
or if the loops that fill it run in a better order; both are left to the full cost. A scalar is read from it
wherever it is made for a key, not only where it was found; from a table of two keys only there.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import free_mask, free_variables, shift, substitute
from storel.calculus.nodes import (
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.safety import is_safe
from storel.calculus.verify import KEY, infer
from storel.optimizer.physical.facts import size_term
from storel.optimizer.physical.shape import semiring_of
from storel.optimizer.sharing.filling import are_among, row_of, tables
from storel.optimizer.terms.instances import covering, instance
from storel.optimizer.terms.occurrences import (
    Occurrence,
    abstracted,
    at,
    has_loop,
    has_only_ranges,
    intervals_of,
    is_costly,
    occurrences,
    reindexed,
    replaced,
    types_of,
)
from storel.scalars import ScalarType
from storel.symbols import Symbols


def tabulated(term: Term, symbols: Symbols, *, rows: bool = False) -> Iterator[Term]:
    """Yield ``term`` with one part tabulated by what it depends on.

    That makes a scalar, or with ``rows`` a dictionary; not a single entry, whose value may be tabulated.
    """
    for found in occurrences(term, symbols, has_loop if rows else is_costly):
        free = sorted(free_variables(found.term))
        if not free or isinstance(found.term, Singleton) or _is_table(found, free[0]):
            continue
        kind = infer(found.term, symbols, found.types)
        if kind.is_array or (kind.rank > 0) != rows:
            continue
        if not rows:
            yield from _by_computed_key(term, found, symbols)
        key, outer = free[0], found.inside(free[1] if len(free) > 1 else len(found.scope))
        if outer <= key or not found.is_key(key) or _is_asked_once(term, found, key, outer):
            continue
        home = found.home(outer)
        keys = _keys(found, key, outer, symbols)
        if keys is None:
            continue
        if has_loop(found.term) or _is_made_again(found, key, outer):
            yield from _with_tables(term, found, key, outer, home, keys, symbols)
        if not rows and len(free) > 1:
            yield from _by_pairs(term, found, free, symbols)


def _by_pairs(term: Term, found: Occurrence, free: list[int], symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with what was found tabulated by the two innermost variables that it depends on.

    Neither of them alone may be worth a table: a loop between theirs, or around both, repeats what is found.
    What goes through what is stored is left alone: a table of it would be that operand with its zeros.
    """
    if not has_only_ranges(found.term):
        return
    key, row, *others = free
    outer = found.inside(others[0]) if others else len(found.scope)
    if outer <= row or not found.is_key(row) or not _is_repeated(found, key, row, outer):
        return
    keys, rows = _keys(found, key, outer, symbols), _keys(found, row, outer, symbols)
    if keys is None or rows is None:
        return
    entry = reindexed(found.term, lambda index: {key: 1, row: 3}.get(index, index - outer + 4))
    types = (*[found.scope[each].type for each in (key, key, row, row)], *found.types[outer:])
    known = (*[found.narrowed[each] for each in (key, key, row, row)], *found.intervals[outer:])
    if not is_safe(entry, symbols, types, known):
        return
    own, home = semiring_of(entry), found.home(outer)
    table = Sum(rows, Singleton(Variable(1), row_of(shift(keys, 2), entry, own), own), own)
    read = Lookup(Lookup(Variable(outer), Variable(row), own), Variable(key), own)
    yield replaced(term, home, Let(table, replaced(shift(at(term, home), 1), found.path[len(home) :], read)))


def _is_repeated(found: Occurrence, key: int, row: int, outer: int) -> bool:
    """Return whether a loop inside ``outer`` is neither that of a key nor that of a row."""
    own = (found.scope[key].body, found.scope[row].body)
    return any(each.is_loop and each.body not in own for each in found.scope[:outer])


def _by_computed_key(term: Term, found: Occurrence, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with what was found tabulated by a term in which all variables of loops are."""
    loops = [index for index, binder in enumerate(found.scope) if binder.is_loop]
    outer = loops[-1] + 1 if loops else 0
    keys = (key for key in covering(found.term, outer) if not _is_multiple(key, outer))
    key = next((key for key in keys if _is_number(key, found, symbols)), None)
    if key is None:
        return
    interval = found.bounds_of(key)
    if not interval.is_natural or interval.high is None:
        return
    entry = reindexed(
        abstracted(shift(found.term, 2), shift(key, 2), 1),
        lambda index: index if index < 2 else index - outer,
    )
    around = found.scope[outer:]
    types = (KEY, KEY, *types_of(around))
    if not is_safe(entry, symbols, types, (interval, interval, *intervals_of(around))):
        return
    home = found.home(outer)
    rows = Range(Literal(interval.low or 0, ScalarType.INT64), size_term(symbols, interval.high + 1))
    for table in tables(rows, entry, symbols, types):
        made = replaced(term, home, Let(table, shift(at(term, home), 1)))
        yield _read_throughout(made, (*home, 1), len(around), entry, rows, symbols)


def _is_multiple(key: Term, count: int) -> bool:
    """Return whether a key is so many times a number in which all of the ``count`` innermost variables are.

    A table of it would have rows between any two that are read; one of the number has not.
    """
    match key:
        case Multiply(left, right):
            return any(not free_mask(factor) & ((1 << count) - 1) for factor in (left, right))
        case _:
            return False


def _is_table(found: Occurrence, key: int) -> bool:
    """Return whether what is found are the rows of a table by this very key, which would only be copied."""
    binder = found.scope[key]
    return (
        isinstance(binder.term, Sum)
        and isinstance(binder.term.source, Range)
        and isinstance(binder.term.body, Singleton)
        and found.path == (*binder.body, 1)
        and binder.term.body.key in (Variable(0), Variable(1))
    )


def _is_asked_once(term: Term, found: Occurrence, key: int, outer: int) -> bool:
    """Return whether what is found is a condition that is asked once for each key inside ``outer``."""
    around = at(term, found.path[:-1]) if found.path else term
    if not (isinstance(around, If) and found.path[-1] == 0):
        return False
    own = found.scope[key].body
    return not any(each.is_loop and each.body != own for each in found.scope[:outer])


def _is_made_again(found: Occurrence, key: int, outer: int) -> bool:
    """Return whether a loop comes to a key again: another one, or its own, which reads it in an array."""
    loop = found.scope[key].term
    is_counted = isinstance(loop, Sum | Reduce) and isinstance(loop.source, Range)
    return not is_counted or _is_repeated(found, key, key, outer)


def _with_tables(
    term: Term, found: Occurrence, key: int, outer: int, home: tuple[int, ...], keys: Range, symbols: Symbols
) -> Iterator[Term]:
    entry = reindexed(found.term, lambda index: 1 if index == key else index - outer + 2)
    inner_types = (found.scope[key].type, found.scope[key].type, *found.types[outer:])
    interval = found.narrowed[key]
    if not is_safe(entry, symbols, inner_types, (interval, interval, *found.intervals[outer:])):
        return
    is_scalar = infer(entry, symbols, inner_types).rank == 0
    # Seen from the occurrence the table is variable `outer`, and what was there is one further away.
    for table in tables(keys, entry, symbols, inner_types):
        read = Lookup(Variable(outer), Variable(key), table.semiring)
        place = replaced if is_scalar else _with_row
        named = place(shift(at(term, home), 1), found.path[len(home) :], read)
        made = replaced(term, home, Let(table, named))
        if is_scalar:
            made = _read_throughout(made, (*home, 1), len(found.scope) - outer, entry, keys, symbols)
        yield made


def _read_throughout(
    term: Term, home: tuple[int, ...], around: int, entry: Term, keys: Range, symbols: Symbols
) -> Term:
    """Return ``term`` with a new table read wherever its ``entry`` is made for a key that it holds.

    The table is variable 0 at ``home``, where ``around`` other variables are bound; in ``entry`` the key is
    variable 1.
    """
    read: list[tuple[int, ...]] = []
    for found in occurrences(term, symbols):
        path = found.path
        if type(found.term) is not type(entry) or path[: len(home)] != home:
            continue
        if any(path[: len(each)] == each for each in read):
            continue
        depth = len(found.scope) - around - 1
        pattern = reindexed(entry, lambda index, depth=depth: 0 if index == 1 else index + depth)
        key = instance(pattern, shift(found.term, 1))
        if key is not None and _is_held(shift(key, -1), keys, found, symbols):
            term = replaced(term, path, Lookup(Variable(depth), shift(key, -1), semiring_of(entry)))
            read.append(path)
    return term


def _is_number(key: Term, found: Occurrence, symbols: Symbols) -> bool:
    """Return whether a part of what was found is an integer at hand, even if no loop in it runs."""
    if has_loop(key):
        return False
    kind = infer(key, symbols, found.types)
    is_integer = kind.rank == 0 and kind.scalar.is_integer
    return is_integer and is_safe(
        key, symbols, found.types, found.narrowed, domains=found.domains, conditions=found.holding
    )


def _is_held(key: Term, keys: Range, found: Occurrence, symbols: Symbols) -> bool:
    """Return whether a key is proved to be one of ``keys`` where something was found, whatever these are."""
    if not _is_number(key, found, symbols):
        return False
    return are_among(found.bounds_of(key), keys, symbols)


def _with_row(term: Term, path: tuple[int, ...], row: Term) -> Term:
    """Return ``term`` with a stored row at ``path``; one that had a name, and so a copy, has none."""
    around = at(term, path[:-1]) if path else None
    if isinstance(around, Let) and path[-1] == 0:
        return replaced(term, path[:-1], substitute(around.body, row))
    return replaced(term, path, row)


def _keys(found: Occurrence, key: int, outer: int, symbols: Symbols) -> Range | None:
    """Return the range that the table's rows run over, seen from where it is placed.

    It holds no key that the conditions around what was found exclude: for such it may not be made.
    """
    binder, known = found.scope[key], found.narrowed[key]
    if isinstance(binder.term, Sum) and isinstance(binder.term.source, Range) and known == binder.interval:
        free = free_variables(binder.term.source)
        distance = found.inside(key) + 2
        if all(index + distance >= outer for index in free):
            source = shift(binder.term.source, distance - outer)
            if isinstance(source, Range):
                return source
    if known.low is None or known.high is None:
        return None
    return Range(Literal(known.low, ScalarType.INT64), size_term(symbols, known.high + 1))
