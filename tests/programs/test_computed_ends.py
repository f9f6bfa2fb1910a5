"""Ranges and parts of arrays whose ends take a loop to compute: they are computed before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel

ENDS = np.array([1, 0, 2, 4, 3])
VALUES = np.array([1.0, 2.0, 5.0, 3.0, 0.0])
SUMS = {
    "a range": ("sum(<k, v> in C, <_, _> in 0:I(k)) { k -> v }", [1.0, 0.0, 10.0, 12.0, 0.0]),
    "both ends": ("sum(<k, _> in I, <z, _> in I(1):I(k)) { k -> C(z) }", [1.0, 0.0, 3.0, 11.0, 8.0]),
    "a sum": ("sum(<z, _> in 0:(sum(<_, e> in I) e) // 2) { z -> C(z) + 1 }", [2.0, 3.0, 6.0, 4.0, 1.0]),
    "the least": ("sum(<k, _> in C) { k -> min(<z, _> in 0:I(k) + 1) C(z) }", [1.0, 1.0, 1.0, 0.0, 0.0]),
    "a part": ("sum(<k, v> in C, <_, e> in p(I(k) // 4:I(k))) { k -> v * e }", [0.0, 0.0, 10.0, 42.0, 0.0]),
    "a merge": (
        "sum(<k, _> in I) { k -> merge(<_, _, e> in <p(0:I(k)), q(0:I(3))>) e }",
        [0.0, 0.0, 2.0, 14.0, 7.0],
    ),
}


@pytest.mark.parametrize("stored", ["dense", "coo", "hash"])
@pytest.mark.parametrize("case", SUMS)
@pytest.mark.parametrize("backend", ["c", "interpret"])
def test_ends_may_take_a_loop(backend: str, case: str, stored: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "arrays.npz", p=np.array([0, 2, 5, 7, 9]), q=np.array([1, 2, 5, 7, 9]))
    text, expected = SUMS[case]
    script = tmp_path / "script.sdql"
    script.write_text(f"LOAD ARRAYS FROM 'arrays.npz'\nCREATE TENSOR R: real[5] AS {text}")
    operands = {"C": storel.tensor(VALUES, "coo"), "I": storel.tensor(ENDS, stored)}
    read = {name: tensor for name, tensor in operands.items() if f"in {name}" in text or f"{name}(" in text}
    result = storel.run(script, backend=backend, **read)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == expected


MATRIX = np.array([[3.0, 0.0, 5.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 4.0, 7.0]])
SAME_SUM: dict[str, tuple[str, object]] = {
    "its end": ("sum(<(i, j), v> in A, <k, _> in j:int(v)) k * v", 220.0),
    "its beginning": ("sum(<(i, j), v> in A, <k, _> in int(v):9) k * v", 560.0),
    "another generator": ("sum(<(i, j), v> in A, <k, _> in 0:int(v), <(i, l), w> in A) k * v * w", 2528.0),
    "a row": ("sum(<i, row> in A, <k, _> in 0:int(max(<_, a> in row) a)) (k + i)", 55),
}


@pytest.mark.parametrize("stored", ["dense", "csr", "coo", "hash", "csc"])
@pytest.mark.parametrize("case", SAME_SUM)
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_ends_may_be_values_of_the_same_sum(backend: str, case: str, stored: str) -> None:
    text, expected = SAME_SUM[case]
    result = storel.run(f"CREATE TENSOR R AS {text}", backend=backend, A=storel.tensor(MATRIX, stored))
    assert isinstance(result, storel.Tensor)
    assert result.item() == expected
