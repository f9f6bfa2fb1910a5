"""A loop that looks for where a loop around it is needs not look; one that may find others does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import FIRST_ROW, REAL, Surroundings, surroundings, terms

import storel
from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Apply, If, Lookup, Singleton, Sum, Symbol, Term, Variable
from storel.calculus.verify import KEY, infer
from storel.calculus.walk import subterms
from storel.optimizer.terms.rejoined import without_rejoined
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol

DISTINCT = (Symbol("e"), FIRST_ROW)
REPEATING = (Symbol("C_row"), Symbol("A_idx"))


def equal(left: Term, right: Term) -> Term:
    return Apply("equal", (left, right))


def loops(term: Term) -> int:
    return sum(isinstance(part, Sum) for part in subterms(term))


@st.composite
def rejoining(draw: st.DrawFn, sources: tuple[Term, ...]) -> Term:
    """Draw sum(<p, v> in S) sum(<k, x> in R) sum(<q, w> in S) if v == w then e, the sides in any order."""
    source = draw(st.sampled_from(sources))
    between = draw(st.sampled_from((Symbol("x"), Symbol("e"))))
    inside = (KEY, KEY, *((KEY, KEY) if between == Symbol("e") else (REAL, KEY)), KEY, KEY)
    sides = draw(st.permutations((Variable(0), Variable(4))))
    found = If(equal(*sides), draw(terms(REAL, inside, depth=2)))
    return Sum(source, Sum(between, Sum(shift(source, 4), found)))


@settings(max_examples=100, deadline=None)
@given(surroundings(), rejoining(DISTINCT) | rejoining(REPEATING))
def test_the_value_stays(around: Surroundings, term: Term) -> None:
    made = without_rejoined(term, around.symbols)
    assert evaluate(made, around.symbols, around.values) == evaluate(term, around.symbols, around.values)


@settings(max_examples=30, deadline=None)
@given(surroundings(), rejoining(DISTINCT))
def test_a_loop_less_is_left(around: Surroundings, term: Term) -> None:
    assert loops(without_rejoined(term, around.symbols)) < loops(term)


@settings(max_examples=30, deadline=None)
@given(surroundings(), rejoining(REPEATING))
def test_elements_that_may_repeat_are_looked_for(around: Surroundings, term: Term) -> None:
    assert isinstance(term, Sum) and isinstance(term.body, Sum)
    made = cast("Sum", cast("Sum", without_rejoined(term, around.symbols)).body).body
    assert isinstance(made, Sum) and made.source == term.source


@settings(max_examples=30, deadline=None)
@given(surroundings())
def test_what_is_told_apart_by_two_arrays_is_where_both_are_equal(around: Surroundings) -> None:
    row = replace(cast("ArraySymbol", around.symbols["C_row"]), group=("C_row", "C_col"))
    symbols = {**around.symbols, "C_row": row, "C_col": replace(row, name="C_col")}
    value = Lookup(Symbol("C_val"), Variable(1))
    columns = equal(Lookup(Symbol("C_col"), Variable(3)), Lookup(Symbol("C_col"), Variable(1)))
    rows = equal(Variable(0), Variable(2))

    def twice(body: Term) -> Term:
        return Sum(Symbol("C_row"), Sum(Symbol("C_row"), body))

    assert loops(without_rejoined(twice(If(rows, If(columns, value))), symbols)) == 1
    assert loops(without_rejoined(twice(If(columns, If(rows, value))), symbols)) == 1
    assert loops(without_rejoined(twice(If(rows, value)), symbols)) == 2
    assert loops(without_rejoined(twice(If(columns, value)), symbols)) == 2


ENTRIES: Any = sp.csr_array(np.array([[0, 2, 0, 3], [0, 0, 0, 0], [4, 0, 0, 5.0]]))
SQUARES = """CREATE TENSOR P AS sum(<(i, j), a> in A) {(i, j, 0) -> a}
                             + sum(<(i, j), a> in A) {(i, j, 1) -> 2 * a}
             CREATE TENSOR g AS sum(<(i, j, f), a> in P, <(i, j, h), b> in P) {(f, h) -> a * b}"""


@pytest.mark.parametrize(
    "layout", ["csr", "csc", "coo", "dcsr", "csf", "hash", "dense", "bcsr", "dia", "ell"]
)
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_sum_of_tensors_joined_with_itself(layout: str, backend: str) -> None:
    found = storel.run(SQUARES, backend=backend, A=storel.tensor(ENTRIES, format=layout))
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), 54 * np.array([[1, 2], [2, 4]]))


def test_what_is_added_up_keeps_its_type() -> None:
    symbols = {
        "e": ArraySymbol("e", ScalarType.INT64, 3, 0, 9, ascending=True, increasing=True, unique=True),
        "n": SizeSymbol("n", 4),
    }
    values = {"e": np.array([1, 3, 8])}
    less = Apply("less", (Variable(0), Symbol("n")))
    for body, left in ((less, 1), (Symbol("n"), 1), (Singleton(Variable(0), less), 2)):
        inner = Sum(Symbol("e"), If(equal(Variable(0), Variable(2)), body))
        term = Sum(Symbol("e"), Singleton(Variable(0), inner))
        made = without_rejoined(term, symbols)
        assert loops(made) == left
        assert infer(made, symbols) == infer(term, symbols)
        assert evaluate(made, symbols, values) == evaluate(term, symbols, values)
