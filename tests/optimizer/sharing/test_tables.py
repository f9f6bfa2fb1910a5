"""Tables have a row for each key that they are read at, and are made for no key that is not asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
    "y": np.array([1.0, 2.0, 4.0]),
}
FACTS: list[Fact] = [
    ArraySymbol("count", ScalarType.INT64, 1, 0, 4),
    ArraySymbol("p", ScalarType.INT64, 5, 1, 6),
    ArraySymbol("q", ScalarType.INT64, 5, -2, 5),
    ArraySymbol("x", ScalarType.FLOAT64, 6),
    ArraySymbol("y", ScalarType.FLOAT64, 3),
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
