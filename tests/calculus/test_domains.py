from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.calculus.domains import Domain, Domains, bounds_within, holds
from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import Add, Apply, Literal, Multiply, Symbol, Term, Variable
from storel.scalars import ScalarType
from storel.symbols import SizeSymbol

M, N = 7, 5
SYMBOLS = {"m": SizeSymbol("m", M), "n": SizeSymbol("n", N)}
M_ = Symbol("m")
COLUMN, ROW = Variable(0), Variable(1)


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def minus(left: Term, right: Term) -> Term:
    return Apply("subtract", (left, right))


def plus(*terms: Term) -> Term:
    first, *rest = terms
    return Add(first, plus(*rest)) if rest else first


def times(left: Term, right: Term) -> Term:
    return Multiply(left, right)


OUTER = Domain(number(0), M_)
SQUARE = (Interval(0, M - 1), Interval(0, M - 1))
# seen from outside of the inner loop, the outer variable is the innermost one
BAND = Domain(
    Apply("maximum", (number(0), minus(COLUMN, number(1)))), Apply("minimum", (M_, plus(COLUMN, number(3))))
)
FROM_DIAGONAL = Domain(COLUMN, M_)
TRIANGLE = Apply("floor_divide", (times(ROW, minus(ROW, number(1))), number(2)))

PROVED: list[tuple[str, Term, Domains, Interval]] = [
    (
        "a band",
        plus(minus(plus(times(ROW, number(4)), COLUMN), ROW), number(1)),
        (BAND, OUTER),
        Interval(0, 4 * M - 1),
    ),
    (
        "a triangle",
        minus(plus(minus(times(ROW, M_), TRIANGLE), COLUMN), ROW),
        (FROM_DIAGONAL, OUTER),
        Interval(0, M * (M + 1) // 2 - 1),
    ),
    ("a difference", minus(COLUMN, ROW), (BAND, OUTER), Interval(-1, 2)),
    ("a sum", plus(ROW, COLUMN), (Domain(number(0), minus(M_, COLUMN)), OUTER), Interval(0, M - 1)),
]


@pytest.mark.parametrize(("name", "term", "domains", "expected"), PROVED, ids=[name for name, *_ in PROVED])
def test_bounds_are_exact_where_loops_depend_on_each_other(
    name: str, term: Term, domains: Domains, expected: Interval
) -> None:
    found = bounds_within(term, SYMBOLS, SQUARE, domains)
    assert found.within(expected.low or 0, expected.high or 0)


def test_conditions_that_domains_decide_hold() -> None:
    domains = (Domain(Apply("maximum", (number(0), minus(number(0), COLUMN))), minus(M_, COLUMN)), None)
    context = (Interval(0, M + N), Interval(-N, N))
    below = Apply("less", (plus(COLUMN, ROW), M_))
    assert holds(below, SYMBOLS, context, domains)
    assert holds(Apply("greater_equal", (plus(COLUMN, ROW), number(0))), SYMBOLS, context, domains)
    assert holds(Apply("and", (below, below)), SYMBOLS, context, domains)
    assert not holds(Apply("less", (plus(COLUMN, ROW), minus(M_, number(1)))), SYMBOLS, context, domains)
    assert not holds(Apply("equal", (COLUMN, ROW)), SYMBOLS, context, domains)


def test_what_may_be_no_integer_is_left_alone() -> None:
    assert bounds_within(plus(COLUMN, ROW), {}, (ANY, ANY), (None, None)) == ANY
    assert bounds_within(Literal(1.5, ScalarType.FLOAT64), {}, (), ()) == ANY


def test_what_64_bits_do_not_hold_is_not_proved_by_its_values() -> None:
    square = times(COLUMN, COLUMN)
    huge = minus(times(number(2**61), square), times(number(2**61), times(square, COLUMN)))
    assert bounds_within(huge, {}, (Interval(0, 9),), (None,)).within(-(2**63), 2**63) is False


SMALL = st.integers(-3, 3)


@settings(max_examples=50, deadline=None)
@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL)
def test_no_value_is_outside_of_the_bounds(a: int, b: int, c: int, low: int, high: int, skew: int) -> None:
    """Of a * i + b * j + c with j in low + skew * i : high + skew * i."""
    shifted = times(number(skew), COLUMN)
    domains = (Domain(plus(number(low), shifted), plus(number(high), shifted)), OUTER)
    term = plus(times(number(a), ROW), times(number(b), COLUMN), number(c))
    found = bounds_within(term, SYMBOLS, (ANY, SQUARE[1]), domains)
    for i, step in product(range(M), range(high - low)):
        assert a * i + b * (low + skew * i + step) + c in found


@settings(max_examples=100, deadline=None)
@given(SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, st.booleans())
def test_no_value_is_outside_of_the_bounds_where_a_condition_holds(
    a: int, b: int, c: int, p: int, q: int, one: int, other: int, is_strict: bool
) -> None:
    """Of a * i + b * j + c where p * i + q * j < min(one, other - i)."""
    left = plus(times(number(p), ROW), times(number(q), COLUMN))
    right = Apply("minimum", (number(one), minus(number(other), ROW)))
    asked = Apply("less" if is_strict else "less_equal", (left, right))
    term = plus(times(number(a), ROW), times(number(b), COLUMN), number(c))
    domains = (Domain(number(0), M_), OUTER)
    mirrored = Apply("greater" if is_strict else "greater_equal", (right, left))
    found = bounds_within(term, SYMBOLS, SQUARE, domains, (asked,))
    assert found == bounds_within(term, SYMBOLS, SQUARE, domains, (Apply("and", (mirrored, mirrored)),))
    for i, j in product(range(M), range(M)):
        if p * i + q * j < min(one, other - i) + (not is_strict):
            assert a * i + b * j + c in found


def test_conditions_prove_what_loops_alone_do_not() -> None:
    """Of a row in slices of n rows, 9 wide, stored column by column: it is in slice j, by what was asked."""
    step, slice_, row = Variable(0), Variable(1), Variable(2)
    place = plus(times(step, number(N)), minus(row, times(slice_, number(N))))
    until = plus(Apply("floor_divide", (COLUMN, number(N))), number(1))
    domains = (Domain(number(0), number(9)), Domain(number(0), until), OUTER)
    context = (Interval(0, 8), Interval(0, 1), Interval(0, M - 1))
    asked = Apply("less", (row, plus(Apply("minimum", (number(N), number(50))), times(slice_, number(N)))))
    assert not bounds_within(place, SYMBOLS, context, domains).within(0, 9 * N - 1)
    assert bounds_within(place, SYMBOLS, context, domains, (asked,)).within(0, 9 * N - 1)
