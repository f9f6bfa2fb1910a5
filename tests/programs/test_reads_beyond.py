"""Matrices are looked up at keys that they do not have: no format's arrays are read there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel

GENERATOR = np.random.default_rng(0)


def sparse(*shape: int) -> NDArray[Any]:
    return np.where(GENERATOR.random(shape) < 0.7, GENERATOR.integers(1, 5, shape), 0).astype(np.float64)


MATRIX, LARGER, CUBE = sparse(8, 6), sparse(9, 9), sparse(9, 9, 9)
PADDED = np.zeros((9, 9))
PADDED[:8, :6] = MATRIX
PAIRS = (CUBE != 0).sum((1, 2)) * (CUBE != 0).sum(2).T
"""How many C(i, l, m) and C(i, j, k) there are, by j and i."""


@pytest.mark.parametrize("stored", ["ell", "levels(dense, fixed)", "sell(c=2)", "mask", "ragged"])
@pytest.mark.parametrize("larger", ["dense", "csr"])
def test_rows_that_are_not_there_are_not_gone_over(stored: str, larger: str) -> None:
    operands = {"M": storel.tensor(MATRIX, stored), "B": storel.tensor(LARGER, larger)}
    scaled = storel.run("CREATE TENSOR R AS sum(<(i, j), b> in B) { (i, j) -> b * M(j, i) }", **operands)
    assert isinstance(scaled, storel.Tensor)
    np.testing.assert_array_equal(scaled.to_numpy(), LARGER * PADDED.T)
    squared = storel.run("CREATE TENSOR R AS sum(<(i, j), b> in B) { j -> M(j, i) * M(j, i) }", **operands)
    assert isinstance(squared, storel.Tensor)
    np.testing.assert_array_equal(squared.to_numpy(), ((LARGER != 0) * PADDED.T**2).sum(0))


@pytest.mark.parametrize("stored", ["ell", "mask", "ragged"])
def test_many_loops_are_arranged_with_the_conditions_of_their_reads(stored: str) -> None:
    """From seven loops on their variables are eliminated one by one, and conditions move with them."""
    program = "sum(<(i, j, k), b> in C, <(i, l, m), c> in C, <p, _> in 0:3) { (p, j) -> M(j, i) }"
    operands = {"M": storel.tensor(MATRIX, stored), "C": storel.tensor(CUBE, "csf")}
    result = storel.run(f"CREATE TENSOR R AS {program}", **operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), np.tile((PADDED * PAIRS).sum(1), (3, 1)))


SLICES = """CREATE FORMAT slices(T: real[m, n]; height: int)
  USING start: int[(m + height - 1) // height + 1] ASCENDING FROM 0 TO wide,
        column: int[wide * height] IN 0:n PAD -1, number: real[wide * height]
  AS sum(<s, _> in 0:(m + height - 1) // height) sum(<r, _> in 0:min(height, m - s * height))
     sum(<w, _> in start(s):start(s + 1))
       if (column(w * height + r) >= 0) then
         { (s * height + r, column(w * height + r)) -> number(w * height + r) }"""


@pytest.mark.parametrize(("columns", "keys", "place"), [((), "j", "i"), ((2,), "(j, k)", "(i, k)")])
def test_what_a_condition_says_of_an_address_is_not_checked_again(
    columns: tuple[int, ...], keys: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / "slices.sdql").write_text(SLICES)
    x = np.random.default_rng(1).integers(1, 9, (6, *columns)).astype(float)
    operands = {"A": storel.tensor(MATRIX, "slices(3)", formats=tmp_path), "x": x}
    program = f"CREATE TENSOR y AS sum(<(i, j), a> in A, <{keys}, b> in x) {{ {place} -> a * b }}"
    kernel = storel.compile(program, backend="c", **operands)
    assert "*detail =" not in kernel.source
    np.testing.assert_array_equal(np.asarray(kernel(**operands)), MATRIX @ x)


ROWS: dict[str, Any] = {
    "bad": np.array([10**6, 1, -7]),
    "length": np.array([0, 3, 0]),
    "w": np.arange(1.0, 6.0),
    "x": np.ones(10),
}
NEEDED_BY_SOME = [
    "(sum(<j, _> in 0:length(i)) w(bad(i)) * x(i))",
    "(sum(<j, _> in 0:length(i)) w(bad(i)) * (i + j))",
    "(sum(<j, _> in 0:length(i)) w(bad(i)) * w(bad(i)))",
    "(sum(<j, _> in 0:length(i)) (12 // (bad(i) + 7)) * x(j))",
    "(sum(<j, _> in 0:length(i)) exp(w(bad(i)) * w(bad(i)) * j))",
    "(sum(<j, _> in 0:length(i)) (j + sum(<k, _> in 0:2) w(bad(i) + k) * w(k)))",
    "(sum(<j, _> in 0:length(i)) j * (sum(<k, v> in w(bad(i):bad(i) + 2)) v * x(j)))",
    "(sum(<j, _> in 0:length(i)) (if (x(j) > 0) then w(bad(i)) * x(i)))",
    "(sum(<k, _> in 0:3) (if length(i) > 0 then (sum(<j, _> in 0:2) w(bad(i) + j)) * x(k)))",
]


@pytest.mark.parametrize("body", NEEDED_BY_SOME)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_what_fails_is_not_taken_out_of_loops_that_do_not_run(
    body: str, backend: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "rows.npz", **ROWS)
    script = f"LOAD ARRAYS FROM '{tmp_path / 'rows.npz'}'\nCREATE TENSOR y AS sum(<i, _> in 0:3) {body}"
    found, wanted = (storel.run(script, backend=each) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())
