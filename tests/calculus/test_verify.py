from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, integer, real, surroundings, terms

from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
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
from storel.calculus.verify import KEY, InvariantError, Type, infer, verify
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, Fact, ParameterSymbol, SizeSymbol

SYMBOLS: dict[str, Fact] = {
    "a": ArraySymbol("a", ScalarType.FLOAT32, 4),
    "p": ArraySymbol("p", ScalarType.INT32, 4),
    "n": SizeSymbol("n", 4),
    "beta": ParameterSymbol("beta", ScalarType.FLOAT64),
}
A, P, N = Symbol("a"), Symbol("p"), Symbol("n")
V, K = Variable(0), Variable(1)
TRUE = Literal(True, ScalarType.BOOL)

TYPES: list[tuple[Term, str]] = [
    (A, "array of float32"),
    (Range(integer(0), N), "array of int64"),
    (Slice(P, integer(0), N), "array of int32"),
    (Lookup(A, N), "float32"),
    (Sum(A, V), "float32"),
    (Sum(A, Singleton(K, Singleton(K, V))), "dictionary of rank 2 of float32"),
    (Sum(P, Multiply(V, Symbol("beta"))), "float64"),
    (Sum(A, TRUE), "int64"),
    (Sum(A, TRUE, "or_and"), "bool"),
    (Sum(P, V, "min_plus"), "float64"),
    (Sum(P, V, "max_times"), "int32"),
    (Reduce("max", P, V), "int32"),
    (Reduce("any", P, V), "bool"),
    (Reduce("prod", P, TRUE), "int64"),
    (Add(Empty(1), Sum(P, Singleton(K, V))), "dictionary of rank 1 of int32"),
    (Lookup(Sum(A, Singleton(K, V)), N), "float32"),
    (Apply("divide", (N, N)), "float64"),
    (Apply("less", (N, Symbol("beta"))), "bool"),
    (If(TRUE, N, "min_plus"), "float64"),
    (Multiply(real(2.0), Empty(2)), "dictionary of rank 2 of float64"),
]

WRONG: list[tuple[Term, str]] = [
    (V, "outside its 0 binders"),
    (Sum(A, Variable(2)), "outside its 2 binders"),
    (Symbol("b"), "unknown symbol"),
    (Sum(N, V), "sum over int64"),
    (Singleton(real(1.0), N), "integer is needed"),
    (Lookup(N, N), "lookup in int64"),
    (Add(N, Empty(1)), "int64 + dictionary"),
    (Multiply(Empty(1), Empty(2)), "dictionary of rank 1"),
    (Add(A, A), "an array where"),
    (Sum(A, P), "sum of arrays"),
    (Apply("exp", (A,)), "scalar is needed"),
    (Apply("frobnicate", (N,)), "no function"),
    (Apply("exp", (N, N)), "no function"),
    (Apply("bit_and", (N, real(1.0))), "bit_and of int64, float64"),
    (Sum(A, V, "tropical"), "unknown semiring"),
    (Reduce("median", A, V), "unknown monoid"),
    (Literal(1.5, ScalarType.INT64), "no int64"),
    (Literal(1, ScalarType.BOOL), "no bool"),
    (Empty(0), "rank 0"),
    (If(Empty(1), N), "scalar is needed"),
]


@pytest.mark.parametrize(("term", "expected"), TYPES)
def test_types(term: Term, expected: str) -> None:
    assert str(infer(term, SYMBOLS)) == expected


@pytest.mark.parametrize(("term", "problem"), WRONG)
def test_wrong_terms(term: Term, problem: str) -> None:
    with pytest.raises(InvariantError, match=problem.replace("+", r"\+")):
        verify(term, SYMBOLS)


@settings(max_examples=50, deadline=None)
@given(surroundings(), st.data())
def test_random_terms_have_the_type_they_were_drawn_for(around: Surroundings, data: st.DataObject) -> None:
    semiring = data.draw(st.sampled_from(sorted(SEMIRINGS)))
    kind = data.draw(st.sampled_from((KEY, REAL, dictionary(1), dictionary(2))))
    found = infer(data.draw(terms(kind, (KEY, REAL), semiring)), around.symbols, (KEY, REAL))
    assert found.rank == kind.rank
    assert semiring == "or_and" or found == Type(kind.scalar, kind.rank)


def test_a_wrong_term_is_shown_as_text_with_indices_of_free_variables() -> None:
    key = Multiply(Variable(0), Literal(1.5, ScalarType.FLOAT64))
    with pytest.raises(InvariantError) as raised:
        infer(Singleton(key, Variable(1)), {}, (KEY, KEY))
    assert str(raised.value) == "float64 where an integer is needed: %0 * 1.5"
