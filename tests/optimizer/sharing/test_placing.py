"""Names of loops are given once, behind the conditions that do not ask for them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Add, Apply, If, Let, Literal, Lookup, Range, Sum, Symbol, Term, Variable
from storel.calculus.printer import show
from storel.optimizer.sharing.placing import placed
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

ZERO, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 5))
KEYS = Range(ZERO, FIVE)
SYMBOLS: Symbols = {name: ArraySymbol(name, ScalarType.FLOAT64, 5) for name in "ab"}
TOTAL = Sum(KEYS, Lookup(Symbol("b"), Variable(1)))


def read(index: int) -> Term:
    return Lookup(Symbol("a"), Variable(index))


def is_positive(term: Term) -> Term:
    return Apply("less", (ZERO, term))


CASES = [
    (
        Sum(KEYS, Let(TOTAL, If(is_positive(read(2)), Variable(0)))),
        "sum(<i, _> in 0:5) (if (0 < a(i)) then let t = sum(<j, _> in 0:5) b(j) in t)",
    ),
    (
        Let(TOTAL, If(is_positive(Variable(0)), Variable(0))),
        "let t = sum(<i, _> in 0:5) b(i) in if (0 < t) then t",
    ),
    (
        Sum(KEYS, Let(TOTAL, Let(read(2), If(is_positive(Variable(0)), Add(Variable(0), Variable(1)))))),
        "sum(<i, _> in 0:5) (let t = a(i) in if (0 < t) then let u = sum(<j, _> in 0:5) b(j) in t + u)",
    ),
    (
        Sum(KEYS, Let(read(1), If(is_positive(read(2)), Variable(0)))),
        "sum(<i, _> in 0:5) (let t = a(i) in if (0 < a(i)) then t)",
    ),
    (
        Let(TOTAL, Sum(KEYS, Let(TOTAL, Add(Variable(0), Variable(3))))),
        "let t = sum(<i, _> in 0:5) b(i) in sum(<_, _> in 0:5) (t + t)",
    ),
]


@pytest.mark.parametrize(("term", "expected"), CASES)
def test_where_a_name_is_given(term: Term, expected: str) -> None:
    assert show(placed(term)) == expected


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL), terms(REAL), terms(dictionary(1)))
def test_what_is_placed_means_the_same(around: Surroundings, asked: Term, value: Term, row: Term) -> None:
    names = Sum(row, value), Sum(row, Variable(0)), Sum(row, value)
    body: Term = If(is_positive(asked), Add(Add(Variable(0), Variable(1)), Variable(2)))
    for name in names:
        body = If(is_positive(Variable(0)), Let(name, body)) if name is names[1] else Let(name, body)
    named = Let(asked, body)
    assert evaluate(placed(named), around.symbols, around.values) == evaluate(
        named, around.symbols, around.values
    )
