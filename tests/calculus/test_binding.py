"""The laws of shifting and substitution, on random terms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, integer, surroundings, terms

from storel.calculus.binding import free_variables, occurs, shift, substitute
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Add, Find, Let, Merge, Singleton, Sum, Symbol, Term, Variable
from storel.calculus.verify import KEY, infer

CONTEXT = (KEY, REAL, dictionary(1), KEY)
open_terms = terms(dictionary(1), CONTEXT)
SOME = settings(max_examples=40, deadline=None)


@SOME
@given(open_terms)
def test_shift_by_zero_changes_nothing(term: Term) -> None:
    assert shift(term, 0) == term


@SOME
@given(open_terms, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_shifts_add_up(term: Term, first: int, second: int, cutoff: int) -> None:
    assert shift(shift(term, first, cutoff), second, cutoff) == shift(term, first + second, cutoff)


@SOME
@given(open_terms, terms(KEY))
def test_substituting_an_unused_binder_undoes_the_shift(term: Term, value: Term) -> None:
    assert substitute(shift(term, 1), value) == term


@SOME
@given(open_terms, terms(KEY, CONTEXT[1:]))
def test_free_variables_of_a_substitution(body: Term, value: Term) -> None:
    expected = {index - 1 for index in free_variables(body) if index > 0}
    if occurs(body, 0):
        expected |= free_variables(value)
    assert free_variables(substitute(body, value)) == expected


@SOME
@given(surroundings(), open_terms, terms(KEY, CONTEXT[1:]))
def test_a_substitution_keeps_the_type(around: Surroundings, body: Term, value: Term) -> None:
    substituted = infer(substitute(body, value), around.symbols, CONTEXT[1:])
    assert substituted == infer(body, around.symbols, CONTEXT)


@SOME
@given(surroundings(), terms(dictionary(2), (KEY,)), terms(KEY))
def test_a_let_means_its_substitution(around: Surroundings, body: Term, value: Term) -> None:
    inlined = evaluate(substitute(body, value), around.symbols, around.values)
    assert inlined == evaluate(Let(value, body), around.symbols, around.values)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (Variable(0), Variable(2)),
        (Variable(1), Variable(0)),
        (Sum(Variable(0), Variable(2)), Sum(Variable(2), Variable(4))),
        (Sum(Symbol("a"), Add(Variable(0), Variable(3))), Sum(Symbol("a"), Add(Variable(0), Variable(2)))),
        (Let(Variable(0), Add(Variable(0), Variable(1))), Let(Variable(2), Add(Variable(0), Variable(3)))),
        (
            Merge(Symbol("a"), Symbol("b"), Singleton(Variable(3), Variable(2))),
            Merge(Symbol("a"), Symbol("b"), Singleton(Variable(5), Variable(2))),
        ),
        (Find(Symbol("a"), Variable(0), Variable(1)), Find(Symbol("a"), Variable(2), Variable(3))),
    ],
)  # fmt: skip
def test_substitution_under_each_binder(body: Term, result: Term) -> None:
    assert substitute(body, Variable(2)) == result


def test_a_closed_value_is_not_shifted() -> None:
    assert substitute(Sum(Symbol("a"), Variable(2)), integer(7)) == Sum(Symbol("a"), integer(7))
