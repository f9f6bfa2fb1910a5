"""Random terms that pattern variables stand for.

Half of the time one for which a rule's guards are likely to hold: a body linear in the value, an
increasing array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from hypothesis import strategies as st

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    If,
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
from storel.calculus.verify import KEY, Type
from storel.optimizer.rules.patterns import Bound, Pattern
from storel.scalars import ScalarType
from storel.soundness.data import LENGTHS, VALUES

TRUTH = Type(ScalarType.BOOL)
SHORT = Type(ScalarType.INT32)
ARRAY = Type(ScalarType.INT64, 1, is_array=True)
SHORTS = Type(ScalarType.INT32, 1, is_array=True)
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

Scope: TypeAlias = tuple[tuple[str, Type], ...]
"""The binders around a place and their kinds, the innermost first."""

OTHERS = {"plus_times": "min_plus", "min_plus": "plus_times"}
"""Semirings of the same numbers with another zero: what is zero over one is stored over the other."""


class UnfitError(Exception):
    """The kinds drawn so far leave no instance."""


def integer(value: int) -> Literal:
    """Return a key."""
    return Literal(value, ScalarType.INT64)


def convertible(target: ScalarType, kind: Type, value: Type) -> tuple[Type, ...]:
    """Return the types, no longer ones, of what may be converted to ``target`` where ``kind`` is wanted.

    Raises UnfitError where it may not stand.
    """
    if not (value.scalar.is_real and kind == value) and (target.is_real or kind != KEY):
        raise UnfitError(f"{target} is not {kind}")
    return (KEY, SHORT, value) if target is value.scalar else (KEY, SHORT)


@dataclass(frozen=True)
class Growth:
    """Draws what pattern variables stand for."""

    draw: st.DrawFn
    semiring: str
    value: Type
    scope: Scope

    def pick(self, *options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def one_of(self, *terms: Callable[[], Term]) -> Term:
        """Draw one of several terms, and nothing for the others, which would only be in the way."""
        return self.pick(*terms)()

    def wanted(self, kind: Type, guards: Sequence[tuple[str, tuple[Pattern, ...]]]) -> Term:
        """Draw a term for which ``guards`` are likely to hold."""
        if kind in (SHORT, SHORTS):
            return self.term(kind, 1)
        if kind.is_array:
            return self.array({name for name, _ in guards})
        if self.pick(False, False, True):
            return self.term(kind, 2)
        for name, arguments in guards:
            if name in ("linear", "strict", "separable", "depends", "selects"):
                (argument,) = arguments
                assert isinstance(argument, Bound)
                index = [binder for binder, _ in self.scope].index(argument.name)
                return self.about(name, index, kind)
            if name in ("distinct", "apart") and kind.rank > 0:
                (argument,) = arguments
                assert isinstance(argument, Bound)
                index = [binder for binder, _ in self.scope].index(argument.name)
                return self.keyed(index, kind, self.pick(*range(kind.rank if name == "apart" else 1)))
            if name == "loose":
                return Growth(self.draw, self.semiring, self.value, ()).term(kind, 0)
        depth = self.pick(0, 1, 2, None, None)
        return self.telling(kind) if depth is None else self.term(kind, depth)

    def telling(self, kind: Type) -> Term:
        """Draw a term that depends on what some of the binders are, on each of them in a way of its own."""
        if kind.is_array or kind == TRUTH:
            return self.term(kind, 1)
        if kind.rank > 0:
            below = Type(kind.scalar, kind.rank - 1)
            return Singleton(self.telling(KEY), self.telling(below), self.semiring)
        known = [Variable(i) for i, (_, found) in enumerate(self.scope) if found == kind]
        told = [variable for variable in known if self.pick(False, True)]
        if kind == KEY:
            total = self.term(kind, 0) if not told else told[0]
            for weight, variable in enumerate(told[1:], 2):
                total = Add(total, Multiply(variable, integer(weight)))
            return total
        product = self.at("x", self.telling(KEY))
        for variable in told:
            product = Multiply(product, variable, self.semiring)
        return product

    def array(self, guards: set[str]) -> Term:
        """Draw an array of integers, or a part of one; it may be read wherever its positions are."""
        segment = Slice(
            Symbol("idx"), *(Lookup(Symbol("pos"), integer(i)) for i in self.pick((0, 1), (1, 2)))
        )
        sorted_ones = (Symbol("e"), Symbol("f"), segment, Range(integer(0), Symbol("n")))
        if "increasing" in guards and self.pick(True, True, False):
            return self.pick(*sorted_ones)
        if "ascending" in guards and self.pick(True, True, False):
            return self.pick(*sorted_ones, Symbol("pos"), Symbol("row"), Symbol("first"))
        arrays = ("u", "u", "u", "u", "negative", "row", "column", "second", "third", "pos", "idx")
        return self.pick(*sorted_ones, *(Symbol(name) for name in arrays))

    def about(self, guard: str, index: int, kind: Type) -> Term:
        """Draw a term in which variable ``index`` occurs as ``guard`` says."""
        here = self.scope[index][1]
        variable = Variable(index)
        if guard == "selects":
            condition = Apply("equal", (variable, integer(self.pick(0, 1, 2)))) if here == KEY else None
            return (
                self.term(kind, 1) if condition is None else If(condition, self.term(kind, 1), self.semiring)
            )
        if guard == "depends" or here == KEY:
            return self.term(kind, 1)
        term: Term = variable
        rank = here.rank
        if guard == "separable" and rank > 0:
            visited = self.visited(variable, rank)
            for _ in range(kind.rank):
                visited = Singleton(integer(self.pick(0, 1)), visited, self.semiring)
            return visited
        while rank > kind.rank:
            if self.pick(True, False):
                inner = Growth(self.draw, self.semiring, self.value, (("w", self.value), ("k", KEY)))
                body: Term = Variable(0)
                if rank == 1 and guard != "linear":
                    body = inner.term(self.value, 1)
                term = Sum(term, body, self.semiring)
            else:
                term = Lookup(term, integer(self.pick(0, 1, 2)), self.semiring)
            rank -= 1
        while rank < kind.rank:
            term = Singleton(integer(self.pick(0, 1, 2)), term, self.semiring)
            rank += 1
        factor = self.pick(None, self.term(self.value, 0), term if guard == "strict" else None)
        return term if factor is None else Multiply(term, factor, self.semiring)

    def keyed(self, index: int, kind: Type, depth: int) -> Term:
        """Draw a dictionary whose key at ``depth`` determines variable ``index``, or nearly does."""
        if depth > 0:
            below = self.keyed(index, Type(kind.scalar, kind.rank - 1), depth - 1)
            return Singleton(self.term(KEY, 0), below, self.semiring)
        inner = Growth(self.draw, self.semiring, self.value, (("t", KEY), ("u", KEY), *self.scope))
        sought, digit = Variable(index + 2), Variable(1)
        factor = integer(self.pick(1, 2, 3, -2))
        value = inner.term(Type(kind.scalar, kind.rank - 1), 1)
        entry: Term = Singleton(digit, value, self.semiring)
        match self.pick("digits", "digits", "equal", "itself"):
            case "digits":
                entry = Singleton(Add(Multiply(sought, factor), digit), value, self.semiring)
            case "equal":
                entry = If(Apply("equal", (Add(digit, integer(1)), sought)), entry, self.semiring)
            case _:
                entry = Singleton(sought, value, self.semiring)
        return Sum(Range(integer(0), integer(self.pick(1, 2, 3))), entry, self.semiring)

    def visited(self, dictionary: Term, rank: int) -> Term:
        """Return the sum of a function of all scalar entries, which need not be linear."""
        if rank > 1:
            return Sum(dictionary, self.visited(Variable(0), rank - 1), self.semiring)
        factor = Literal(self.pick(*VALUES[self.semiring]), self.value.scalar)
        square = Multiply(Variable(0), Variable(0), self.semiring)
        body = self.pick(Multiply(Variable(0), factor, self.semiring), factor, square)
        return Sum(dictionary, body, self.semiring)

    def term(self, kind: Type, depth: int) -> Term:
        """Draw any term of a kind."""
        known = [Variable(i) for i, (_, found) in enumerate(self.scope) if found == kind]
        if known and self.pick(*((True, True, False) if depth == 0 else (True, False, False))):
            return self.pick(*known)
        if kind == SHORTS:
            return Symbol("short")
        if kind.is_array:
            return self.array(set())
        if kind == SHORT:
            return self.read("short", 0)
        if kind == KEY:
            leaf = self.pick(*(integer(i) for i in (0, 1, 2, 3, -1)), Symbol("n"))
            if depth == 0:
                return leaf
            return self.one_of(
                lambda: leaf,
                lambda: Add(self.term(KEY, depth - 1), leaf),
                lambda: self.read("u", depth - 1),
            )
        if kind == TRUTH:
            return self.one_of(
                lambda: Literal(self.pick(True, False), ScalarType.BOOL),
                lambda: Apply(self.pick(*COMPARISONS), (self.term(KEY, 0), self.term(KEY, 0))),
            )
        if kind.rank == 0:
            return self.scalar(depth)
        if depth == 0:
            entry = partial(self.entry, kind, 0)
            return self.one_of(entry, entry, lambda: Empty(kind.rank, kind.scalar))
        return self.one_of(
            lambda: self.loop(kind, depth),
            lambda: self.entry(kind, depth),
            lambda: Add(self.loop(kind, depth), self.term(kind, depth - 1), self.semiring),
        )

    def loop(self, kind: Type, depth: int) -> Term:
        """Draw a sum of entries over an array."""
        inner = Growth(self.draw, self.semiring, self.value, (("k", KEY), ("p", KEY), *self.scope))
        return Sum(self.array(set()), inner.entry(kind, depth - 1), self.semiring)

    def entry(self, kind: Type, depth: int) -> Term:
        key = self.term(KEY, 0) if self.pick(True, False) else integer(self.pick(0, 1))
        return Singleton(key, self.term(Type(kind.scalar, kind.rank - 1), depth), self.semiring)

    def scalar(self, depth: int) -> Term:
        literal = Literal(self.pick(*VALUES[self.semiring]), self.value.scalar)
        if depth == 0:
            return literal
        below = partial(self.term, self.value, depth - 1)
        return self.one_of(
            lambda: literal,
            lambda: self.read("x", depth - 1),
            lambda: Multiply(below(), below(), self.semiring),
            lambda: Add(below(), literal, self.semiring),
            lambda: If(self.term(TRUTH, 0), below(), self.semiring),
        )

    def read(self, array: str, depth: int) -> Term:
        """Draw a read of an array."""
        return self.at(array, self.term(KEY, depth))

    def at(self, array: str, key: Term) -> Term:
        """Return a read of an array at a key, brought within its bounds."""
        place = Apply("modulo", (key, integer(LENGTHS[array])))
        return Lookup(Symbol(array), place, self.semiring if array == "x" else "plus_times")
