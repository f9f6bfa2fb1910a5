"""Rows are rows however a tensor is stored: also where its format has the key of a row with each entry."""

from __future__ import annotations

import numpy as np
import pytest

import storel

MATRIX = np.array([[0, 1, 2, 0], [3, 4, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]], dtype=float)
CUBE = np.array([MATRIX, MATRIX.T, 0 * MATRIX, MATRIX + MATRIX.T])

OF_MATRICES = [
    "count(<i, row> in A)",
    "sum(<i, _> in A) { i -> 1 }",
    "A + sum(<i, _> in A) { (i, i) -> 1 }",
    "sum(<i, row> in A) { i -> 1 + count(<_, _> in row) }",
    "sum(<i, _> in 0:4, <i, row> in A) { i -> i + 1 }",
    "sum(<i, row> in A, <i, other> in A) { i -> 1 }",
    "{ 0 -> count(<i, row> in A) }",
    "sum(<i, row> in A) { i -> count(<j, a> in row) }",
    "if (any(<i, row> in A) (row(1) > 0 and row(2) > 0)) then 1 else 2",
    "if (all(<i, row> in A) (row(1) > 0 or row(2) > 0)) then 1 else 2",
    "max(<i, row> in A) count(<j, a> in row)",
    "max(<i, row> in A) sum(<j, a> in row, <i, b> in row) a * b",
    "prod(<i, row> in A) (row(0) + row(1) + row(2))",
    "sum(<i, row> in A) (if (any(<k, other> in A) (other(i) > row(i))) then { i -> row(i) })",
    "any(<i, row> in A, <j, a> in row) (a > 4)",
    "sum(<(i, j), a> in A) if (any(<k, b> in A(j)) (b > a)) then { (i, j) -> a }",
]
OF_CUBES = [
    "count(<i, slab> in A)",
    "count(<(i, j), row> in A)",
    "max(<i, slab> in A) count(<j, row> in slab)",
    "if (any(<i, slab> in A) (slab(0, 1) > 0 and slab(1, 0) > 0)) then 1 else 2",
    "if (all(<(i, j), row> in A) (row(1) > 0 or row(0) > 0)) then 1 else 2",
]
MATRICES = ("coo", "csr", "hash", "levels(compressed, singleton)", "hyb(1)")
CUBES = ("coo", "csf", "levels(compressed, singleton, singleton)")
STORED = [
    *((storage, MATRIX, OF_MATRICES) for storage in MATRICES),
    *((storage, CUBE, OF_CUBES) for storage in CUBES),
]


@pytest.mark.parametrize("storage", ["dense", "csr", "dcsr", "levels(compressed, dense)"])
@pytest.mark.parametrize(
    "program",
    [
        "sum(<i, _> in A) { i -> 1 }",
        "sum(<i, row> in A) { i -> 1 + count(<_, _> in row) }",
        "sum(<i, _> in 0:4, <i, row> in A) { i -> i + 1 }",
    ],
)
def test_rows_are_not_stored_to_see_whether_there_is_something_in_them(storage: str, program: str) -> None:
    kernel = storel.compile(f"CREATE TENSOR R AS {program}", A=storel.tensor(MATRIX, storage))
    assert all(store not in kernel.plan for store in ("table of", "hash of", "rows of", "list of"))


@pytest.mark.parametrize("storage", ["coo", "csc", "hash"])
def test_of_rows_in_no_order_it_is_only_counted_how_much_is_in_them(storage: str) -> None:
    kernel = storel.compile(
        "CREATE TENSOR R AS sum(<i, _> in A) { i -> 1 }", A=storel.tensor(MATRIX, storage)
    )
    assert "int64" in kernel.plan and "float64" not in kernel.plan


@pytest.mark.parametrize(
    ("own", "over", "storage", "data", "programs"),
    [
        *(("plus_times", "plus_times", *stored) for stored in STORED),
        *(("min_plus", "min_plus", *stored) for stored in STORED if stored[0] in ("csr", "hash", "csf")),
        *(("max_plus", "plus_times", *stored) for stored in STORED if stored[0] in ("coo", "hyb(1)")),
    ],
)
def test_rows_are_met_once(own: str, over: str, storage: str, data: np.ndarray, programs: list[str]) -> None:
    entries = (np.array(np.nonzero(data)), data[np.nonzero(data)])
    tensor = storel.tensor(entries, storage, shape=data.shape, semiring=own)
    for program in programs:
        script = f"CREATE TENSOR R OVER {over} AS {program}"
        wanted = storel.run(script, A=tensor, backend="interpret")
        found = storel.run(script, A=tensor, backend="c")
        assert isinstance(wanted, storel.Tensor) and isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), err_msg=script)
