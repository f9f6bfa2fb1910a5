"""A row that loops intersect with many others is laid out densely once, and looked up.

    sum(R) … merge(<p, q, x> in <S, T>) a(p) * b(q) …
        =>  let t = sum(<q, x> in T) {x -> b(q)} in sum(R) … sum(<p, x> in S) a(p) * t(x) …

where T and b do not depend on the binders of R. A lookup of what is missing is zero, and so is its product.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import free_variables, shift
from storel.calculus.bounds import binder_bounds
from storel.calculus.nodes import Let, Lookup, Merge, Multiply, Singleton, Sum, Term, Variable
from storel.calculus.safety import is_safe
from storel.calculus.verify import infer
from storel.optimizer.terms.occurrences import Occurrence, at, occurrences, reindexed, replaced
from storel.optimizer.terms.products import factors, product
from storel.symbols import Symbols

_LEFT, _RIGHT = 2, 1
"""The variables of a merge that are the positions in its two sources; its element is 0."""


def marked(term: Term, symbols: Symbols) -> Iterator[Term]:
    """Yield ``term`` with one side of an intersection stored outside the loops that it does not depend on."""
    for found in occurrences(term, symbols):
        merge = found.term
        if not isinstance(merge, Merge) or infer(merge, symbols, found.types).rank > 0:
            continue
        yield from _with_mark(term, found, merge, (merge.left, merge.right), (_LEFT, _RIGHT), symbols)
        yield from _with_mark(term, found, merge, (merge.right, merge.left), (_RIGHT, _LEFT), symbols)


def _with_mark(
    term: Term,
    found: Occurrence,
    merge: Merge,
    sources: tuple[Term, Term],
    positions: tuple[int, int],
    symbols: Symbols,
) -> Iterator[Term]:
    """Yield ``term`` with the second of the sources stored and the first one scanned."""
    least = binder_bounds(sources[1], symbols, found.intervals)[1].low
    if least is None or least < 0:  # what is stored has no negative keys
        return
    parts = factors(merge.body, merge.semiring)
    stored = [part for part in parts if positions[1] in free_variables(part)]
    if not stored or any(positions[0] in free_variables(part) for part in stored):
        return
    fixed = [part for part in parts if all(index > _LEFT for index in free_variables(part))]
    rest = [part for part in parts if part not in stored and part not in fixed]
    value = _within_sum(product(stored, merge.semiring))
    entries = Sum(sources[1], Singleton(Variable(0), value, merge.semiring), merge.semiring)
    outer = found.inside(min(free_variables(entries), default=len(found.scope)))
    moved = shift(entries, -outer)
    repeated = any(binder.is_loop for binder in found.scope[:outer])
    if not repeated or not is_safe(moved, symbols, found.types[outer:], found.intervals[outer:]):
        return
    # Seen from the occurrence the row is variable `outer`, and what was there is one further away.
    read = Lookup(Variable(outer + 2), Variable(0), merge.semiring)
    factor = shift(_within_sum(product(rest, merge.semiring)), 1, outer + 2) if rest else None
    body = read if factor is None else Multiply(factor, read, merge.semiring)
    scan: Term = Sum(shift(sources[0], 1, outer), body, merge.semiring)
    if fixed:
        outside = shift(product(fixed, merge.semiring), -1 - _LEFT)
        scan = Multiply(shift(outside, 1, outer), scan, merge.semiring)
    home = found.home(outer)
    yield replaced(term, home, Let(moved, replaced(shift(at(term, home), 1), found.path[len(home) :], scan)))


def _within_sum(term: Term) -> Term:
    """Return a term that stands in a merge, and uses one of its positions, as it is within a sum."""
    return reindexed(term, lambda index: max(0, index - 1 if index != 1 else 1))
