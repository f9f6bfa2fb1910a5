"""Tables have a row for each key that they are read at, and are made for no key that is not asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
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
from storel.optimizer.sharing.tabulating import tabulated
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact, SizeSymbol

DATA: dict[str, Any] = {
    "count": np.array([2]),
    "p": np.array([1, 3, 6, 6, 2]),
    "q": np.array([-2, 5, 0, 5, -1]),
    "x": np.arange(1.0, 7.0),
    "z": np.array([2, 0, 1]),
    "y": np.array([1.0, 2.0, 4.0]),
}
FACTS: list[Fact] = [
    ArraySymbol("count", ScalarType.INT64, 1, 0, 4),
    ArraySymbol("p", ScalarType.INT64, 5, 1, 6),
    ArraySymbol("q", ScalarType.INT64, 5, -2, 5),
    ArraySymbol("x", ScalarType.FLOAT64, 6),
    ArraySymbol("y", ScalarType.FLOAT64, 3),
    ArraySymbol("z", ScalarType.INT64, 3, 0, 2),
    SizeSymbol("n", 6),
]
SYMBOLS = {fact.name: fact for fact in FACTS}


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def scaled(position: Term) -> Term:
    """Return the sum of y times an element of x."""
    return Sum(Symbol("y"), Multiply(Variable(0), Lookup(Symbol("x"), shift(position, 2))))


def upto(end: Term, body: Term, start: int = 0) -> Term:
    return Sum(Range(number(start), end), body)


def positions(end: int) -> Term:
    """Return the sum over a few positions of what a loop over three makes of each of them."""
    products = Multiply(Lookup(Symbol("x"), Variable(3)), Add(Variable(0), number(1)))
    return upto(number(end), upto(number(3), products))


KEY, ELEMENT = Variable(1), Variable(0)
COUNTED = Lookup(Symbol("count"), number(0))

TABULATED = {
    "a loop as long as data says": Add(upto(COUNTED, scaled(KEY)), upto(number(4), scaled(KEY))),
    "a loop of three in one of two": Add(positions(2), positions(3)),
    "negative keys": upto(Symbol("n"), If(Apply("greater_equal", (KEY, number(0))), scaled(KEY)), -2),
    "keys beyond": upto(number(9), If(Apply("less", (KEY, Symbol("n"))), scaled(KEY))),
    "before the least": Sum(Symbol("p"), scaled(Add(ELEMENT, number(-1)))),
    "before the least asked for": Sum(
        Symbol("q"), If(Apply("less", (number(0), ELEMENT)), scaled(Add(ELEMENT, number(-1))))
    ),
}


@pytest.mark.parametrize("term", TABULATED.values(), ids=TABULATED)
def test_every_table_keeps_the_value(term: Term) -> None:
    moves = list(tabulated(term, SYMBOLS))
    assert moves
    assert all(isinstance(move, Let) for move in moves)
    expected = evaluate(term, SYMBOLS, DATA)
    assert [evaluate(move, SYMBOLS, DATA) for move in moves] == [expected] * len(moves)


def test_a_longer_table_is_read_by_a_shorter_loop() -> None:
    term = Add(upto(number(2), scaled(KEY)), upto(number(4), scaled(KEY)))
    read = Lookup(Variable(2), KEY)
    read_twice = Add(upto(number(2), read), upto(number(4), read))
    assert read_twice in [move.body for move in tabulated(term, SYMBOLS) if isinstance(move, Let)]


def test_rows_with_keys_that_may_be_negative_are_not_made_for_keys_that_are_not_asked_for() -> None:
    element, before = Lookup(Symbol("x"), KEY), Add(Variable(2), number(-1))
    row = Sum(Symbol("x"), Singleton(before, element))
    asked = Sum(Symbol("z"), If(Apply("not_equal", (ELEMENT, number(0))), row))
    assert not list(tabulated(asked, SYMBOLS, rows=True))
    natural = Sum(Symbol("z"), If(Apply("less", (number(0), ELEMENT)), row))
    moves = list(tabulated(natural, SYMBOLS, rows=True))
    assert moves
    expected = evaluate(natural, SYMBOLS, DATA)
    assert [evaluate(move, SYMBOLS, DATA) for move in moves] == [expected] * len(moves)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_row_before_the_first_key_is_nothing_where_it_is_not_asked_for(backend: str) -> None:
    rng = np.random.default_rng(5)
    p, left, right = rng.integers(0, 10, 4000), rng.random((10, 60)), rng.random((60, 60))
    script = """CREATE TENSOR y: real[4000, 69] AS sum(<i, _> in 0:4000) let j = p(i) in
      if (j != 0) then { i -> sum(<(k, l), b> in B, <k, c> in C(j)) { j - 1 + l -> b * c } }"""
    found: Any = storel.run(script, backend=backend, p=p, C=left, B=right)
    rows = np.zeros((10, 69))
    for j in range(1, 10):
        rows[j, j - 1 : j + 59] = left[j] @ right
    np.testing.assert_allclose(found.to_numpy(), rows[p])
