from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, surroundings
from strategies.terms import terms as whole_terms

from storel.calculus.bounds import binder_bounds, bounds, decided, narrowed
from storel.calculus.domains import bounds_within
from storel.calculus.interpret import evaluate
from storel.calculus.intervals import ANY, LONG, TRUTH, EntryBounds, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.calculus.verify import KEY
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact, SizeSymbol

SYMBOLS: dict[str, Fact] = {
    "n": SizeSymbol("n", 5),
    "pos": ArraySymbol("pos", ScalarType.INT64, 6, 0, 9, ascending=True),
    "idx": ArraySymbol("idx", ScalarType.INT64, 9, 0, 6),
    "val": ArraySymbol("val", ScalarType.FLOAT64, 9),
    "inc": ArraySymbol("inc", ScalarType.INT64, 9, 0, 20, increasing=True),
}


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


ROW = (Interval(0, 4), Interval(0, 4))

BOUNDS: list[tuple[Term, Interval]] = [
    (number(3), Interval(3, 3)),
    (Symbol("n"), Interval(5, 5)),
    (Variable(0), Interval(0, 4)),
    (Add(Variable(0), number(1)), Interval(1, 5)),
    (Apply("subtract", (Variable(0), Variable(1))), Interval(-4, 4)),
    (Multiply(Variable(0), number(-2)), Interval(-8, 0)),
    (Apply("floor_divide", (Variable(0), number(2))), Interval(0, 2)),
    (Apply("floor_divide", (Variable(0), number(-3))), Interval(-2, 0)),
    (Apply("floor_divide", (Add(Variable(0), number(-(2**63))), number(-1))), Interval()),
    (Apply("negate", (Add(Variable(0), number(-(2**63))),)), Interval()),
    (Apply("modulo", (Apply("negate", (Variable(0),)), number(3))), Interval(0, 2)),
    (Apply("modulo", (Variable(0), number(-3))), Interval(-2, 0)),
    (Apply("modulo", (Apply("negate", (Variable(0),)), number(-9))), Interval(-4, 0)),
    (Apply("minimum", (Symbol("n"), Variable(0))), Interval(0, 4)),
    (Apply("maximum", (number(2), Variable(0))), Interval(2, 4)),
    (Apply("abs", (Apply("subtract", (Variable(0), Variable(1))),)), Interval(0, 4)),
    (Apply("abs", (Add(Variable(0), number(-9)),)), Interval(5, 9)),
    (Apply("abs", (Add(Variable(0), number(-(2**63))),)), Interval()),
    (Apply("abs", (Lookup(Symbol("val"), Variable(0)),)), ANY),
    (Apply("relu", (Apply("subtract", (Variable(0), number(2))),)), Interval(0, 2)),
    (Apply("sign", (Apply("subtract", (Variable(0), number(2))),)), Interval(-1, 1)),
    (Apply("floor", (Variable(0),)), Interval(0, 4)),
    (Apply("maximum", (Lookup(Symbol("val"), Variable(0)), number(0))), Interval()),
    (Apply("minimum", (number(2), Lookup(Symbol("val"), Variable(0)))), Interval()),
    (Apply("modulo", (Lookup(Symbol("val"), Variable(0)), number(2))), Interval()),
    (Apply("truncate", (Lookup(Symbol("val"), Variable(0)),)), LONG),
    (Apply("truncate", (Variable(0),)), Interval(0, 4)),
    (Apply("bit_or", (Variable(0), number(2))), Interval(0, 7)),
    (Apply("bit_xor", (Variable(0), Variable(1))), Interval(0, 7)),
    (Apply("bit_xor", (Variable(0), number(-1))), Interval()),
    (Apply("shift_left", (Variable(0), number(3))), Interval(0, 32)),
    (Apply("shift_left", (Variable(0), number(64))), Interval()),
    (Lookup(Symbol("idx"), Variable(0)), Interval(0, 6)),
    (Lookup(Symbol("val"), Variable(0)), ANY),
    (Let(number(7), Add(Variable(0), Variable(1))), Interval(7, 11)),
    (If(Apply("less", (Variable(0), number(2))), Variable(0)), Interval(0, 1)),
    (Apply("less", (Variable(0), Symbol("n"))), Interval(1, 1, is_short=True)),
    (Apply("equal", (Variable(0), Symbol("n"))), Interval(0, 0, is_short=True)),
    (Apply("not", (Apply("less", (Variable(0), Variable(1))),)), TRUTH),
]


