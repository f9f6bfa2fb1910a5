"""Which operands are converted before they are searched, and what that costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Find, Literal, Lookup, Sum, Symbol, Term, Variable
from storel.environment import Environment
from storel.reformat import CONVERSION, WORTHWHILE, conversion_cost, conversions, convertible_operands
from storel.scalars import ScalarType

MATRIX = storel.tensor(np.eye(4), "csr")
SCAN = Sum(Symbol("A_idx"), Lookup(Symbol("A_val"), Variable(1)))
SEARCH = Find(Symbol("A_idx"), Literal(1, ScalarType.INT64), Lookup(Symbol("A_val"), Variable(0)))


def environment() -> Environment:
    made = Environment()
    made.add_tensor("A", MATRIX)
    made.add_tensor("B", MATRIX)
    made.add_tensor("v", storel.tensor(np.ones(4)))
    return made


def test_a_conversion_costs_by_the_longest_array() -> None:
    assert conversion_cost(MATRIX) == CONVERSION * 5


@pytest.mark.parametrize(
    ("term", "nanoseconds", "found"),
    [
        (SCAN, 100 * WORTHWHILE, []),
        (SEARCH, 100 * WORTHWHILE, ["A"]),
        (SEARCH, WORTHWHILE, []),
        (SEARCH, WORTHWHILE + 2 * CONVERSION * 5, []),
        (SEARCH, WORTHWHILE + 2 * CONVERSION * 5 + 1, ["A"]),
    ],
)
def test_only_what_is_searched_for_long_is_converted(
    term: Term, nanoseconds: float, found: list[str]
) -> None:
    assert convertible_operands(term, environment(), nanoseconds) == found


@pytest.mark.parametrize(
    ("data", "storage", "found"),
    [
        (np.ones((4, 4)), "dense", []),
        (np.eye(4), "dense", ["A"]),
        (np.ones((4, 4)), "csr", ["A"]),
    ],
)
def test_what_is_found_anywhere_is_not_converted(data: Any, storage: str, found: list[str]) -> None:
    made = Environment()
    made.add_tensor("A", storel.tensor(data, storage))
    assert convertible_operands(SEARCH, made, 100 * WORTHWHILE) == found


def test_conversions_keep_the_entries() -> None:
    made = list(conversions(MATRIX, environment()))
    assert "csc" in [tensor.format for tensor in made]
    assert "csr" not in [tensor.format for tensor in made]
    for tensor in made:
        np.testing.assert_array_equal(tensor.to_numpy(), np.eye(4))
