"""A nest of sums taken apart into loops, factors and keys, in which binders are symbols.

    sum(<k, v> in R) {k -> if c then a * sum(<l, w> in S) b}     loops R, S; parts c, a, b; keys k

Symbols can be put together in any order that binds them before they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count

from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import If, Let, Literal, Lookup, Multiply, Singleton, Sum, Symbol, Term
from storel.calculus.walk import children
from storel.optimizer.terms.occurrences import abstracted
from storel.optimizer.terms.products import factors
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop with its binders as symbols: the key's and the value's, and those that its source mentions."""

    source: Term
    key: str
    value: str
    needs: frozenset[str]

    @property
    def binds(self) -> frozenset[str]:
        return frozenset((self.key, self.value))

    def around(self, body: Term, semiring: str) -> Sum:
        """Return the sum of ``body``, in which this loop's symbols become its variables."""
        return Sum(self.source, closed(closed(body, self.key), self.value), semiring)


@dataclass(frozen=True, slots=True)
class Part:
    """A factor, or the condition of one, with the binders that it mentions."""

    term: Term
    needs: frozenset[str]
    is_condition: bool = False


class Nest:
    """The loops, the factors and the keys of a nest of sums, each in the order in which they were met."""

    def __init__(self, term: Sum) -> None:
        self.semiring = term.semiring
        self.loops: list[Loop] = []
        self.parts: list[Part] = []
        self.keys: list[Term] = []
        self.numbers = count()
        one = SEMIRINGS[self.semiring].one
        self.one = Literal(one, ScalarType.BOOL if isinstance(one, bool) else ScalarType.INT64)
        self._open(term)

    def fresh(self) -> str:
        """Return a symbol that no program can write."""
        return f"%{next(self.numbers)}"

    def _open(self, term: Term) -> None:
        match term:
            case Sum(source, body, semiring) if semiring == self.semiring:
                key, value = self.fresh(), self.fresh()
                self.loops.append(Loop(source, key, value, binders_in(source)))
                self._open(substitute(substitute(body, Symbol(value)), Symbol(key)))
            case If(condition, body, semiring) if semiring == self.semiring:
                self.parts.append(Part(condition, binders_in(condition), is_condition=True))
                self._open(body)
            case Multiply(_, _, semiring) if semiring == self.semiring:
                for factor in factors(term, semiring):
                    self._open(factor)
            case Let(Lookup(Symbol()) as read, body):  # an element of an array may be read where it is used
                self._open(substitute(body, read))
            case Singleton(key, value, semiring) if semiring == self.semiring:
                self.keys.append(key)
                self._open(value)
            case _:
                self.parts.append(Part(term, binders_in(term)))

    def product(self, parts: Iterable[Part], rest: Iterable[Term]) -> Term:
        """Return the product of ``parts`` and ``rest`` where the conditions among ``parts`` hold."""
        given = list(parts)
        terms = [*(part.term for part in given if not part.is_condition), *rest] or [self.one]
        whole = reduce(lambda left, right: Multiply(left, right, self.semiring), terms)
        for part in given:
            if part.is_condition:
                whole = If(part.term, whole, self.semiring)
        return whole


def keyed(keys: Sequence[Term], value: Term, nest: Nest) -> Term:
    """Return the dictionary of one entry, or the value if there are no keys."""
    for key in reversed(keys):
        value = Singleton(key, value, nest.semiring)
    return value


def named(name: str, value: Term, body: Term) -> Let:
    """Return ``body`` with the symbol ``name`` standing for ``value``."""
    return Let(value, closed(body, name))


def bound(loops: Iterable[Loop]) -> frozenset[str]:
    """Return the symbols that loops bind."""
    return frozenset[str]().union(*(loop.binds for loop in loops))


def binders_in(term: Term) -> frozenset[str]:
    """Return the symbols in ``term`` that stand for binders."""
    if isinstance(term, Symbol):
        return frozenset((term.name,)) if term.name.startswith("%") else frozenset()
    return frozenset[str]().union(*(binders_in(child) for child, _ in children(term)))


def closed(body: Term, name: str) -> Term:
    """Return ``body`` below one more binder, which takes the place of the symbol ``name``."""
    return abstracted(shift(body, 1), Symbol(name), 0)