@pytest.mark.parametrize(("term", "expected"), BOUNDS)
def test_bounds(term: Term, expected: Interval) -> None:
    assert bounds(term, SYMBOLS, ROW) == expected


FOUR = Range(number(0), number(4))
ROWS = Sum(FOUR, Singleton(Variable(1), Singleton(Lookup(Symbol("idx"), Variable(1)), number(2))))
COUNTS = Sum(FOUR, Singleton(Lookup(Symbol("idx"), Variable(1)), number(2)))

ELEMENT = Lookup(Symbol("idx"), Variable(1))

ENTRIES: list[tuple[Term, Interval]] = [
    (Empty(1), EntryBounds(keys=Interval(0, -1), values=Interval(0, -1))),
    (Singleton(Variable(0), number(7)), EntryBounds(keys=Interval(0, 4), values=Interval(7, 7))),
    (COUNTS, EntryBounds(keys=Interval(0, 6))),  # several may come to one key
    (ROWS, EntryBounds(keys=Interval(0, 3), values=EntryBounds(keys=Interval(0, 6), values=Interval(2, 2)))),
    (Multiply(Lookup(Symbol("val"), number(0)), COUNTS), EntryBounds(keys=Interval(0, 6))),
    (Multiply(COUNTS, Singleton(number(3), number(1))), EntryBounds(keys=Interval(3, 3))),
    (Add(COUNTS, Singleton(number(9), number(1))), EntryBounds(keys=Interval(0, 9))),
    (Add(COUNTS, Empty(1)), EntryBounds(keys=Interval(0, 6))),
    (If(Apply("less", (Variable(0), number(2))), Singleton(Variable(0), number(1))),
     EntryBounds(keys=Interval(0, 1), values=Interval(1, 1))),
    (Let(ROWS, Lookup(Variable(0), number(1))), EntryBounds(keys=Interval(0, 6), values=Interval(2, 2))),
    (Lookup(Lookup(ROWS, number(1)), number(5)), Interval(0, 2)),
    (Lookup(COUNTS, number(1)), ANY),
    (Sum(Symbol("inc"), Singleton(Variable(0), ELEMENT)),
     EntryBounds(keys=Interval(0, 20), values=Interval(0, 6))),
    (Sum(Symbol("idx"), Singleton(Variable(0), ELEMENT)), EntryBounds(keys=Interval(0, 6))),
    (Sum(Symbol("inc"), If(Apply("equal", (Variable(0), Variable(2))), Add(ELEMENT, number(3)))),
     Interval(0, 9)),
    (Sum(Symbol("inc"), If(Apply("equal", (Variable(0), Variable(2))), ELEMENT), "min_plus"), ANY),
    (Sum(Symbol("idx"), If(Apply("equal", (Variable(0), Variable(2))), ELEMENT)), ANY),
    (Sum(Symbol("inc"), If(Apply("equal", (Variable(0), Variable(1))), ELEMENT)), ANY),
    (Find(Symbol("inc"), Variable(0), Add(Lookup(Symbol("idx"), Variable(0)), number(3))), Interval(0, 9)),
    (Find(Symbol("idx"), Variable(0), Lookup(Symbol("idx"), Variable(0))), ANY),
    (Find(Symbol("inc"), Variable(0), number(3), "min_plus"), ANY),
    (Reduce("min", FOUR, Add(Variable(0), number(1))), Interval(1, 4)),
    (Reduce("prod", FOUR, Add(Variable(0), number(1))), ANY),
]  # fmt: skip


@pytest.mark.parametrize(("term", "expected"), ENTRIES)
def test_bounds_of_what_dictionaries_hold(term: Term, expected: Interval) -> None:
    assert bounds(term, SYMBOLS, ROW) == expected


