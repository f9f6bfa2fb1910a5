"""Laws that put a term into the shape that actions have; each keeps the value and the order of sums.

sum(R) {k -> v}          = {k -> sum(R) v}               k not bound by R
{k -> v} + {k -> w}      = {k -> v + w}
A * B                    = sum(<k, v> in A) {k -> v * B(k)}   dictionaries of equal rank
(sum(R) {k -> v}) * B    = sum(R) {k -> v * B(k)}
let x = y in b           = b[x := y]                     y a variable, a symbol or a literal
if c(t) then b(t)        = let x = t in if c(x) then b(x)         t an element of an array of integers
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import is_outside, shift, substitute
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.walk import children, map_children
from storel.optimizer.physical.shape import has_loop
from storel.optimizer.terms.occurrences import abstracted
from storel.symbols import ArraySymbol, Symbols


def is_atom(term: Term) -> bool:
    """Return whether ``term`` costs nothing to repeat."""
    return isinstance(term, Variable | Symbol | Literal)


def normalized(term: Term, symbols: Symbols) -> Term:
    """Return ``term`` in the shape that actions have, but for the order of its keys and its products."""
    return hoist_keys(name_tested(inline_atoms(term), symbols))


def inline_atoms(term: Term) -> Term:
    """Remove every ``let`` whose value is an atom.

    >>> inline_atoms(Let(Symbol("n"), Singleton(Variable(0), Variable(1))))
    Singleton(key=Symbol(name='n'), value=Variable(index=0), semiring='plus_times')
    """
    term = map_children(term, lambda child, _: inline_atoms(child))
    if isinstance(term, Let) and is_atom(term.value):
        return inline_atoms(substitute(term.body, term.value))
    return term


def name_tested(term: Term, symbols: Symbols) -> Term:
    """Name the integers of arrays that a condition and what it guards both read.

    What the condition says of them is then known where they are used, which may be as an address. Boundaries
    of segments are no addresses, and would not be known as such by another name.
    """
    term = map_children(term, lambda child, _: name_tested(child, symbols))
    if isinstance(term, If):
        for read in _integers(term.condition, symbols):
            body = abstracted(shift(term.body, 1), shift(read, 1), 0)
            if body != shift(term.body, 1):
                condition = abstracted(shift(term.condition, 1), shift(read, 1), 0)
                return Let(read, name_tested(If(condition, body, term.semiring), symbols))
    return term


def _integers(condition: Term, symbols: Symbols) -> Iterator[Lookup]:
    """Yield the integers of arrays that a condition reads in any case: not only if something else holds."""
    match condition:
        case Lookup(Symbol(name), key) if not has_loop(key):
            fact = symbols.get(name)
            if isinstance(fact, ArraySymbol) and fact.type.is_integer and not fact.holds_boundaries:
                yield condition
        case Apply("and" | "or", (first, _)):
            yield from _integers(first, symbols)
        case Apply() | Add() | Multiply():
            for child, _ in children(condition):
                yield from _integers(child, symbols)
        case _:
            pass


def hoist_keys(term: Term) -> Term:
    """Move every singleton out of the innermost sums that do not bind its key, and equal ones out of +."""
    term = map_children(term, lambda child, _: hoist_keys(child))
    match term:
        case Sum(source, Singleton(key, value, own), semiring) if is_outside(key, 2):
            return Singleton(shift(key, -2), Sum(source, value, semiring), own)
        case Merge(left, right, Singleton(key, value, own), semiring) if is_outside(key, 3):
            return Singleton(shift(key, -3), Merge(left, right, value, semiring), own)
        case Find(source, wanted, Singleton(key, value, own), semiring) if is_outside(key, 1):
            return Singleton(shift(key, -1), Find(source, wanted, value, semiring), own)
        case Add(Singleton(key, left, own), Singleton(other, right), semiring) if key == other:
            return Singleton(key, Add(left, right, semiring), own)
        case _:
            return term


def intersected(left: Term, right: Term, semiring: str) -> Term:
    """Return the element-wise product of two dictionaries as a sum over the first.

    Where that is what is found in a list, or goes through one, each entry is multiplied as it is met.
    """
    match left:
        case Find(source, wanted, Singleton(key, value, own), outer) if (
            own == outer == semiring and not has_loop(key)
        ):
            return Find(source, wanted, _multiplied(key, value, shift(right, 1), semiring), semiring)
        case Sum((Slice() | Symbol()) as source, Singleton(key, value, own), outer) if (
            own == outer == semiring and not has_loop(key)
        ):
            return Sum(source, _multiplied(key, value, shift(right, 2), semiring), semiring)
        case _:
            pass
    entry = Multiply(Variable(0), Lookup(shift(right, 2), Variable(1), semiring), semiring)
    return Sum(left, Singleton(Variable(1), entry, semiring), semiring)


def _multiplied(key: Term, value: Term, right: Term, semiring: str) -> Term:
    return Singleton(key, Multiply(value, Lookup(right, key, semiring), semiring), semiring)
