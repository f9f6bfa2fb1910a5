"""Terms that are another one with something in the place of a variable."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies.plans import number, read, var
from strategies.terms import REAL, terms

from storel.calculus.binding import free_variables, shift, substitute
from storel.calculus.nodes import Add, Multiply, Range, Sum, Symbol, Term, Variable
from storel.calculus.verify import KEY
from storel.optimizer.terms.instances import covering, instance

N = Symbol("n")
COLUMN = read("A_col", var(2))


def row(key: Term) -> Sum:
    """Return what a row of a matrix adds up to, times what is variable 1 outside of it."""
    return Sum(Range(key, Add(key, number(1))), Multiply(read("x", shift(key, 2)), var(3)))


@pytest.mark.parametrize("key", [var(1), var(4), N, number(7), COLUMN, Add(COLUMN, N)])
def test_what_stands_for_the_variable_is_found(key: Term) -> None:
    assert instance(row(var(0)), row(key)) == key


@pytest.mark.parametrize(
    "term",
    [
        Sum(Range(N, Add(N, number(1))), Multiply(read("x", var(3)), var(3))),
        Sum(Range(N, Add(N, number(2))), Multiply(read("x", N), var(3))),
        Sum(Range(N, Add(N, number(1))), Multiply(read("x", N), var(4))),
        Sum(Range(N, Add(N, number(1))), Multiply(read("x", N), var(3), "min_plus")),
        Sum(Range(var(0), Add(var(0), number(1))), Multiply(read("y", var(2)), var(3))),
        N,
    ],
    ids=["another", "constant", "variable", "semiring", "array", "node"],
)
def test_what_is_otherwise_different_is_no_instance(term: Term) -> None:
    assert instance(row(var(0)), term) is None


def test_what_is_bound_inside_does_not_stand_for_the_variable() -> None:
    pattern = Sum(Range(number(0), N), read("x", var(2)))
    assert instance(pattern, Sum(Range(number(0), N), read("x", var(1)))) is None


@given(terms(REAL, (KEY, KEY)), terms(KEY, (KEY,)))
def test_every_substitution_is_an_instance(pattern: Term, value: Term) -> None:
    made = shift(substitute(pattern, value), 1)
    found = instance(pattern, made)
    assert found == (shift(value, 1) if 0 in free_variables(pattern) else None)


ADDRESS = Add(Multiply(N, var(2)), var(4))
INSIDE = shift(ADDRESS, -2)


@pytest.mark.parametrize(
    ("term", "count", "expected"),
    [
        (Sum(Range(number(0), N), read("x", ADDRESS)), 5, [read("x", INSIDE), INSIDE]),
        (Sum(Range(ADDRESS, N), read("x", shift(ADDRESS, 2))), 5, [ADDRESS]),
        (Sum(Range(number(0), N), Multiply(read("x", ADDRESS), var(6))), 1, [read("x", INSIDE), INSIDE]),
        (Sum(Range(number(0), N), Multiply(read("x", ADDRESS), var(4))), 5, []),
        (Sum(Range(number(0), N), read("x", Add(var(2), var(0)))), 1, []),
    ],
    ids=["address", "twice", "some", "outside", "bound"],
)
def test_what_holds_all_of_some_variables_is_found(term: Term, count: int, expected: list[Term]) -> None:
    found = list(covering(term, count))
    assert found[0] == term
    assert [each for each in found[1:] if not isinstance(each, (Multiply, Variable))] == expected
