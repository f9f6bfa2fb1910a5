from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import FIRST_ROW, REAL, Surroundings, dictionary, integer, real, surroundings, terms

from storel.calculus.interpret import evaluate
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
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
)
from storel.calculus.verify import KEY
from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, Fact, ParameterSymbol, SizeSymbol
from storel.values import Value

VALUES: dict[str, Any] = {
    "a": np.array([1.0, 0.0, 3.0]),
    "nan": np.array([math.nan, math.inf, 0.0]),
    "f": np.array([0.1, 0.2, 0.3], dtype=np.float32),
    "p": np.array([0, 2, 2, 3]),
    "q": np.array([0, 1, 3, 4]),
    "r": np.array([2, 3, 4]),
    "u": np.array([2, 0, 3]),
    "t": np.array([True, False, True]),
    "beta": 2.0,
}
ARRAYS = {
    name: ArraySymbol(name, ScalarType(value.dtype.name), len(value))
    for name, value in VALUES.items()
    if isinstance(value, np.ndarray)
}
SYMBOLS: dict[str, Fact] = {
    **ARRAYS,
    "n": SizeSymbol("n", 3),
    "beta": ParameterSymbol("beta", ScalarType.FLOAT64),
}
A, N = Symbol("a"), Symbol("n")
P, Q, R, U = (Symbol(name) for name in "pqru")
V, K = Variable(0), Variable(1)
VECTOR = Sum(A, Singleton(K, V))
ROW = Sum(P, Singleton(V, real(1.0)))
TRUE, FALSE = Literal(True, ScalarType.BOOL), Literal(False, ScalarType.BOOL)

