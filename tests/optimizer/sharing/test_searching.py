"""An equality is found wherever it stands between a loop and what it adds up, and either loop may search."""

from __future__ import annotations

import pytest

from storel.calculus.interpret import evaluate
from storel.calculus.intervals import ANY, LONG, Interval
from storel.calculus.nodes import (
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
from storel.calculus.printer import show
from storel.optimizer.sharing.searching import distance_to_zero, exchanged, searches
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

ZERO, THREE, FIVE = (Literal(value, ScalarType.INT64) for value in (0, 3, 5))
SYMBOLS: Symbols = {
    "v": ArraySymbol("v", ScalarType.FLOAT64, 5),
    **{name: ArraySymbol(name, ScalarType.INT64, 5, low=0, high=3) for name in "gh"},
}
VALUES = {"v": [0.5, 1.5, 0.25, 3.0, 1.0], "g": [0, 2, 2, 3, 1], "h": [2, 1, 2, 0, 0]}


def read(name: str, index: int) -> Term:
    return Lookup(Symbol(name), Variable(index))


def is_equal(left: Term, right: Term) -> Term:
    return Apply("equal", (left, right))


def summed(body: Term, end: Term = FIVE) -> Sum:
    return Sum(Range(ZERO, end), body)


JOIN = is_equal(read("h", 1), read("g", 3))
"""That the inner loop's key is the outer one's number, right inside of both."""

FILTER = Apply("less", (read("v", 3), Literal(1.0, ScalarType.FLOAT64)))
SQUARE = Multiply(read("v", 1), read("v", 1))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (If(JOIN, read("v", 1)), ["h(b) == g(d) then v(b)"]),
        (If(FILTER, If(JOIN, read("v", 1))), ["h(b) == g(d) then if (v(d) < 1.0) then v(b)"]),
        (Singleton(Variable(3), If(JOIN, read("v", 1))), ["h(b) == g(d) then { d -> v(b) }"]),
        (
            Let(SQUARE, If(is_equal(read("h", 2), read("g", 4)), Variable(0))),
            ["h(b) == g(d) then let t = v(b) * v(b) in t"],
        ),
        (
            Let(read("h", 1), If(is_equal(Variable(0), read("g", 4)), read("v", 2))),
            ["h(b) == g(d) then let _ = h(b) in v(b)"],
        ),
        (Let(summed(read("h", 3)), If(is_equal(Variable(0), read("g", 4)), read("v", 2))), []),
        (If(JOIN, read("v", 1), "min_plus"), []),
        (If(is_equal(read("h", 1), read("g", 1)), read("v", 1)), []),
    ],
)
def test_what_a_loop_searches_for(body: Term, expected: list[str]) -> None:
    found = [
        "{} == {} then {}".format(*(show(part, ("a", "b", "c", "d")) for part in each))
        for each in searches(body, "plus_times")
    ]
    assert found == expected


@pytest.mark.parametrize(
    "body",
    [
        summed(If(JOIN, read("v", 1))),
        If(Apply("less", (read("v", 1), Literal(1.0, ScalarType.FLOAT64))), summed(If(JOIN, read("v", 1)))),
        Let(SQUARE, summed(If(is_equal(read("h", 1), read("g", 4)), Multiply(Variable(2), read("v", 1))))),
        Singleton(read("h", 1), summed(If(JOIN, Multiply(read("v", 1), read("v", 3))))),
        Singleton(
            read("h", 1), summed(Let(read("v", 3), If(is_equal(read("h", 2), read("g", 4)), Variable(0))))
        ),
    ],
)
def test_two_loops_are_exchanged_with_all_that_is_between_them(body: Term) -> None:
    term = summed(body)
    ((other, inside),) = exchanged(term, SYMBOLS)
    assert isinstance(inside.term, Sum) and any(searches(inside.term.body, "plus_times"))
    assert evaluate(other, SYMBOLS, VALUES) == pytest.approx(evaluate(term, SYMBOLS, VALUES))


@pytest.mark.parametrize(
    "body",
    [
        summed(If(is_equal(read("h", 1), THREE), read("v", 3))),  # of one loop only
        summed(If(JOIN, read("v", 1)), Variable(1)),  # goes as far as the other one
        Let(read("g", 1), summed(If(is_equal(read("h", 1), read("g", 4)), read("v", 1)), Variable(0))),
        If(
            Apply("less", (read("v", 1), Literal(0.0, ScalarType.FLOAT64))),
            summed(If(JOIN, read("v", 1)), Lookup(Symbol("g"), Literal(9, ScalarType.INT64))),  # may fail
        ),
    ],
)
def test_loops_that_stay(body: Term) -> None:
    assert not list(exchanged(summed(body), SYMBOLS))


@pytest.mark.parametrize(
    ("own", "searched", "expected"),
    [
        (Interval(0, 9), Interval(-9, 9), 0),
        (Interval(-8, 7), Interval(-9, 9), 8),
        (Interval(-8, 7), LONG, 0),  # the greatest would wrap around
        (LONG, Interval(0, 9), 0),
        (ANY, Interval(0, 9), 0),
        (Interval(-8, 7), ANY, 0),
    ],
)
def test_by_how_much_keys_are_moved(own: Interval, searched: Interval, expected: int) -> None:
    assert distance_to_zero(own, searched) == expected
