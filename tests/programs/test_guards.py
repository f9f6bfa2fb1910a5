"""Inf and NaN in dense operands of sparse ones: zeros annihilate them, and nothing else does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel

PROGRAMS = {
    "spmv": "sum(<(i, j), a> in A) { i -> a * x(j) }",
    "transposed": "sum(<(i, j), a> in A) { j -> a * x(i) }",
    "spmm": "sum(<(i, k), a> in A, <j, _> in 0:17) { (i, j) -> a * B(k, j) }",
    "scaled": "sum(<(i, j), a> in A) { (i, j) -> a * (x(i) + y(j)) }",
    "twice": "sum(<(i, j), a> in A, <(i, k), b> in A) { j -> a * b * x(k) }",
    "residual": "sum(<(i, j), a> in A) { j -> a * ((sum(<k, b> in A(i)) b * x(k)) - y(i)) }",
    "halved": "sum(<(i, j), a> in A) { i -> a / 2 * x(j) * 0.5 }",
    "weighted": "sum(<(i, j), a> in A) { i -> w * a * (x(j) + y(j)) }",
    "compared": "sum(<(i, j), a> in A) { i -> if (x(j) * y(i) < 1) then a * x(j) }",
}
FORMATS = ("csr", "csc", "coo", "ell(width=16)", "bcsr(r=4, c=4)")


@pytest.mark.parametrize("storage", FORMATS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_zeros_alone_annihilate(name: str, storage: str) -> None:
    rng = np.random.default_rng(3)
    n = 140
    matrix = np.zeros((n, n))
    for row, length in enumerate(rng.integers(0, 16, n)):
        columns = rng.choice(n, length, replace=False)
        matrix[row, columns] = rng.integers(1, 5, length)
    x, y, b = rng.integers(-3, 4, n).astype(float), rng.integers(-3, 4, n).astype(float), np.ones((n, 17))
    for each in (x, y, b):
        each.flat[rng.choice(each.size, 3)] = rng.choice([np.inf, -np.inf, np.nan], 3)
    program = f"PARAMETER w: real = 2.5\nCREATE TENSOR R AS {PROGRAMS[name]}"
    given: dict[str, Any] = {"A": storel.tensor(matrix, storage)}
    given |= {each: value for each, value in {"x": x, "y": y, "B": b}.items() if f"{each}(" in program}
    expected = result(program, given, backend="interpret")
    assert not np.isfinite(expected).all() and np.isfinite(expected).any()
    for backend in ("c", "numba"):
        np.testing.assert_allclose(result(program, given, backend=backend), expected, rtol=1e-9)


def result(program: str, given: dict[str, Any], **options: Any) -> NDArray[Any]:
    found = storel.run(program, **given, **options)
    assert isinstance(found, storel.Tensor)
    return found.to_numpy()
