"""Answers are the same however they are stored, and different where a number is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from storel.bench.answers import is_same
from storel.bench.problem import Entries, entries_of

DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
LISTED = Entries(np.array([[0, 1], [1, 0]]), np.array([2.0, 3.0]), (2, 3))


@pytest.mark.parametrize(
    "other", [DENSE, LISTED, sp.csr_array(DENSE), sp.coo_array(DENSE), DENSE + 1e-14, sp.csc_array(DENSE)]
)
def test_the_same_in_another_storage(other: Any) -> None:
    assert is_same(DENSE, other)
    assert is_same(other, LISTED)


@pytest.mark.parametrize(
    "other",
    [DENSE.T, 2 * DENSE, 3.0, sp.csr_array(DENSE + 1.0), DENSE[0], np.where(DENSE == 2.0, np.nan, DENSE)],
)
def test_another_answer(other: Any) -> None:
    assert not is_same(DENSE, other)
    assert not is_same(LISTED, other)


def test_unsorted_rows_and_stored_zeros_are_read_in_order() -> None:
    matrix = sp.csr_array((np.array([5.0, 0.0, 4.0]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    assert is_same(matrix, np.array([[4.0, 0.0, 5.0]]))
    assert entries_of(matrix).coordinates.tolist() == [[0, 0, 0], [0, 1, 2]]


@pytest.mark.parametrize("change", [1.0, np.nan, -2.0])
def test_matrices_are_compared_as_such(change: float) -> None:
    matrix, other = sp.csr_array(DENSE), sp.csc_array(DENSE)
    assert is_same(matrix, other) and is_same(other, matrix)
    other.data[0] += change
    assert not is_same(matrix, other) and not is_same(other, matrix)
