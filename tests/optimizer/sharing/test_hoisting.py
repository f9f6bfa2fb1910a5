"""Parts are named outside of loops that they do not depend on, and where they are written twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Literal,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.printer import show
from storel.calculus.verify import infer
from storel.optimizer.sharing.hoisting import hoisted
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, Symbols

ZERO, FOUR, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 4, 5))
KEYS, OTHERS = Range(ZERO, FIVE), Range(ZERO, FOUR)
SYMBOLS: Symbols = {
    **{name: ArraySymbol(name, ScalarType.FLOAT64, 5) for name in "ab"},
    "c": ParameterSymbol("c", ScalarType.INT64),
}


def read(array: str, index: int) -> Term:
    return Lookup(Symbol(array), Variable(index))


TOTAL, SHORTER = (Sum(keys, read("b", 1)) for keys in (KEYS, OTHERS))
PRODUCT = Multiply(read("a", 1), read("b", 1))
BEYOND = Sum(KEYS, Lookup(Symbol("b"), Add(Variable(1), FOUR)))
SOME = Range(ZERO, Symbol("c"))

CASES = [
    (
        Sum(KEYS, Multiply(read("a", 1), TOTAL)),
        "let t = sum(<i, _> in 0:5) b(i) in sum(<i, _> in 0:5) a(i) * t",
    ),
    (Add(TOTAL, TOTAL), "let t = sum(<i, _> in 0:5) b(i) in t + t"),
    (Add(TOTAL, SHORTER), "sum(<i, _> in 0:5) b(i) + sum(<i, _> in 0:4) b(i)"),
    (
        Sum(KEYS, Sum(OTHERS, Multiply(Multiply(read("a", 3), read("b", 3)), read("a", 1)))),
        "sum(<i, _> in 0:5) (let t = a(i) * b(i) in sum(<j, _> in 0:4) t * a(j))",
    ),
    (If(Apply("less", (TOTAL, ZERO)), TOTAL), "let t = sum(<i, _> in 0:5) b(i) in if (t < 0) then t"),
    (
        Sum(KEYS, If(Apply("less", (TOTAL, ZERO)), read("a", 1))),
        "let t = sum(<i, _> in 0:5) b(i) < 0 in sum(<i, _> in 0:5) (if (t) then a(i))",
    ),
    (
        Sum(KEYS, If(Apply("less", (read("a", 1), TOTAL)), read("a", 1))),
        "let t = sum(<i, _> in 0:5) b(i) in sum(<i, _> in 0:5) (if (a(i) < t) then a(i))",
    ),
    (
        Sum(
            KEYS, If(Apply("and", (Apply("less", (Variable(1), ZERO)), Apply("less", (ZERO, BEYOND)))), TOTAL)
        ),
        "let t = sum(<i, _> in 0:5) b(i) in "
        "sum(<i, _> in 0:5) (if (i < 0 and 0 < sum(<j, _> in 0:5) b(j + 4)) then t)",
    ),
    (
        Sum(KEYS, Apply("exp", (BEYOND,))),
        "let t = exp(sum(<i, _> in 0:5) b(i + 4)) in sum(<_, _> in 0:5) t",
    ),
    (Sum(SOME, Apply("exp", (BEYOND,))), "sum(<_, _> in 0:c) exp(sum(<i, _> in 0:5) b(i + 4))"),
    (
        Sum(SOME, Apply("exp", (TOTAL,))),
        "let t = exp(sum(<i, _> in 0:5) b(i)) in sum(<_, _> in 0:c) t",
    ),
    (Sum(KEYS, Singleton(Variable(1), PRODUCT)), "sum(<i, _> in 0:5) { i -> a(i) * b(i) }"),
]


@pytest.mark.parametrize(("term", "expected"), CASES)
def test_what_is_named(term: Term, expected: str) -> None:
    assert show(hoisted(term, SYMBOLS)) == expected


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)))
def test_the_value_and_the_type_stay(around: Surroundings, term: Term) -> None:
    found = hoisted(term, around.symbols)
    assert infer(found, around.symbols) == infer(term, around.symbols)
    assert evaluate(found, around.symbols, around.values) == evaluate(term, around.symbols, around.values)
