"""Operands that an action cannot compute where it needs them get a name, and are stored before.

f(e)                   = let x = e in f(x)                      e takes a loop
sum(R(a:e)) b          = let x = e in sum(R(a:x)) b             so do ends of what is searched or read
A * B                  = let x = B in A * x                     two dictionaries, B not stored
c * B                  = let x = c in x * B                     c a number, which else is repeated
c * sum(R) {k -> v}    = sum(R) {k -> c * v}                    c a variable, a symbol or a literal
d(k)                   = let x = d in x(k)                      a row of d, not stored
s(k)                   = let x = k in s(x)                      a row of s, stored; k takes a loop
"""

from __future__ import annotations

from storel.calculus.binding import shift
from storel.calculus.nodes import Find, Let, Lookup, Merge, Multiply, Range, Slice, Term, Variable
from storel.calculus.walk import children, map_children
from storel.optimizer.physical.normalize import intersected, is_atom
from storel.optimizer.physical.shape import entries_of, has_loop, is_store
from storel.optimizer.terms.products import pushed


def with_named_loop(term: Term) -> Let:
    """Return ``term`` with a name for its first operand that takes a loop."""
    chosen = next(child for child, binders in children(term) if binders == 0 and has_loop(child))
    is_named = False

    def name(child: Term, binders: int) -> Term:
        nonlocal is_named
        if not is_named and child == chosen:
            is_named = True
            return Variable(0)
        return shift(child, 1, binders)

    return Let(chosen, map_children(term, name))


def with_named_end(term: Merge | Find | Lookup | Range | Slice) -> Let | None:
    """Return an array, or what reads or searches one, with a name for its first end that takes a loop.

    None if there is no such end.
    """
    match term:
        case Merge(left, right, body, semiring) if end := _computed_end(left) or _computed_end(right):
            return Let(end, Merge(_named(left, end), _named(right, end), shift(body, 1, 3), semiring))
        case Find(source, key, body, semiring) if end := _computed_end(source):
            return Let(end, Find(_named(source, end), shift(key, 1), shift(body, 1, 1), semiring))
        case Lookup(source, key) if end := _computed_end(source):
            return Let(end, Lookup(_named(source, end), shift(key, 1)))
        case Range() | Slice() if end := _computed_end(term):
            return Let(end, _named(term, end))
        case _:
            return None


def _computed_end(source: Term) -> Term | None:
    """Return the first end of a range, or of a part of an array, that takes a loop; None if none does."""
    match source:
        case Slice(inner, low, high):
            ends = _computed_end(inner), low, high
        case Range(low, high):
            ends = low, high
        case _:
            return None
    return next((end for end in ends if end is not None and has_loop(end)), None)


def _named(source: Term, end: Term) -> Term:
    """Return ``source`` below a ``let`` that names an end of it."""
    if source == end:
        return Variable(0)
    if isinstance(source, Range | Slice):
        return map_children(source, lambda child, _: _named(child, end))
    return shift(source, 1)


def multiplied(product: Multiply, ranks: tuple[int, int]) -> Term:
    """Return a product, of dictionaries or of one and a number, with a name for an operand that needs one.

    Where none does, it is multiplied entry by entry. ``ranks`` are those of the two sides.
    """
    left, right, semiring = product.left, product.right, product.semiring
    if min(ranks) > 0:
        if not is_store(right):
            return Let(right, Multiply(shift(left, 1), Variable(0), semiring))
        return intersected(left, right, semiring)
    factor, dictionary = (left, right) if ranks[0] == 0 else (right, left)
    if not is_atom(factor):
        return Let(factor, Multiply(Variable(0), shift(dictionary, 1), semiring))
    moved = pushed(factor, dictionary, semiring, max(ranks))
    if isinstance(moved, Multiply):
        return pushed(factor, entries_of(dictionary, semiring), semiring, max(ranks))
    return moved


def copied(part: Variable | Lookup) -> Term:
    """Return the entries of a stored dictionary or of a part of one; what is not stored yet gets a name."""
    if is_store(part):
        return entries_of(part, "plus_times")
    assert isinstance(part, Lookup)
    if is_store(part.mapping):
        return Let(part.key, Lookup(shift(part.mapping, 1), Variable(0), part.semiring))
    return Let(part.mapping, Lookup(Variable(0), shift(part.key, 1), part.semiring))
