"""What may fail is only evaluated behind what says that it is needed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Literal, Lookup, Multiply, Range, Sum, Symbol, Term, Variable
from storel.calculus.printer import show
from storel.calculus.verify import infer
from storel.optimizer.terms.precautions import cautious
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, Symbols

SYMBOLS: Symbols = {
    "a": ArraySymbol("a", ScalarType.FLOAT64, 5),
    "c": ParameterSymbol("c", ScalarType.INT64),
}
ZERO, ONE, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 1, 5))
SOME = Range(ZERO, Symbol("c"))


def read(position: Term) -> Term:
    return Lookup(Symbol("a"), position)


BEYOND, INSIDE, LOOP = read(Symbol("c")), read(ONE), Sum(SOME, read(ONE))
UNSAFE = Sum(SOME, read(Variable(1)))
FIVE_TIMES = Range(ZERO, FIVE)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Multiply(BEYOND, LOOP), "let t = sum(<_, _> in 0:c) a(1) in if (t != 0.0) then a(c) * t"),
        (
            Multiply(INSIDE, Multiply(LOOP, BEYOND)),
            "let t = a(1) * (sum(<_, _> in 0:c) a(1)) in if (t != 0.0) then a(c) * t",
        ),
        (Multiply(BEYOND, UNSAFE), "let t = sum(<i, _> in 0:c) a(i) in if (t != 0.0) then a(c) * t"),
        (
            Multiply(UNSAFE, LOOP),
            "let t = sum(<_, _> in 0:c) a(1) in if (t != 0.0) then (sum(<i, _> in 0:c) a(i)) * t",
        ),
        (Multiply(INSIDE, LOOP), "a(1) * (sum(<_, _> in 0:c) a(1))"),
        (Multiply(BEYOND, INSIDE), "a(c) * a(1)"),
        (
            Sum(FIVE_TIMES, Multiply(read(Variable(1)), LOOP)),
            "sum(<i, _> in 0:5) a(i) * (sum(<_, _> in 0:c) a(1))",
        ),
    ],
)
def test_what_may_fail_is_asked_for_where_a_sum_is_not_zero(term: Term, expected: str) -> None:
    assert show(cautious(term, SYMBOLS)) == expected


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL), terms(REAL) | terms(dictionary(1)))
def test_the_value_and_the_type_stay(around: Surroundings, factor: Term, other: Term) -> None:
    for term in (Multiply(factor, other), Multiply(Sum(Range(ZERO, Symbol("m")), shift(factor, 2)), other)):
        made = cautious(term, around.symbols)
        assert infer(made, around.symbols) == infer(term, around.symbols)
        assert evaluate(made, around.symbols, around.values) == evaluate(term, around.symbols, around.values)