def test_binders_of_a_dictionary_that_has_a_name() -> None:
    counts = bounds(COUNTS, SYMBOLS)
    assert binder_bounds(Variable(0), SYMBOLS, (counts,)) == (Interval(0, 6), ANY)
    rows = bounds(ROWS, SYMBOLS)
    (keys, values) = binder_bounds(Variable(0), SYMBOLS, (rows,))
    assert keys == Interval(0, 3)
    assert binder_bounds(Variable(0), SYMBOLS, (values,)) == (Interval(0, 6), Interval(2, 2))


def test_binders_of_a_segment() -> None:
    segment = Slice(
        Symbol("idx"), Lookup(Symbol("pos"), Variable(1)), Lookup(Symbol("pos"), Add(Variable(1), number(1)))
    )
    assert binder_bounds(segment, SYMBOLS, ROW) == (Interval(0, 8), Interval(0, 6))
    assert binder_bounds(Range(number(0), Symbol("n")), SYMBOLS) == (Interval(0, 4), Interval(0, 4))


def test_conditions_narrow_and_are_decided() -> None:
    at_least_two = Apply("less_equal", (number(2), Variable(0)))
    assert narrowed(at_least_two, SYMBOLS, ROW) == (Interval(2, 4), Interval(0, 4))
    assert decided(Apply("less", (Variable(0), Symbol("n"))), SYMBOLS, ROW) is True
    assert decided(Apply("less", (Symbol("n"), Variable(0))), SYMBOLS, ROW) is False
    assert decided(Apply("less", (Variable(0), Variable(1))), SYMBOLS, ROW) is None


@pytest.mark.parametrize("comparison", ["less", "less_equal", "greater", "greater_equal"])
def test_what_may_be_a_real_is_not_narrowed_by_integers(comparison: str) -> None:
    condition = Apply(comparison, (Variable(0), number(3)))
    assert narrowed(condition, SYMBOLS, (ANY,)) == (ANY,)
    assert narrowed(Apply("equal", (Variable(0), number(3))), SYMBOLS, (ANY,)) == (
        Interval(3, 3, is_short=True),
    )


FUNCTIONS = (
    "subtract", "floor_divide", "modulo", "minimum", "maximum", "less", "less_equal", "equal", "not_equal"
)  # fmt: skip


def applied(function: str, left: Term, right: Term) -> Term:
    return Apply(function, (left, right))


def terms() -> st.SearchStrategy[Term]:
    leaves = st.one_of(st.integers(-4, 4).map(number), st.integers(0, 1).map(Variable))
    total = st.sampled_from(("subtract", "minimum", "maximum"))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Add, inner, inner),
            st.builds(Multiply, inner, inner),
            st.builds(applied, total, inner, inner),
            st.builds(applied, st.sampled_from(FUNCTIONS), inner, st.integers(1, 5).map(number)),
        ),
        max_leaves=6,
    )


@settings(max_examples=50, deadline=None)
@given(terms(), st.integers(-3, 3), st.integers(0, 4))
def test_values_lie_within_their_bounds(term: Term, first: int, second: int) -> None:
    interval = bounds(term, {}, (Interval(-3, 3), Interval(0, 4)))
    value = evaluate(term, {}, {}, ((KEY, first), (KEY, second)))
    assert isinstance(value, int)
    assert interval.low is None or interval.low <= int(value)
    assert interval.high is None or int(value) <= interval.high


@settings(max_examples=50, deadline=None)
@given(surroundings(), whole_terms(dictionary(2)) | whole_terms(REAL))
def test_keys_lie_within_their_bounds(around: Surroundings, term: Term) -> None:
    found = bounds(term, around.symbols)
    if not isinstance(found, EntryBounds):
        return
    entries = evaluate(term, around.symbols, around.values)
    assert isinstance(entries, dict)
    for key, row in entries.items():
        assert key in found.keys
        if isinstance(found.values, EntryBounds):
            assert all(inner in found.values.keys for inner in row)


def test_what_would_leave_64_bits_may_be_anything() -> None:
    far = Interval(0, 2**62)
    doubled = Multiply(Variable(0), Literal(2, ScalarType.INT64))
    assert bounds(doubled, {}, (far,)) == ANY
    assert bounds(Add(Variable(0), Variable(0)), {}, (far,)) == ANY
    assert not bounds(Apply("floor_divide", (doubled, Literal(4, ScalarType.INT64))), {}, (far,)).is_known
    assert bounds(doubled, {}, (Interval(0, 2**62 - 1),)) == Interval(0, 2**63 - 2)


