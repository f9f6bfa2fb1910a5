"""Comprehensions over stored tensors read their entries one by one, where keys cannot repeat."""

from __future__ import annotations

from typing import Any

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


WHOLE = [("any(<(i, j), a> in A) (a > 2 * j)", True), ("all(<(i, j), a> in A) (a < 3 - i)", False)]
ROWS = [
    ("any(<j, a> in A(i)) (a > 2 * j)", [1, 0, 1]),
    ("any(<_, _> in A(i)) true", [1, 0, 1]),
    ("all(<j, a> in A(i)) (a != 0.5)", [1, 1, 0]),
]


BACKENDS = [("csr", "numba"), ("dense", "interpret")]
"""What is asked beside C, which is asked of all formats."""


@pytest.mark.parametrize(
    ("storage", "backend"), [*((each, "c") for each in ("dense", "coo", "csr", "csc", "dcsr")), *BACKENDS]
)
@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_conditions_of_entries(text: str, expected: bool, storage: str, backend: Any) -> None:
    stored = storel.tensor(MATRIX, storage)
    assert "table" not in plan(text, stored)
    found = storel.run(f"CREATE TENSOR r AS {text}", A=stored, backend=backend)
    assert isinstance(found, storel.Tensor) and bool(found.to_numpy()) is expected


@pytest.mark.parametrize(
    ("storage", "backend"), [*((each, "c") for each in ("dense", "csr", "dcsr")), *BACKENDS]
)
@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_conditions_of_rows(text: str, expected: list[int], storage: str, backend: Any) -> None:
    stored = storel.tensor(MATRIX, storage)
    program = f"sum(<i, _> in 0:3) if ({text}) then {{ i -> 1 }}"
    if storage != "dcsr":  # whose rows are looked for
        assert not {"table", "list"} & set(plan(program, stored).split())
    found = storel.run(f"CREATE TENSOR r: int[3] AS {program}", A=stored, backend=backend)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_entries_that_may_share_their_keys_are_added_up_first() -> None:
    shown = plan("min(<i, a> in sum(<(i, j), a> in A) { j -> a }) a", storel.tensor(MATRIX, "csr"))
    assert "table" in shown or "list" in shown


UNITED = {
    "any(<i, row> in A + B, <j, _> in row) (A(i, j) != 2 * B(i, j))": True,
    "all(<i, row> in A + B, <_, x> in row) (x > i)": True,
    "any(<i, row> in A - 2 * B, <j, x> in row) (x + B(j, i) > 9)": False,
    "{ 0 -> any(<i, row> in A + B, <j, _> in row) (A(i, j) == 0 and i >= j) }": [True],
    "any(<i, row> in A + B) (i == 2)": False,  # the two have nothing left there
}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("storage", ["csr", "dcsr", "coo", "csc", "dense"])
@pytest.mark.parametrize("text", UNITED)
def test_what_is_asked_of_a_union_is_asked_row_by_row(text: str, storage: str, backend: Any) -> None:
    other = np.array([[4.0, 1.0, 0.0], [0.0, 5.0, 0.0], [-3.0, 0.0, -0.5]])
    given = {name: storel.tensor(each, storage) for name, each in (("A", MATRIX), ("B", other))}
    kernel: Any = storel.compile(f"CREATE TENSOR r AS {text}", backend=backend, **given)
    found = kernel(**given)
    assert np.array_equal(found.to_numpy() if isinstance(found, storel.Tensor) else found, UNITED[text])
    if storage == "csr" and text.startswith(("any(<i, row> in A + B, ", "all")):
        assert "hash" not in render(kernel.compilation.plan) and "rows" not in render(kernel.compilation.plan)
