"""What the analyses prove is true when evaluated; what they must prove, they do."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, VALUES, Surroundings, dictionary, integer, real, surroundings, terms

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
    Lookup,
    Multiply,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.strictness import linear, strict
from storel.calculus.verify import Type, infer
from storel.semiring import SEMIRINGS
from storel.values import Value, plus, zero_of

SOME = settings(max_examples=50, deadline=None)
OVER = st.sampled_from(sorted(SEMIRINGS))
RESULTS = st.sampled_from((REAL, dictionary(1)))


def variables(semiring: str) -> st.SearchStrategy[tuple[Type, Value, Value]]:
    """Return a type and two values of it without zero entries."""
    ring = SEMIRINGS[semiring]
    numbers = st.sampled_from((0.0, 1.0)) if semiring == "or_and" else st.sampled_from(VALUES)
    if semiring == "max_times":
        numbers = numbers.map(abs)
    entries = numbers.filter(lambda value: not ring.is_zero(value))
    rows = st.dictionaries(st.integers(0, 3), entries, max_size=3)
    return st.one_of(
        st.tuples(st.just(REAL), numbers, numbers), st.tuples(st.just(dictionary(1)), rows, rows)
    )


@SOME
@given(surroundings(), st.data())
def test_a_strict_term_is_zero_at_zero(around: Surroundings, data: st.DataObject) -> None:
    semiring = data.draw(OVER)
    kind = data.draw(RESULTS)
    variable = data.draw(st.sampled_from((REAL, dictionary(1))))
    body = data.draw(terms(kind, (variable,), semiring))
    assume(strict(body, 0, semiring))
    ring = SEMIRINGS[semiring]

    def zero(kind: Type) -> Value:
        return zero_of(kind.scalar, kind.rank, ring)

    result = evaluate(body, around.symbols, around.values, ((variable, zero(variable)),))
    assert result == zero(infer(body, around.symbols, (variable,)))


@SOME
@given(surroundings(), st.data())
def test_a_linear_term_is_additive(around: Surroundings, data: st.DataObject) -> None:
    semiring = data.draw(st.sampled_from(("plus_times", "min_plus", "max_plus")))
    variable, first, second = data.draw(variables(semiring))
    body = data.draw(terms(data.draw(RESULTS), (variable,), semiring))
    assume(linear(body, 0, semiring))
    ring = SEMIRINGS[semiring]

    def at(value: Value) -> Value:
        return evaluate(body, around.symbols, around.values, ((variable, value),))

    kind = infer(body, around.symbols, (variable,))
    assert at(plus(first, second, variable.scalar, ring)) == plus(at(first), at(second), kind.scalar, ring)
    assert strict(body, 0, semiring)


V, X = Variable(0), Variable(1)
CASES: list[tuple[Term, bool, bool]] = [
    (V, True, True),
    (X, False, False),
    (real(0.0), True, True),
    (real(1.0), False, False),
    (Multiply(V, X), True, True),
    (Multiply(V, V), True, False),
    (Add(V, X), False, False),
    (Add(V, Multiply(X, V)), True, True),
    (Singleton(integer(3), Multiply(V, X)), True, True),
    (Singleton(V, X), False, False),
    (If(Apply("not_equal", (V, real(0.0))), X), True, False),
    (If(Apply("greater", (V, real(0.0))), real(1.0)), True, False),
    (If(Apply("greater_equal", (V, real(0.0))), real(1.0)), False, False),
    (If(X, V), True, True),
    (Let(Multiply(V, X), Add(Variable(0), Variable(0))), True, True),
    (Let(real(2.0), Multiply(Variable(0), Variable(1))), True, True),
    (Sum(Symbol("a"), Multiply(Variable(0), Variable(2))), True, True),
    (Sum(V, Multiply(Variable(0), Variable(3))), True, True),
    (Sum(V, real(1.0)), True, False),
    (Lookup(V, X), True, True),
    (Apply("exp", (V,)), False, False),
    (Apply("sqrt", (V,)), True, False),
    (Apply("negate", (V,)), True, True),
    (Apply("divide", (V, X)), False, False),
    (Apply("divide", (V, real(2.0))), True, True),
    (Apply("power", (V, integer(2))), True, False),
    (Apply("power", (V, integer(0))), False, False),
    (Apply("minimum", (V, X)), False, False),
    (Sum(Symbol("a"), Variable(2), "min_plus"), False, False),
]


@pytest.mark.parametrize(("term", "is_strict", "is_linear"), CASES)
def test_table(term: Term, is_strict: bool, is_linear: bool) -> None:
    assert (strict(term, 0), linear(term, 0)) == (is_strict, is_linear)


def test_zeros_of_other_semirings() -> None:
    assert strict(Multiply(V, X, "min_plus"), 0, "min_plus")
    assert not strict(Multiply(V, X, "min_plus"), 0)
    assert strict(Multiply(V, X, "max_times"), 0)
    assert not linear(Multiply(V, X, "max_times"), 0)


def test_each_part_is_asked_once() -> None:
    """Or else 200 functions of functions, each asked twice, would take longer than anyone waits."""
    inside, named = Apply("exp", (V,)), real(1.0)
    for _ in range(200):
        inside = Apply("abs", (inside,))
        named = Let(named, Add(Variable(0), Variable(1)))
    assert not strict(inside, 0)
    assert not strict(named, 0)
