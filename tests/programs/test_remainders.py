"""Remainders of what is less than one divisor away from them, as in circulant matrices: none is divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel

N = 200
X = np.random.default_rng(0).random(N)
ROWS, COLUMNS = np.meshgrid(np.arange(N), np.arange(N), indexing="ij")


def program(key: str) -> str:
    return f"CREATE TENSOR Y AS sum(<i, _> in 0:{N}, <j, _> in 0:{N}) {{ (i, j) -> x({key}) }}"


@pytest.mark.parametrize(
    ("key", "divides", "numbers"),
    [
        (f"(j - i + {N}) % {N}", False, COLUMNS - ROWS + N),
        (f"(j - i) % {N}", False, COLUMNS - ROWS),
        (f"(i + j + 1) % {N}", False, ROWS + COLUMNS + 1),
        (f"(j - {N}) % {N}", False, COLUMNS - N),
        (f"(i + j + 2) % {N}", True, ROWS + COLUMNS + 2),
        (f"(j - {N + 1}) % {N}", True, COLUMNS - N - 1),
        (f"(2 * i + j) % {N}", True, 2 * ROWS + COLUMNS),
    ],
)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_one_turn_takes_a_comparison(backend: Any, key: str, divides: bool, numbers: Any) -> None:
    kernel = storel.compile(program(key), backend=backend, x=X)
    assert ("modulo" in kernel.source or "%" in kernel.source) == divides
    result = kernel(x=X)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), X[numbers % N])


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_circulant_matrix_is_what_its_columns_say(backend: Any) -> None:
    text = (
        "CREATE FORMAT circulant(T: real[n, n]) USING c: real[n] "
        "AS sum(<i, _> in 0:n) { i -> sum(<j, _> in 0:n) { j -> c((i - j + n) % n) } };"
    )
    for size in (1, 2, 7):
        x = X[:size]
        load = (
            "CREATE TENSOR A STORED AS circulant AS "
            f"sum(<i, _> in x, <j, _> in x) {{ (i, j) -> x((i - j) % {size}) }};"
        )
        product = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
        result = storel.run(f"{text} {load} {product}", backend=backend, x=x)
        assert isinstance(result, storel.Tensor)
        places = (ROWS - COLUMNS)[:size, :size] % size
        np.testing.assert_allclose(result.to_numpy(), x[places] @ x)
