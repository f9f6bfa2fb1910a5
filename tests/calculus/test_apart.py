"""Keys that determine a variable of a loop: what is proved is true, and what must be proved is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.calculus.apart import determined
from storel.calculus.interpret import evaluate
from storel.calculus.intervals import Interval
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
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

SYMBOLS: Symbols = {
    "n": SizeSymbol("n", 4),
    "pos": ArraySymbol("pos", ScalarType.INT64, 5, ascending=True),
    "idx": ArraySymbol("idx", ScalarType.INT64, 9, low=0, high=99, within="pos"),
    "loose": ArraySymbol("loose", ScalarType.INT64, 9, low=0, high=99),
    "val": ArraySymbol("val", ScalarType.FLOAT64, 9),
}
ELEMENT, POSITION, OUTSIDE = 0, 1, 2
CONTEXT = (Interval(0, 99), Interval(0, 8), Interval(0, 3))
"""Of a loop over an array, and of a variable outside of it."""

ENTRY = Literal(1.0, ScalarType.FLOAT64)


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def times(factor: int, index: int) -> Term:
    return Multiply(Variable(index), number(factor))


def digits(size: int, key: Term) -> Term:
    """Return a loop over ``size`` digits, which ``key`` sees as variable 1."""
    return Sum(Range(number(0), number(size)), Singleton(key, ENTRY))


def segment(array: str, at: Term) -> Term:
    return Slice(Symbol(array), Lookup(Symbol("pos"), at), Lookup(Symbol("pos"), Add(at, number(1))))


SAME = Apply("equal", (Apply("bit_and", (Variable(0), number(3))), Variable(3)))
LEAF = Lookup(Symbol("val"), Variable(1))

CASES = [
    pytest.param(Singleton(Variable(1), ENTRY), {POSITION}, {POSITION}, id="itself"),
    pytest.param(Singleton(Variable(2), ENTRY), set(), set(), id="outside"),
    pytest.param(Singleton(Add(times(4, 0), Variable(2)), ENTRY), {ELEMENT}, {ELEMENT}, id="and-a-known"),
    pytest.param(digits(4, Add(times(4, 3), Variable(1))), {POSITION}, {POSITION}, id="digits"),
    pytest.param(digits(4, Add(times(-4, 3), Variable(1))), {POSITION}, {POSITION}, id="backwards"),
    pytest.param(digits(5, Add(times(4, 3), Variable(1))), set(), set(), id="digits-that-overlap"),
    pytest.param(Singleton(Add(Variable(1), Variable(0)), ENTRY), set(), set(), id="sum"),
    pytest.param(
        Singleton(Variable(1), Singleton(Add(Variable(1), Variable(0)), ENTRY)),
        {POSITION}, {POSITION, ELEMENT}, id="difference",
    ),
    pytest.param(Singleton(Variable(2), Singleton(Variable(0), ENTRY)), set(), {ELEMENT}, id="inner-key"),
    pytest.param(
        Sum(segment("idx", Variable(1)), If(SAME, Singleton(Variable(0), LEAF))),
        {POSITION}, {POSITION}, id="equation",
    ),
    pytest.param(
        Sum(
            segment("idx", Variable(2)),
            Singleton(Variable(0), Singleton(Add(times(9, 3), Variable(1)), LEAF)),
        ),
        set(), {POSITION}, id="position-of-an-element",
    ),
    pytest.param(
        Sum(
            segment("loose", Variable(2)),
            Singleton(Variable(0), Singleton(Add(Variable(3), Variable(1)), LEAF)),
        ),
        set(), set(), id="element-at-many-positions",
    ),
    pytest.param(Let(times(2, 1), Singleton(Variable(0), ENTRY)), {POSITION}, {POSITION}, id="named"),
    pytest.param(
        Add(Singleton(Variable(1), ENTRY), Singleton(number(0), ENTRY)), set(), set(), id="two-entries"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("term", "by_outermost", "by_all"), CASES)
def test_determined(term: Term, by_outermost: set[int], by_all: set[int]) -> None:
    found = determined(term, SYMBOLS, CONTEXT)
    assert (found.by_outermost, found.by_all) == (by_outermost, by_all)


FACTOR = st.integers(-6, 6)
KEY = st.tuples(FACTOR, FACTOR, FACTOR)


@settings(max_examples=50, deadline=None)
@given(KEY, KEY, st.integers(1, 4), st.integers(1, 4))
def test_no_entry_of_two_values(
    first: tuple[int, int, int], second: tuple[int, int, int], one: int, other: int
) -> None:
    """Keys are sums of a variable, two digits of inner loops, and what makes them natural."""

    def key(factors: tuple[int, int, int]) -> Term:
        sought, high, low = factors
        digit = Add(times(high, 3), times(low, 1))
        return Add(Add(times(sought, 4), digit), number(100))

    body = Singleton(key(first), Singleton(key(second), ENTRY))
    term = Sum(Range(number(0), number(one)), Sum(Range(number(0), number(other)), body))
    found = determined(term, {}, (Interval(0, 2),), varying=1)
    made = [evaluate(Let(number(value), term), {}, {}) for value in range(3)]
    rows = [set(each) for each in made]
    entries = [{(row, column) for row in each for column in each[row]} for each in made]
    for known, sets in ((found.by_outermost, rows), (found.by_all, entries)):
        if known:
            assert not any(left & right for left, right in combinations(sets, 2))
