"""Generators → nested loops: a key that is bound already is not bound again but looked up.

    sum(<(i,k), v> in A, …) e      with i bound     =  sum(<k, v> in A(i)) e
    sum(<(i,k), v> in A, …) e      with both bound  =  let v = A(i)(k) in if v != 0 then e
    sum(<(i,k), v> in A, …) e      with k bound     =  sum(<i, r> in A) let v = r(k) in if v != 0 then e
               or, by columns,                      =  sum(<i, v> in sum(<i, r> in A) { i -> r(k) }) e

where the condition is left out if ``e`` is strict in v and cannot fail. For a row, the condition is that it
has an entry. Each row that a loop meets gets it, too, so that the row need not be stored to test that; where
the row is not used otherwise, a number stands for it. An array has no missing entries: there the keys are
compared. The last line is for ``e`` that is not linear. Rules move its inner sum, which is linear, to the
column where columns are stored; for the line above they would have to know that no row is made in two places.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.binding import occurs, shift, substitute
from storel.calculus.bounds import binder_bounds
from storel.calculus.nodes import (
    Apply,
    Empty,
    If,
    Let,
    Literal,
    Lookup,
    Reduce,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.safety import is_safe
from storel.calculus.scope import NOTHING, Scope
from storel.calculus.strictness import linear, strict
from storel.calculus.verify import KEY, Type, element, infer, zero_literal
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols
from storel.syntax.nodes import expressions
from storel.syntax.nodes.expressions import Binder, Expression, Generator
from storel.syntax.walk import children as subexpressions

Body: TypeAlias = Callable[[Scope], Term]
"""Builds what stands inside the loops, in the scope that they make."""

SourceOf: TypeAlias = Callable[[Expression, Scope], tuple[Term, str]]
"""Lowers a source, and says which semiring its entries are over."""


def only_if(condition: Term) -> Term:
    """Return a dictionary that has an entry, at 0, if ``condition`` holds."""
    return Singleton(Literal(0, ScalarType.INT64), condition, "or_and")


TRUE = Literal(True, ScalarType.BOOL)


def required(condition: Term, body: Term = TRUE) -> Term:
    """Return ``body``, a truth, if ``condition`` holds, each of its parts a condition of its own.

    Rules find what meets a condition, an equality first of all; a value is computed for each entry.
    """
    match condition:
        case Apply("and", (left, right)):
            return required(left, required(right, body))
        case Apply("equal"):
            return If(condition, body, "or_and")
        case _:
            return condition if body == TRUE else If(condition, body, "or_and")


def _is_there(kind: Type, semiring: str) -> Term:
    """Return whether variable 0, of a ``kind`` over ``semiring``, is not its zero, or has entries."""
    if kind.rank == 0:
        return Apply("not_equal", (Variable(0), zero_literal(kind, semiring)))
    return Apply("not_equal", (_ones(kind, semiring), zero_literal(Type(_one(semiring).type), semiring)))


def _ones(kind: Type, semiring: str) -> Term:
    """Return as many ones as there are numbers in variable 0, added up.

    That is done over its own semiring: what is known about sums over one semiring applies to the whole.
    """
    ones: Term = _one(semiring)
    for _ in range(kind.rank):
        ones = Sum(Variable(0), ones, semiring)
    return ones


def _one(semiring: str) -> Literal:
    one = SEMIRINGS[semiring].one
    return Literal(one, ScalarType.BOOL if isinstance(one, bool) else ScalarType.INT64)


@dataclass(frozen=True, slots=True)
class Total:
    """A loop that adds up over a semiring."""

    semiring: str

    def loop(self, source: Term, body: Term) -> Term:
        return NOTHING if body == NOTHING else Sum(source, body, self.semiring)

    def guard(self, condition: Term, body: Term) -> Term:
        return NOTHING if body == NOTHING else If(condition, body, self.semiring)

    def ignores_zeros(self, body: Term, semiring: str) -> bool:
        """Whether ``body`` adds nothing where its variable 0 is the zero of ``semiring``, or empty."""
        return SEMIRINGS[semiring].zero == SEMIRINGS[self.semiring].zero and strict(body, 0, self.semiring)

    def goes_by_columns(self, _body: Term) -> bool:
        """Whether rows, variable 0 of a body, are not visited where one entry of each is asked for."""
        return False


class ByColumns(Total):
    """The same, over columns where a key is bound whose row is not."""

    __slots__ = ()

    def goes_by_columns(self, body: Term) -> bool:
        return body != NOTHING and not linear(body, 0, self.semiring)


def asks_for_columns(expression: Expression) -> bool:
    """Return whether sums in a composed expression may go by columns: a key is bound whose row is not."""
    if isinstance(expression, expressions.Sum | expressions.Comprehension):
        bound = set[str | None]()
        for generator in expression.generators:
            names = [key.name for key in generator.keys]
            for place, name in enumerate(names, 1):
                if name not in bound and not bound.isdisjoint(names[place:]):
                    return True
                bound |= {name} - {None}
    return any(map(asks_for_columns, subexpressions(expression)))


@dataclass(frozen=True, slots=True)
class Reduction:
    """A loop that reduces over a monoid; only one with a unit can be guarded."""

    monoid: str

    def loop(self, source: Term, body: Term) -> Term:
        return Reduce(self.monoid, source, body)

    def guard(self, condition: Term, body: Term) -> Term:
        return Reduce(self.monoid, only_if(condition), shift(body, 2))

    def ignores_zeros(self, _body: Term, _semiring: str) -> bool:
        return False

    def goes_by_columns(self, _body: Term) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Nest:
    """Lowers the generators of one loop, their sources by ``source_of``."""

    symbols: Symbols
    form: Total | Reduction
    source_of: SourceOf

    def lower(
        self, generators: tuple[Generator, ...], scope: Scope, body: Body, bound: frozenset[str] = frozenset()
    ) -> Term:
        """Return nested loops around ``body``; ``bound`` are the keys bound by generators to the left."""
        if not generators:
            return body(scope)
        first, rest = generators[0], generators[1:]
        source, semiring = self.source_of(first.source, scope)
        if source == NOTHING:
            source, scope = Empty(len(first.keys)), scope.name_nothing(first.value.name)
        known = bound | {key.name for key in first.keys if key.name is not None}

        def inside(inner: Scope) -> Term:
            return self.lower(rest, inner, body, known)

        return self._keys(source, semiring, first.keys, first.value, scope, inside, bound)

    def _keys(
        self,
        source: Term,
        semiring: str,
        keys: tuple[Binder, ...],
        value: Binder,
        scope: Scope,
        body: Body,
        bound: frozenset[str],
    ) -> Term:
        """Return a loop, or a lookup, for each of ``keys``; ``source`` stands in ``scope``."""
        name, rest = keys[0].name, keys[1:]
        kind = infer(source, self.symbols, scope.types)
        positions, values = binder_bounds(source, self.symbols, scope.intervals)
        known = bound if name is None else bound | {name}

        def deeper(inner: Scope) -> Term:
            return self._keys(Variable(0), semiring, rest, value, inner, body, known) if rest else body(inner)

        def bind(outer: Scope) -> Scope:
            row, is_row = element(kind), kind.rank > 1 and not kind.is_array
            return outer.bind(None if rest else value.name, row, values, is_filled=is_row)

        if name is None or name not in bound:
            within = bind(scope.bind(name, KEY, positions))
            inner = deeper(within)
            if kind.is_array or inner == NOTHING:
                return self.form.loop(source, inner)
            later = next((place for place, key in enumerate(rest) if key.name in bound), None)
            if later is not None and self.form.goes_by_columns(inner):
                column = _column(source, later, scope.find(str(rest[later].name)), semiring)
                others = (keys[0], *rest[:later], *rest[later + 1 :])
                return self._keys(column, semiring, others, value, scope, body, bound)
            if kind.rank > 1 and not occurs(inner, 0):
                ones = _ones(element(kind), semiring)
                source = Sum(source, Singleton(Variable(1), ones, semiring), semiring)
            elif self._asks(inner, within, kind, semiring):
                inner = self.form.guard(_is_there(element(kind), semiring), inner)
            return self.form.loop(source, inner)
        position = scope.find(name)
        within = bind(scope)
        inner = deeper(within)
        if not kind.is_array:
            row = Lookup(source, position, semiring)
            if self.form.ignores_zeros(inner, semiring) and self._is_safe(inner, within):
                return substitute(inner, row) if rest else Let(row, inner)
            return Let(row, self.form.guard(_is_there(element(kind), semiring), inner))
        same = Apply("equal", (Variable(1), shift(position, 2)))
        return self.form.loop(source, self.form.guard(same, deeper(bind(scope.bind(None)))))

    def _asks(self, body: Term, scope: Scope, kind: Type, semiring: str) -> bool:
        """Return whether a loop over a dictionary of a ``kind`` has to ask whether an entry is there.

        The numbers in a row rules ask for themselves, where a body does more than to add up.
        """
        if not isinstance(self.form, Total):
            return False
        is_row = kind.rank > 1
        return (is_row and not self.form.ignores_zeros(body, semiring)) or not self._is_safe(body, scope)

    def _is_safe(self, body: Term, scope: Scope) -> bool:
        """Return whether ``body`` cannot fail where there is no entry, which must then not be evaluated."""
        return body == NOTHING or is_safe(body, self.symbols, scope.types, scope.intervals, reads=False)


def _column(source: Term, depth: int, key: Term, semiring: str) -> Term:
    """Return the entries of a dictionary that have ``key`` below their first key and ``depth`` others."""
    row, below = Variable(0), shift(key, 2)
    value = Lookup(row, below, semiring) if depth == 0 else _column(row, depth - 1, below, semiring)
    return Sum(source, Singleton(Variable(1), value, semiring), semiring)
