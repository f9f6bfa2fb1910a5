"""Products in the form that sharing looks at.

    c * sum(R) {k -> e}   becomes   sum(R) {k -> c * e}          scalar factors go to the leaf
    a(q) * b(i) * c(p)    becomes   (b(i) * c(p)) * a(q)         outer factors first

for loops over i, p, q from the outside in. So whatever does not depend on a loop is a prefix of the
product, and moves out of the loop as one term (``sharing/share.py``).
"""

from __future__ import annotations

import math
from typing import TypeAlias

from storel.calculus.binders import binder_types
from storel.calculus.binding import free_mask, free_variables, shift
from storel.calculus.nodes import Add, Empty, Find, If, Let, Merge, Multiply, Singleton, Sum, Term
from storel.calculus.verify import Context, infer
from storel.calculus.walk import children, map_children
from storel.optimizer.terms.occurrences import is_value
from storel.symbols import Symbols

Arranged: TypeAlias = dict[tuple[Term, Context], Term]
"""Terms that were arranged, by what is free in them."""


def arranged(term: Term, symbols: Symbols, context: Context = (), known: Arranged | None = None) -> Term:
    """Return ``term`` with scalar factors at the leaves and every product ordered from the outside in.

    Parts of it that are ``known`` are not looked at again, and the others are added.
    """
    known = {} if known is None else known
    if not children(term):
        return term
    asked = term, context[: free_mask(term).bit_length()]
    found = known.get(asked)
    if found is None:
        found = known[asked] = _arranged(term, symbols, context, known)
    return found


def _arranged(term: Term, symbols: Symbols, context: Context, known: Arranged) -> Term:
    def visit(child: Term, binders: int) -> Term:
        inner = (*reversed(binder_types(term, symbols, context)), *context) if binders else context
        return arranged(child, symbols, inner, known)

    if isinstance(term, Multiply):
        parts = factors(term, term.semiring)
        bodies = [part for part in parts if infer(part, symbols, context).rank > 0]
        scalars = [part for part in parts if part not in bodies]
        if not bodies:
            return product([visit(factor, 0) for factor in scalars], term.semiring)
        if len(bodies) == 1 and scalars:
            factor, (body,) = product(scalars, term.semiring), bodies
            moved = pushed(factor, body, term.semiring)
            if not isinstance(moved, Multiply):
                return arranged(moved, symbols, context, known)
            return Multiply(visit(factor, 0), visit(body, 0), term.semiring)
    return map_children(term, visit)


def pushed(factor: Term, body: Term, semiring: str, keys: float = math.inf) -> Term:
    """Return ``factor * body``, the scalar ``factor`` moved to the leaves of the dictionary ``body``.

    It goes below so many ``keys`` at most, and stays outside of what is over another semiring, since a
    product distributes over the sums of its own alone.
    """
    if keys == 0:
        return Multiply(factor, body, semiring)
    match body:
        case Sum(source, inner, own) if own == semiring:
            return Sum(source, pushed(shift(factor, 2), inner, semiring, keys), own)
        case Merge(left, right, inner, own) if own == semiring:
            return Merge(left, right, pushed(shift(factor, 3), inner, semiring, keys), own)
        case Find(source, key, inner, own) if own == semiring:
            return Find(source, key, pushed(shift(factor, 1), inner, semiring, keys), own)
        case Singleton(key, value, own) if own == semiring:
            return Singleton(key, pushed(factor, value, semiring, keys - 1), own)
        case If(condition, inner, own) if own == semiring:
            return If(condition, pushed(factor, inner, semiring, keys), own)
        case Let(value, inner):
            return Let(value, pushed(shift(factor, 1), inner, semiring, keys))
        case Add(left, right, own) if own == semiring:
            return Add(pushed(factor, left, semiring, keys), pushed(factor, right, semiring, keys), own)
        case Empty():
            return body
        case _:
            return Multiply(factor, body, semiring)


def factors(term: Term, semiring: str) -> list[Term]:
    """Return the factors of a product over one semiring."""
    if isinstance(term, Multiply) and term.semiring == semiring:
        return [*factors(term.left, semiring), *factors(term.right, semiring)]
    return [term]


def product(parts: list[Term], semiring: str) -> Term:
    """Return the product of ``parts``, those that depend on outer binders only before the others."""

    def innermost(part: Term) -> float:
        return -min(free_variables(part), default=float("inf"))

    ordered = sorted(parts, key=innermost)
    result = ordered[0]
    for part in ordered[1:]:
        result = Multiply(result, part, semiring)
    return result


def longest_product(term: Term) -> int:
    """Return of how many factors the longest product in a term is, those of sums in it among them."""
    inside = [longest_product(child) for n, (child, _) in enumerate(children(term)) if is_value(term, n)]
    if isinstance(term, Multiply):
        return sum(max(1, each) for each in inside)
    return max(inside, default=0)
