"""Comprehensions over stored tensors read their entries one by one, where keys cannot repeat."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.plans import planned

import storel
from storel.plan.printer import render

MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.5]])


def plan(text: str, stored: storel.Tensor) -> str:
    return render(planned(f"CREATE TENSOR r AS {text}", A=stored).compilation.plan)


@pytest.mark.parametrize("storage", ["dense", "coo", "csr", "csc", "dcsr"])
@pytest.mark.parametrize("text", ["min(<(i, j), a> in A) a", "prod(<(i, j), a> in A) (a + i - j)"])
def test_entries_need_no_table(text: str, storage: str) -> None:
    assert "table" not in plan(text, storel.tensor(MATRIX, storage))


@pytest.mark.parametrize("storage", ["dense", "csr", "dcsr"])
def test_rows_need_no_table(storage: str) -> None:
    shown = plan("sum(<i, row> in A) { i -> max(<j, a> in row) a }", storel.tensor(MATRIX, storage))
    assert "table" not in shown and "guard" in shown


@pytest.mark.parametrize("storage", ["dense", "coo", "csr", "csc", "dcsr"])
def test_rows_that_are_reduced_and_read_again(storage: str) -> None:
    stored = storel.tensor(MATRIX, storage)
    text = "CREATE TENSOR r AS sum(<i, row> in A) { i -> (max(<j, a> in row) a) + row(2) * i }"
    answer, reference = storel.run(text, A=stored), storel.run(text, A=stored, backend="interpret")
    assert isinstance(answer, storel.Tensor) and isinstance(reference, storel.Tensor)
    np.testing.assert_array_equal(answer.to_numpy(), reference.to_numpy())
    np.testing.assert_array_equal(answer.to_numpy(), [2.0, 0.0, 4.0])


def test_entries_that_may_share_their_keys_are_added_up_first() -> None:
    shown = plan("min(<i, a> in sum(<(i, j), a> in A) { j -> a }) a", storel.tensor(MATRIX, "csr"))
    assert "table" in shown or "list" in shown
