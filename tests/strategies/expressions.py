"""Syntax trees that a text can say, well-typed or not."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from storel.syntax.nodes.declarations import FormatReference, TupleArgument
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Where,
)
from storel.syntax.printer import OPERATORS

WORDS = st.sampled_from(["a", "b", "A", "x1", "pos_1", "Sum", "exp", "β"])
BINDERS = st.one_of(st.just(Binder(None)), st.builds(Binder, WORDS))
NAMES = st.builds(Name, WORDS)

LEAVES = st.one_of(
    NAMES,
    st.builds(Number, st.integers(0, 2**63 - 1)),
    st.builds(Number, st.floats(0, allow_nan=False)),
    st.just(Number(math.nan)),
    st.builds(Truth, st.booleans()),
    st.builds(Text, st.text("ab ' -", max_size=3)),
    st.just(EmptyDictionary()),
)


def _tuples(
    items: st.SearchStrategy[Expression], least: int = 1
) -> st.SearchStrategy[tuple[Expression, ...]]:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def _generators(sources: st.SearchStrategy[Expression]) -> st.SearchStrategy[tuple[Generator, ...]]:
    keys = st.lists(BINDERS, min_size=1, max_size=3).map(tuple)
    source = st.one_of(sources, st.just(BlankRange()))
    return st.lists(st.builds(Generator, keys, BINDERS, source), min_size=1, max_size=2).map(tuple)


def _larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    monoids = st.sampled_from(["min", "max", "prod", "any", "all"])
    where = st.lists(st.builds(Where, WORDS, inner), max_size=2).map(tuple)
    functions = st.one_of(inner, st.sampled_from([Name("min"), Name("count")]))
    return st.one_of(
        st.builds(Sum, _generators(inner), inner, where),
        st.builds(Comprehension, monoids, _generators(inner), inner),
        st.builds(Comprehension, st.just("count"), _generators(inner), st.none()),
        st.builds(Singleton, _tuples(inner), inner),
        st.builds(Call, functions, _tuples(inner)),
        st.builds(Range, inner, inner),
        st.builds(Let, BINDERS, inner, inner),
        st.builds(If, inner, inner, st.one_of(st.none(), inner)),
        st.builds(Binary, st.sampled_from(sorted(OPERATORS)), inner, inner),
        st.builds(Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(Merge, BINDERS, BINDERS, BINDERS, inner, inner, inner),
        st.builds(Unique, inner),
        st.builds(Extent, inner, st.integers(0, 3)),
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(LEAVES, _larger, max_leaves=12)

_ARGUMENTS = st.one_of(EXPRESSIONS, st.builds(TupleArgument, _tuples(EXPRESSIONS, least=1)))
FORMATS = st.builds(
    FormatReference,
    WORDS,
    st.lists(_ARGUMENTS, max_size=2).map(tuple),
    st.lists(st.tuples(WORDS, _ARGUMENTS), max_size=2).map(tuple),
)
