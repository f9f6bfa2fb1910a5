"""Operands whose rows ascend, however each stores which they are, are added up row by row."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.plans import planned
from strategies.reading import read_by

import storel
from storel.optimizer.physical.aligning import aligned
from storel.plan.nodes import Coordinates, Enter, Levels, Loop, Positions, Together

RANDOM = np.random.default_rng(0)
LEFT, RIGHT = (RANDOM.integers(-1, 2, (6, 5)).astype(float) for _ in range(2))
SUM = "CREATE TENSOR r STORED AS csr AS A + B"


def result(one: str, other: str, text: str = SUM) -> storel.Tensor:
    found = storel.run(text, A=storel.tensor(LEFT, one), B=storel.tensor(RIGHT, other))
    assert isinstance(found, storel.Tensor)
    return found


@pytest.mark.parametrize(("one", "other"), [("coo", "csr"), ("csr", "coo"), ("csf", "csr")])
def test_rows_are_found_in_one_loop_over_them(one: str, other: str) -> None:
    made = planned(SUM, A=storel.tensor(LEFT, one), B=storel.tensor(RIGHT, other)).compilation.plan
    assert isinstance(made.destination, Levels)
    assert isinstance(made.action, Loop) and isinstance(made.action.source, Positions)
    assert isinstance(made.action.body, Enter)
    np.testing.assert_array_equal(result(one, other).to_numpy(), LEFT + RIGHT)


def test_three_operands_and_columns() -> None:
    text = "CREATE TENSOR r STORED AS csr AS A + B + A"
    np.testing.assert_array_equal(result("coo", "csr", text).to_numpy(), 2 * LEFT + RIGHT)
    np.testing.assert_array_equal(result("csc", "csr").to_numpy(), LEFT + RIGHT)


@pytest.mark.parametrize(("density", "is_listed"), [(0.01, True), (0.2, False)])
def test_rows_of_two_lists_are_found_where_they_are_long(density: float, is_listed: bool) -> None:
    """Else it is faster to sort what is listed."""
    dense = (np.random.default_rng(3).random((1000, 4)) < density).astype(float)
    operands = {name: storel.tensor(dense, "coo") for name in "AB"}
    made = planned(SUM, **operands).compilation
    assert isinstance(made.plan.destination, Coordinates) == is_listed
    found = storel.run(SUM, **operands)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), 2 * dense)


PRODUCT = "CREATE TENSOR r STORED AS csr AS A * B"


@pytest.mark.parametrize(
    ("one", "other"), [("coo", "coo"), ("coo", "csr"), ("csr", "coo"), ("coo", "csf"), ("dcsr", "coo")]
)
def test_rows_of_products_are_found_in_one_loop_over_them(one: str, other: str) -> None:
    """Nothing is hashed; a row of one factor is kept, and that of the other is passed over."""
    rng = np.random.default_rng(4)
    dense = [rng.integers(-1, 2, (9, 20)) * (rng.random((9, 1)) < 0.7) * 1.0 for _ in range(2)]
    left, right = storel.tensor(dense[0], one), storel.tensor(dense[1], other)
    text = storel.compile(PRODUCT, A=left, B=right).explain("plan")
    assert text.count("bind") <= 1 and "hash" not in text
    for backend in ("c", "numba", "interpret"):
        found = storel.run(PRODUCT, backend=backend, A=left, B=right)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_array_equal(found.to_numpy(), dense[0] * dense[1])


TO_MATRIX = "CREATE TENSOR r AS sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }"


@pytest.mark.parametrize(("entries", "is_united"), [(200, True), (20, False)])
def test_rows_of_a_dense_result_are_passed_over_once(entries: int, is_united: bool) -> None:
    """Where one operand has a place for each row, and the other one, a list, has entries in many of them."""
    dense = np.zeros((200, 50))
    dense[:, 0] = 1.0
    dense[np.arange(entries), np.arange(entries) % 49 + 1] = 2.0
    matrix, columns = storel.tensor(dense, "hyb(width=1)"), RANDOM.random((50, 4))
    made = planned(TO_MATRIX, A=matrix, B=storel.tensor(columns)).compilation.plan
    assert isinstance(made.action, Loop) == is_united
    assert isinstance(made.action, Together) != is_united
    for threads in (1, 2):
        found = storel.run(TO_MATRIX, A=matrix, B=columns, threads=threads)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), dense @ columns)


def test_what_is_stored_by_rows_and_by_columns_is_listed() -> None:
    few = np.eye(12, 10)
    made = planned(SUM, A=storel.tensor(few, "csc"), B=storel.tensor(few[::-1].copy(), "csr")).compilation
    assert isinstance(made.plan.destination, Coordinates)


def test_more_rows_than_entries_are_not_looped_over() -> None:
    few = storel.tensor((np.array([[5, 70], [1, 2]]), np.ones(2)), "coo", (1000, 5))
    made = planned(SUM, A=few, B=few).compilation
    assert isinstance(made.plan.destination, Coordinates)


@pytest.mark.parametrize(
    ("storage", "text"), [("csr", "A"), ("csc", "A"), ("csc", "A + B"), ("hash", "A + B")]
)
def test_other_terms_are_left_alone(storage: str, text: str) -> None:
    operands = {"A": storel.tensor(LEFT, storage), "B": storel.tensor(RIGHT, "csr")}
    made = planned(f"CREATE TENSOR r STORED AS csr AS {text}", **read_by(text, operands)).compilation
    assert aligned(made.optimized.term, 6, 1e9, made.symbols) is None
