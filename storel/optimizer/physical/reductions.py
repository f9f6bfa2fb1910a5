"""Comprehensions over dictionaries that are read from storage: their entries need no table.

    min(<i, r> in sum(R) {k -> sum(S) {l -> x}}) min(<j, v> in r) b
        =  loop over R and S: where x is not zero, b with i = k, j = l, v = x

if no two iterations enter the same keys (k, l): then x is an entry by itself and not a part of one. That is
so where the keys determine every loop: they hold its position, or its element and elements do not
repeat, or elements of arrays of which it is declared that together they do not repeat. So it is for sums over
another semiring than the entries are of, as ``any`` is; rules take those over the same one apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from storel.calculus.binding import free_variables, shift, substitute
from storel.calculus.nodes import (
    Add,
    If,
    Literal,
    Lookup,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.walk import children, map_children
from storel.optimizer.encoding.layouts import zero
from storel.optimizer.physical.facts import array, is_increasing
from storel.optimizer.physical.shape import addends, has_loop
from storel.optimizer.terms.products import pushed
from storel.plan.nodes import Accumulate, Action, Entries, Loop
from storel.scalars import ScalarType
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class StoredEntries:
    """The loops over the entries of a stored dictionary, the outermost first.

    ``value`` is an entry, seen from within the loops, and one if it differs from ``zero``; ``body``, in
    which variable 0 is the value, is what is reduced.
    """

    sources: tuple[Term, ...]
    value: Term
    zero: Term
    body: Term


def stored_entries(term: Reduce | Sum, symbols: Symbols) -> StoredEntries | None:
    """Return the entries that a nest of comprehensions visits, if they can be read one by one.

    A sum is one if it is over another semiring than the entries.
    """
    depth, body = _nest(term)
    sources: list[Term] = []
    keys: list[tuple[Term, int]] = []
    inner = term.source
    while True:
        match inner:
            case Sum(Range() | Symbol() | Slice(Symbol()) as source, rest):
                sources.append(source)
                inner = rest
            case Singleton(key, value, semiring) if len(keys) < depth:
                keys.append((key, len(sources)))
                inner = value
                if len(keys) == depth:
                    break
            case _:
                return None
    if isinstance(term, Sum) and term.semiring == semiring:
        return None
    loops = len(sources)
    seen = [shift(key, 2 * (loops - outside)) for key, outside in keys]
    if any(has_loop(part) for part in (*seen, inner)) or not _determine(seen, sources, symbols):
        return None
    return StoredEntries(tuple(sources), inner, zero(semiring, 0), _placed(body, seen, loops))


def row_by_row(term: Reduce | Sum, symbols: Symbols) -> Reduce | Sum | None:
    """Return a comprehension over the rows of a sum, and what is in them, as one row after the other.

    min(<i, r> in sum(R) {k -> row}) min(<j, v> in r) b  =  min(R) min(<j, v> in row) b with i = k
    """
    inner = term.body
    if not isinstance(inner, Reduce | Sum) or not _is_of_rows(inner, term):
        return None
    match _united(term.source):
        case Sum(Range() | Symbol() | Slice(Symbol()) as positions, Singleton(key, row)):
            pass
        case _:
            return None
    if has_loop(key) or 2 in free_variables(inner.body) or not _determine((key,), (positions,), symbols):
        return None
    moved = substitute(substitute(shift(inner, 2, 2), shift(row, 1)), key)
    return replace(term, source=positions, body=moved)


def by_rows(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` with sums over the rows of a union, and over what is in them, as one row after another.

    Rules do so for sums over the semiring of what is united.
    """
    made = map_children(term, lambda child, _: by_rows(child, symbols) if children(child) else child)
    if isinstance(made, Sum) and isinstance(made.source, Add) and made.semiring != made.source.semiring:
        return row_by_row(made, symbols) or made
    return made


def _united(source: Term) -> Term:
    """Return sums over the same positions, which are added and enter the same keys, as one sum."""
    match [_scaled(part) for part in addends(source)]:
        case [Sum(positions, Singleton(key, _, own), semiring), _, *_] as parts:
            rows = [
                part.body.value
                for part in parts
                if isinstance(part, Sum) and isinstance(part.body, Singleton)
                if (part.source, part.body.key, part.semiring) == (positions, key, semiring)
            ]
            if len(rows) < len(parts):
                return source
            row = reduce(lambda left, right: Add(left, right, semiring), rows)
            return Sum(positions, Singleton(key, row, own), semiring)
        case _:
            return source