CASES: list[tuple[Term, Value]] = [
    (Sum(A, real(1.0)), 3.0),  # every position of an array
    (Sum(VECTOR, real(1.0)), 2.0),  # the entries of a dictionary
    (VECTOR, {0: 1.0, 2: 3.0}),
    (ROW, {0: 1.0, 2: 2.0, 3: 1.0}),
    (Sum(P, Singleton(V, Apply("subtract", (K, integer(1))))), {0: -1, 2: 1, 3: 2}),
    (Sum(Range(integer(2), integer(5)), Multiply(K, V)), 29),
    (Sum(Range(integer(5), integer(2)), V), 0),
    (Sum(Slice(P, integer(1), integer(3)), Singleton(K, V)), {1: 2, 2: 2}),
    (Sum(Slice(P, integer(9), integer(7)), V), 0),  # an empty slice lies anywhere
    (Lookup(VECTOR, integer(2)), 3.0),
    (Lookup(VECTOR, integer(-7)), 0.0),
    (Lookup(VECTOR, integer(1), "min_plus"), math.inf),
    (Lookup(Singleton(integer(1), VECTOR), integer(0)), {}),
    (Lookup(P, integer(3)), 3),
    (Singleton(integer(3), real(0.0)), {}),
    (Singleton(integer(3), real(-0.0)), {}),
    (Singleton(integer(3), real(0.0), "min_plus"), {3: 0.0}),
    (Singleton(integer(3), real(math.inf), "min_plus"), {}),
    (Singleton(integer(3), Empty(1)), {}),
    (Let(N, Let(integer(4), Apply("subtract", (V, K)))), 1),
    (If(FALSE, real(1.0)), 0.0),
    (If(FALSE, VECTOR), {}),
    (If(FALSE, real(1.0), "max_plus"), -math.inf),
    (Add(VECTOR, Multiply(integer(-1), VECTOR)), {}),
    (Add(VECTOR, ROW), {0: 2.0, 2: 5.0, 3: 1.0}),
    (Multiply(VECTOR, ROW), {0: 1.0, 2: 6.0}),
    (Multiply(Symbol("beta"), VECTOR), {0: 2.0, 2: 6.0}),
    (Multiply(real(0.0), real(math.inf)), 0.0),
    (Multiply(VECTOR, real(0.0)), {}),
    (Multiply(integer(3), real(math.inf), "min_plus"), math.inf),
    (Sum(P, V, "max_times"), 3),
    (Sum(Range(integer(0), integer(0)), V, "min_plus"), math.inf),
    (Sum(Symbol("t"), V), 2),
    (Sum(Symbol("t"), V, "or_and"), True),
    (Reduce("min", VECTOR, V), 1.0),
    (Reduce("max", P, Multiply(K, V)), 9),
    (Reduce("prod", ROW, V), 2.0),
    (Reduce("prod", Empty(1), V), 1.0),
    (Reduce("any", Empty(1), TRUE), False),
    (Reduce("all", VECTOR, Apply("greater", (V, real(0.0)))), True),
    (Merge(Q, R, Singleton(V, Add(Variable(2), Multiply(integer(10), K)))), {3: 12, 4: 23}),
    (Find(P, integer(2), Singleton(V, real(1.0))), {1: 1.0, 2: 1.0}),
    (Find(P, integer(1), real(1.0)), 0.0),
    (Unique(integer(3)), 3),
    (Apply("and", (FALSE, Apply("equal", (Lookup(P, integer(9)), integer(0))))), False),
    (Apply("or", (TRUE, Apply("equal", (Lookup(P, integer(9)), integer(0))))), True),
    (Sum(Symbol("nan"), Singleton(K, real(1.0))), {0: 1.0, 1: 1.0, 2: 1.0}),
    (Sum(Symbol("f"), V), float(np.float32(0.1) + np.float32(0.2) + np.float32(0.3))),
    (Apply("divide", (integer(1), integer(2))), 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("term", "expected"), CASES)
def test_meaning(term: Term, expected: Value) -> None:
    found = evaluate(term, SYMBOLS, VALUES)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_is_an_entry_and_zero_annihilates_it() -> None:
    vector = Sum(Symbol("nan"), Singleton(K, V))
    found = evaluate(vector, SYMBOLS, VALUES)
    assert sorted(found) == [0, 1]
    assert math.isnan(found[0])
    assert evaluate(Sum(vector, Multiply(V, real(0.0))), SYMBOLS, VALUES) == 0.0


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Lookup(P, integer(4)), "array p is read at position 4"),
        (Lookup(P, integer(-1)), "at position -1"),
        (Sum(Slice(P, integer(2), integer(5)), V), "at position 4"),
        (Lookup(Slice(P, integer(1), integer(3)), integer(0)), "at position 0"),
        (Reduce("min", Empty(1), V), "the minimum of no entries"),
        (Singleton(integer(-1), real(1.0)), "negative key"),
        (Multiply(integer(1 << 62), integer(2)), "overflow"),
        (Apply("floor_divide", (N, integer(0))), "division by zero"),
        (Merge(P, Q, V), "array p does not increase"),
        (Merge(Q, P, V), "array p does not increase"),
        (Find(U, integer(0), V), "array u does not ascend"),
    ],
)
def test_failures(term: Term, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(term, SYMBOLS, VALUES)


def test_a_zero_has_no_key() -> None:
    assert evaluate(Singleton(integer(-1), real(0.0)), SYMBOLS, VALUES) == {}


SOME = settings(max_examples=40, deadline=None)
SEMIRING = st.sampled_from(sorted(SEMIRINGS))


def holds_zero(value: Value, semiring: str) -> bool:
    if isinstance(value, dict):
        return any(entry == {} or holds_zero(entry, semiring) for entry in value.values())
    return SEMIRINGS[semiring].is_zero(value)


@SOME
@given(surroundings(), st.data())
def test_results_have_no_zero_entries(around: Surroundings, data: st.DataObject) -> None:
    semiring = data.draw(SEMIRING)
    found = evaluate(data.draw(terms(dictionary(2), (), semiring)), around.symbols, around.values)
    assert found == {} or not holds_zero(found, semiring)


@SOME
@given(surroundings(), st.data())
def test_merge_and_find_are_guarded_sums(around: Surroundings, data: st.DataObject) -> None:
    over = data.draw(SEMIRING)
    value, key = data.draw(terms(REAL, (), over)), data.draw(terms(KEY))
    e = Symbol("e")

    def equal(left: Term, right: Term) -> None:
        assert evaluate(left, around.symbols, around.values) == evaluate(right, around.symbols, around.values)

    same = If(Apply("equal", (Variable(2), V)), Singleton(Variable(3), value, over), over)
    merged = Merge(e, FIRST_ROW, Singleton(Variable(2), value, over), over)
    equal(merged, Sum(e, Sum(FIRST_ROW, same, over), over))
    found = If(Apply("equal", (V, key)), Singleton(K, value, over), over)
    equal(Find(e, key, Singleton(V, value, over), over), Sum(e, found, over))
