"""Random well-typed terms of the calculus, and random data for the names they mention.

    @given(surroundings(), terms(dictionary(2)))
    def test(around: Surroundings, term: Term) -> None:
        evaluate(term, around.symbols, around.values)

``terms(kind, context, semiring)`` draws a term of a type, whose free variables have the types of
``context`` (the innermost first). Evaluating it never fails: array reads are guarded, keys are not
negative, provided the integers in ``context`` are not. All values are small multiples of 1/2, so that
sums are exact in any order. The data has stored zeros, empty rows, repeated and missing keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.verify import KEY, Context, Type
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact, ParameterSymbol, SizeSymbol

REAL = Type(ScalarType.FLOAT64)
TRUTH = Type(ScalarType.BOOL)
VALUES = (0.0, 0.0, 1.0, -1.0, 2.0, 0.5)


def dictionary(rank: int) -> Type:
    return Type(ScalarType.FLOAT64, rank)


@dataclass(frozen=True)
class Surroundings:
    """What the names of a term stand for: a CSR matrix m × n, a vector, coordinates, loose integers."""

    symbols: dict[str, Fact]
    values: dict[str, Any]


def integer(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def real(value: float) -> Literal:
    return Literal(value, ScalarType.FLOAT64)


@st.composite
def surroundings(draw: st.DrawFn) -> Surroundings:
    """Draw data: ``A_pos, A_idx, A_val`` (CSR), ``x`` (dense), ``C_row, C_val`` (COO), ``e`` (increasing)."""
    m, n = draw(st.integers(1, 3)), draw(st.integers(1, 4))

    def reals(length: int) -> list[float]:
        return draw(st.lists(st.sampled_from(VALUES), min_size=length, max_size=length))

    rows = [sorted(draw(st.sets(st.integers(0, n - 1), max_size=n))) for _ in range(m)]
    pos = np.cumsum([0, *map(len, rows)])
    idx = [j for row in rows for j in row]
    coordinates = draw(st.lists(st.integers(0, n), max_size=5))
    increasing = sorted(draw(st.sets(st.integers(0, n + 2), max_size=4)))
    values: dict[str, Any] = {
        "A_pos": pos,
        "A_idx": np.array(idx, dtype=np.int64),
        "A_val": np.array(reals(len(idx)), dtype=np.float64),
        "x": np.array(reals(n), dtype=np.float64),
        "C_row": np.array(coordinates, dtype=np.int64),
        "C_val": np.array(reals(len(coordinates)), dtype=np.float64),
        "e": np.array(increasing, dtype=np.int64),
        "beta": draw(st.sampled_from(VALUES)),
    }
    symbols: list[Fact] = [
        ArraySymbol("A_pos", ScalarType.INT64, m + 1, 0, len(idx), ascending=True, first=0, last=len(idx)),
        ArraySymbol("A_idx", ScalarType.INT64, len(idx), 0, n - 1, within="A_pos"),
        ArraySymbol("A_val", ScalarType.FLOAT64, len(idx)),
        ArraySymbol("x", ScalarType.FLOAT64, n),
        ArraySymbol("C_row", ScalarType.INT64, len(coordinates), 0, n),
        ArraySymbol("C_val", ScalarType.FLOAT64, len(coordinates)),
        ArraySymbol(
            "e", ScalarType.INT64, len(increasing), 0, n + 2, ascending=True, increasing=True, unique=True
        ),
        SizeSymbol("m", m),
        SizeSymbol("n", n),
        SizeSymbol("nnz", len(idx)),
        SizeSymbol("c", len(coordinates)),
        SizeSymbol("d", len(increasing)),
        ParameterSymbol("beta", ScalarType.FLOAT64),
    ]
    return Surroundings({symbol.name: symbol for symbol in symbols}, values)


LENGTHS: dict[str, Term] = {
    "A_pos": Add(Symbol("m"), integer(1)),
    "A_idx": Symbol("nnz"),
    "A_val": Symbol("nnz"),
    "x": Symbol("n"),
    "C_row": Symbol("c"),
    "C_val": Symbol("c"),
    "e": Symbol("d"),
}
FIRST_ROW = Slice(Symbol("A_idx"), Lookup(Symbol("A_pos"), integer(0)), Lookup(Symbol("A_pos"), integer(1)))
"""The columns of the entries in the first row of the matrix: they increase."""

INTEGER_ARRAYS = ("A_pos", "A_idx", "C_row", "e")
REAL_ARRAYS = ("A_val", "x", "C_val")


@st.composite
def terms(
    draw: st.DrawFn, kind: Type, context: Context = (), semiring: str = "plus_times", depth: int = 3
) -> Term:
    """Draw a term of type ``kind`` (scalar or dictionary) over ``semiring``."""
    return _Growth(draw, semiring).term(kind, context, depth)


@dataclass(frozen=True)
class _Growth:
    draw: st.DrawFn
    semiring: str

    def term(self, kind: Type, context: Context, depth: int) -> Term:
        leaves: list[Callable[[], Term]] = [
            partial(Variable, index) for index, bound in enumerate(context) if bound == kind
        ]
        leaves.extend(self._leaves(kind))
        choices = leaves
        if depth > 0:
            choices = leaves[:3] + self._inner(kind, context, depth - 1)
        return self._one_of(choices)()

    def _one_of(self, choices: list[Callable[[], Term]]) -> Callable[[], Term]:
        return choices[self.draw(st.integers(0, len(choices) - 1))]

    def _leaves(self, kind: Type) -> list[Callable[[], Term]]:
        if kind == KEY:
            sizes = st.sampled_from(("m", "n", "d"))
            return [lambda: integer(self.draw(st.integers(0, 3))), lambda: Symbol(self.draw(sizes))]
        if kind == TRUTH:
            return [lambda: Literal(self.draw(st.booleans()), ScalarType.BOOL)]
        if kind == REAL:
            return [lambda: real(self.draw(st.sampled_from(VALUES))), lambda: Symbol("beta")]
        stored: list[Callable[[], Term]] = [lambda: Empty(kind.rank)]
        if kind.rank <= 2:
            stored.append((self._vector, self._matrix)[kind.rank - 1])
        if kind.rank == 1:
            stored.append(self._coordinates)
        return stored

    def _vector(self) -> Term:
        return Sum(Symbol("x"), Singleton(Variable(1), Variable(0), self.semiring), self.semiring)

    def _coordinates(self) -> Term:
        entry = Singleton(Variable(0), Lookup(Symbol("C_val"), Variable(1)), self.semiring)
        return Sum(Symbol("C_row"), entry, self.semiring)

    def _matrix(self) -> Term:
        ends = (Lookup(Symbol("A_pos"), Variable(1)), Lookup(Symbol("A_pos"), Add(Variable(1), integer(1))))
        entry = Singleton(Variable(0), Lookup(Symbol("A_val"), Variable(1)), self.semiring)
        row = Sum(Slice(Symbol("A_idx"), *ends), entry, self.semiring)
        return Sum(Range(integer(0), Symbol("m")), Singleton(Variable(1), row, self.semiring), self.semiring)

    def _inner(self, kind: Type, context: Context, depth: int) -> list[Callable[[], Term]]:
        def of(child: Type, *binders: Type) -> Term:
            return self.term(child, (*binders, *context), depth)

        if kind == KEY:
            return [
                lambda: Add(of(KEY), of(KEY)),
                lambda: Apply("maximum", (integer(0), Apply("subtract", (of(KEY), of(KEY))))),
                lambda: Apply(self.draw(st.sampled_from(("minimum", "maximum"))), (of(KEY), of(KEY))),
                lambda: Apply("floor_divide", (of(KEY), integer(2))),
                lambda: Apply("modulo", (of(KEY), integer(3))),
                lambda: self._read(INTEGER_ARRAYS, of(KEY), "plus_times"),
            ]
        if kind == TRUTH:
            names = st.sampled_from(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
            return [
                lambda: Apply(self.draw(names), (of(KEY), of(KEY))),
                lambda: Apply(self.draw(names), (of(REAL), of(REAL))),
                lambda: Apply(self.draw(st.sampled_from(("and", "or"))), (of(TRUTH), of(TRUTH))),
                lambda: Apply("not", (of(TRUTH),)),
            ]
        shared: list[Callable[[], Term]] = [
            lambda: Add(of(kind), of(kind), self.semiring),
            lambda: Multiply(of(kind), of(REAL), self.semiring),
            lambda: Multiply(of(REAL), of(kind), self.semiring),
            lambda: Multiply(of(kind), of(kind), self.semiring),
            lambda: If(of(TRUTH), of(kind), self.semiring),
            lambda: Let(of(bound := self.draw(st.sampled_from((KEY, REAL, dictionary(1))))), of(kind, bound)),
            lambda: self._sum(kind, context, depth),
            lambda: self._sum(kind, context, depth),
            lambda: Merge(Symbol("e"), FIRST_ROW, of(kind, KEY, KEY, KEY), self.semiring),
            lambda: Find(Symbol("e"), of(KEY), of(kind, KEY), self.semiring),
        ]  # fmt: skip
        if kind.rank < 2:
            shared.append(lambda: Lookup(of(dictionary(kind.rank + 1)), of(KEY), self.semiring))
        if kind.rank > 0:
            shared.append(
                lambda: Singleton(of(KEY), of(Type(ScalarType.FLOAT64, kind.rank - 1)), self.semiring)
            )
        else:
            unary = st.sampled_from(("negate", "abs", "relu", "sign"))
            binary = st.sampled_from(("minimum", "maximum", "subtract"))
            shared += [
                lambda: Apply(self.draw(unary), (of(REAL),)),
                lambda: Apply(self.draw(binary), (of(REAL), of(REAL))),
                lambda: self._read(REAL_ARRAYS, of(KEY), self.semiring),
            ]
        return shared

    def _read(self, arrays: tuple[str, ...], key: Term, semiring: str) -> Term:
        """Return a lookup that is guarded by the array's bounds; keys are not negative."""
        name = self.draw(st.sampled_from(arrays))
        return If(Apply("less", (key, LENGTHS[name])), Lookup(Symbol(name), key), semiring)

    def _sum(self, kind: Type, context: Context, depth: int) -> Term:
        source, value = self._one_of_sources(context, depth)
        return Sum(source, self.term(kind, (value, KEY, *context), depth), self.semiring)

    def _one_of_sources(self, context: Context, depth: int) -> tuple[Term, Type]:
        def key() -> Term:
            return self.term(KEY, context, min(depth, 1))

        name = self.draw(st.sampled_from((*INTEGER_ARRAYS, *REAL_ARRAYS)))
        element = KEY if name in INTEGER_ARRAYS else REAL
        length = LENGTHS[name]
        match self.draw(st.integers(0, 4)):
            case 0:
                return Range(integer(0), Symbol(self.draw(st.sampled_from(("m", "n"))))), KEY
            case 1:
                return Range(key(), key()), KEY
            case 2:
                return Symbol(name), element
            case 3:
                ends = (Apply("minimum", (key(), length)), Apply("minimum", (key(), length)))
                return Slice(Symbol(name), *ends), element
            case _:
                rank = self.draw(st.integers(1, 2))
                return self.term(dictionary(rank), context, depth), Type(ScalarType.FLOAT64, rank - 1)
