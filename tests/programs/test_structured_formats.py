"""Programs over formats that hold only some matrices are what NumPy says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strategies.structured import FITTING, SQUARE

import storel

Array = Any
VECTOR = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])

PROGRAMS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "product with a vector": (
        "sum(<(i, j), a> in A) { i -> a * x(j) }",
        lambda dense: dense @ VECTOR[: dense.shape[1]],
    ),
    "row sums": ("sum(<(i, _), a> in A) { i -> a }", lambda dense: dense.sum(axis=1)),
    "twice": ("A + A", lambda dense: 2 * dense),
    "transposed": ("sum(<(i, j), a> in A) { (j, i) -> a }", lambda dense: dense.T),
}


def operand(text: str) -> Array:
    shape = (6, 6) if text in SQUARE else (7, 5)
    random = np.random.default_rng(7)
    return FITTING[text](random.integers(1, 9, shape) * (random.random(shape) < 0.6)).astype(np.float64)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "c"])
@pytest.mark.parametrize("text", FITTING)
def test_programs_mean_the_same_in_every_format(text: str, backend: str, program: str) -> None:
    check(text, backend, program)


@pytest.mark.parametrize("text", FITTING)
def test_numba_reads_every_format(text: str) -> None:
    check(text, "numba", "product with a vector")


@pytest.mark.parametrize("text", FITTING)
def test_a_result_is_stored_in_every_format(text: str) -> None:
    dense = operand(text)
    source = f"CREATE TENSOR Y STORED AS {text} AS A + A"
    result = storel.run(source, A=storel.tensor(dense, "csr"))
    assert isinstance(result, storel.Tensor)
    assert result.format == text
    np.testing.assert_array_equal(result.to_numpy(), 2 * dense)


def check(text: str, backend: str, program: str) -> None:
    expression, expected = PROGRAMS[program]
    dense = operand(text)
    tensors: dict[str, Any] = {"A": storel.tensor(dense, text)}
    if "x(" in expression:
        tensors["x"] = VECTOR[: dense.shape[1]]
    result = storel.run(f"CREATE TENSOR Y AS {expression}", backend=backend, **tensors)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), expected(dense))
