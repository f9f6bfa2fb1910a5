"""Scalar factors go to the leaves of a dictionary, as far as its operations are of their semiring."""

from __future__ import annotations

import pytest
from strategies.plans import number, var

from storel.calculus.nodes import (
    Add,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.optimizer.terms.products import arranged, pushed

ONE, TWO = number(1), number(2)
A, B, N, S = Symbol("A"), Symbol("B"), Symbol("n"), Symbol("s")
R = Range(number(0), N)
PLUS, LEAST = "plus_times", "min_plus"


def times(left: Term, right: Term) -> Multiply:
    return Multiply(left, right)


def row(value: Literal | Multiply, semiring: str) -> Sum:
    return Sum(Range(ONE, TWO), Singleton(Variable(1), value, semiring), semiring)


def test_a_factor_goes_to_the_leaf() -> None:
    assert arranged(Multiply(TWO, row(ONE, "plus_times")), {}) == row(Multiply(TWO, ONE), "plus_times")


def test_a_factor_stays_outside_of_another_semiring() -> None:
    term = Multiply(TWO, row(ONE, "min_plus"))
    assert arranged(term, {}) == term


@pytest.mark.parametrize(
    ("dictionary", "after"),
    [
        (Sum(R, Singleton(var(1), var(0))), Sum(R, Singleton(var(1), times(S, var(0))))),
        (Merge(A, B, Singleton(var(0), N)), Merge(A, B, Singleton(var(0), times(S, N)))),
        (Find(A, N, Singleton(var(0), N)), Find(A, N, Singleton(var(0), times(S, N)))),
        (Singleton(N, N), Singleton(N, times(S, N))),
        (If(N, Singleton(N, N)), If(N, Singleton(N, times(S, N)))),
        (Let(A, Singleton(var(0), N)), Let(A, Singleton(var(0), times(S, N)))),
        (Add(Singleton(N, N), Empty(1)), Add(Singleton(N, times(S, N)), Empty(1))),
        (Lookup(var(1), N), times(S, Lookup(var(1), N))),
        (Singleton(N, Sum(R, N, LEAST)), Singleton(N, times(S, Sum(R, N, LEAST)))),
        (Singleton(N, If(N, N, LEAST)), Singleton(N, times(S, If(N, N, LEAST)))),
        (
            Add(Singleton(N, N), Singleton(N, N), LEAST),
            times(S, Add(Singleton(N, N), Singleton(N, N), LEAST)),
        ),
    ],
)
def test_a_factor_goes_as_far_as_its_semiring(dictionary: Term, after: Term) -> None:
    assert pushed(S, dictionary, PLUS) == after


def test_a_factor_that_is_bound_is_shifted() -> None:
    before = Sum(R, Sum(R, Singleton(var(1), var(0))))
    assert pushed(var(7), before, PLUS) == Sum(R, Sum(R, Singleton(var(1), times(var(11), var(0)))))


def test_a_factor_goes_below_so_many_keys() -> None:
    scalar = Sum(R, var(0))
    rows = Singleton(N, Singleton(N, scalar))
    assert pushed(S, rows, PLUS, 2) == Singleton(N, Singleton(N, times(S, scalar)))
    assert pushed(S, rows, PLUS, 1) == Singleton(N, times(S, Singleton(N, scalar)))
    assert pushed(S, rows, PLUS, 0) == times(S, rows)