def _scaled(part: Term) -> Term:
    """Return what a number scales, as what is subtracted, with that number inside."""
    match part:
        case Multiply(Literal() as number, Sum() as scaled, semiring):
            return pushed(number, scaled, semiring)
        case _:
            return part


def stored_rows(term: Sum, symbols: Symbols) -> Sum | None:
    """Return a sum over rows, which ``term`` reduces, as one over where they are stored.

    sum(<i, r> in sum(R) {k -> row}) b  =  sum(R) if any(row) then b with i = k, r = row
    """
    match term:
        case Sum(Sum(source, Singleton(key, row)), body, semiring) if 0 in free_variables(
            body
        ) and _only_reduces(body, 0):
            pass
        case _:
            return None
    whether = Reduce("any", row, Literal(True, ScalarType.BOOL))
    if has_loop(key) or not _determine((key,), (source,), symbols) or not stored_entries(whether, symbols):
        return None
    inner = substitute(substitute(shift(body, 2, 2), shift(row, 1)), key)
    return Sum(source, If(whether, inner, semiring), semiring)


def _only_reduces(term: Term, index: int) -> bool:
    """Return whether variable ``index`` occurs as what a comprehension runs over, and nowhere else."""
    if isinstance(term, Variable):
        return term.index != index
    if isinstance(term, Reduce) and term.source == Variable(index):
        return _only_reduces(term.body, index + 2)
    return all(_only_reduces(child, index + binders) for child, binders in children(term))


def any_entry(rank: int) -> Action:
    """Return what finds out whether the row that is variable 0 has an entry."""
    if rank == 0:
        return Accumulate(Literal(True, ScalarType.BOOL))
    return Loop(Entries(Variable(0)), any_entry(rank - 1))


def _nest(term: Reduce | Sum) -> tuple[int, Term]:
    """Return the depth of a nest of comprehensions, each over the rows of the one around it, and its body."""
    inner = term.body
    if isinstance(inner, Reduce | Sum) and _is_of_rows(inner, term):
        depth, body = _nest(inner)
        row = 2 * depth
        if row not in free_variables(body):
            return depth + 1, body
    return 1, inner


def _is_of_rows(inner: Reduce | Sum, outer: Reduce | Sum) -> bool:
    """Return whether a comprehension goes on over the rows of the one around it."""
    operators = (each.monoid if isinstance(each, Reduce) else each.semiring for each in (inner, outer))
    return inner.source == Variable(0) and type(inner) is type(outer) and len({*operators}) == 1


def _placed(body: Term, keys: Sequence[Term], loops: int, depth: int = 0) -> Term:
    """Return ``body`` moved from below the comprehensions to below the loops and the value."""
    if isinstance(body, Variable) and body.index >= depth:
        index = body.index - depth
        if index >= 2 * len(keys):
            return Variable(body.index - 2 * len(keys) + 2 * loops + 1)
        if index > 0:
            return shift(keys[len(keys) - 1 - index // 2], depth + 1)
    return map_children(body, lambda child, binders: _placed(child, keys, loops, depth + binders))


def _determine(keys: Sequence[Term], sources: Sequence[Term], symbols: Symbols) -> bool:
    """Return whether ``keys`` differ in any two iterations of the loops over ``sources``."""
    for number, source in enumerate(sources):
        element = 2 * (len(sources) - 1 - number)
        if Variable(element + 1) in keys:
            continue
        match source:
            case Range() if Variable(element) in keys:
                continue
            case Symbol(name) | Slice(Symbol(name)) if Variable(element) in keys:
                fact = array(symbols, name)
                whole = fact.increasing or fact.unique
                segment = isinstance(source, Slice) and is_increasing(symbols, name, source.low, source.high)
                read = {name, *_read_at(Variable(element + 1), keys)}
                if not (whole or segment or (len(fact.group) > 1 and read.issuperset(fact.group))):
                    return False
            case _:
                return False
    return True


def _read_at(position: Variable, keys: Sequence[Term]) -> list[str]:
    """Return the arrays that keys read at ``position``."""
    return [
        key.mapping.name
        for key in keys
        if isinstance(key, Lookup) and isinstance(key.mapping, Symbol) and key.key == position
    ]