SHORT_ARRAY = {"s": ArraySymbol("s", ScalarType.INT32, 9, 0, 2**30)}
SHORT_ELEMENT = Lookup(Symbol("s"), number(0))

SHORT_BOUNDS: list[tuple[Term, Interval]] = [
    (SHORT_ELEMENT, Interval(0, 2**30, is_short=True)),
    (Add(SHORT_ELEMENT, SHORT_ELEMENT), ANY),
    (Apply("subtract", (SHORT_ELEMENT, SHORT_ELEMENT)), Interval(-(2**30), 2**30, is_short=True)),
    (Add(SHORT_ELEMENT, number(2**30)), Interval(2**30, 2**31)),  # a literal has 64 bits
    (Multiply(SHORT_ELEMENT, Apply("equal", (SHORT_ELEMENT, number(5)))), Interval(0, 2**30, is_short=True)),
    (If(Apply("less", (SHORT_ELEMENT, number(2))), SHORT_ELEMENT), Interval(0, 2**30, is_short=True)),
]


@pytest.mark.parametrize(("term", "expected"), SHORT_BOUNDS)
def test_what_would_leave_32_bits_may_be_anything(term: Term, expected: Interval) -> None:
    assert bounds(term, SHORT_ARRAY) == expected


def test_indices_have_64_bits_in_a_program() -> None:
    column = ArraySymbol("c", ScalarType.INT32, 9, 0, 2**30, holds_indices=True)
    assert bounds(Lookup(Symbol("c"), number(0)), {"c": column}) == Interval(0, 2**30)
    unknown = ArraySymbol("s", ScalarType.INT32, 9)
    assert bounds(Lookup(Symbol("s"), number(0)), {"s": unknown}) == Interval(
        -(2**31), 2**31 - 1, is_short=True
    )


def computed(term: Term, values: tuple[np.ndarray[Any, Any], ...]) -> Any:
    """Return what NumPy makes of a term, whose integers of 32 bits wrap around."""
    match term:
        case Variable(index):
            return values[index]
        case Literal(value):
            return np.array([value], np.int64)
        case Add(left, right):
            return computed(left, values) + computed(right, values)
        case Multiply(left, right):
            return computed(left, values) * computed(right, values)
        case Apply(name, arguments):
            return getattr(np, FUNCTIONS_OF_NUMPY[name])(*(computed(each, values) for each in arguments))
        case _:
            raise AssertionError(term)


FUNCTIONS_OF_NUMPY = {
    "subtract": "subtract", "minimum": "minimum", "maximum": "maximum", "negate": "negative", "abs": "abs"
}  # fmt: skip

SHORT_TERMS = st.recursive(
    st.integers(0, 2).map(Variable) | st.sampled_from((-(2**31), -1, 0, 3, 2**31)).map(number),
    lambda inner: st.one_of(
        st.builds(Add, inner, inner),
        st.builds(Multiply, inner, inner),
        st.builds(applied, st.sampled_from(("subtract", "minimum", "maximum")), inner, inner),
        st.builds(Apply, st.sampled_from(("negate", "abs")), st.tuples(inner)),
    ),
    max_leaves=5,
)
EXTREMES = (-(2**31), -(2**31) + 1, -(2**30), -1, 0, 1, 2**30, 2**31 - 1)


@settings(max_examples=200, deadline=None)
@given(SHORT_TERMS, st.lists(st.sampled_from(EXTREMES), min_size=3, max_size=3), st.data())
def test_short_integers_wrap_around_within_their_bounds(
    term: Term, drawn: list[int], data: st.DataObject
) -> None:
    values = (*(np.array([value], np.int32) for value in drawn[:2]), np.array(drawn[2:], np.int64))
    ends = [sorted((value, data.draw(st.sampled_from(EXTREMES)))) for value in drawn]
    context = [Interval(low, high, is_short=index < 2) for index, (low, high) in enumerate(ends)]
    value = int(computed(term, values)[0])
    assert value in bounds(term, {}, tuple(context))
    assert value in bounds_within(term, {}, tuple(context), (None, None, None))
