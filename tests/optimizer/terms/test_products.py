"""Scalar factors go to the leaves of a dictionary, as far as its operations are of their semiring."""

from __future__ import annotations

from storel.calculus.nodes import Literal, Multiply, Range, Singleton, Sum, Variable
from storel.optimizer.terms.products import arranged
from storel.scalars import ScalarType

ONE, TWO = Literal(1, ScalarType.INT64), Literal(2, ScalarType.INT64)


def row(value: Literal | Multiply, semiring: str) -> Sum:
    return Sum(Range(ONE, TWO), Singleton(Variable(1), value, semiring), semiring)


def test_a_factor_goes_to_the_leaf() -> None:
    assert arranged(Multiply(TWO, row(ONE, "plus_times")), {}) == row(Multiply(TWO, ONE), "plus_times")


def test_a_factor_stays_outside_of_another_semiring() -> None:
    term = Multiply(TWO, row(ONE, "min_plus"))
    assert arranged(term, {}) == term
