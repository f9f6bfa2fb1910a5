"""Programs over formats that hold only some matrices are what NumPy says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.data import DTYPES, arrays
from strategies.structured import ALIKE, FITTING, SQUARE

import storel

Array = Any
VECTOR = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
FACTOR = np.array([[2.0, 7.0], [1.0, 8.0], [2.0, 8.0], [1.0, 8.0], [2.0, 8.0], [4.0, 5.0], [9.0, 0.0]])

PROGRAMS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "product with a vector": (
        "sum(<(i, j), a> in A) { i -> a * x(j) }",
        lambda dense: dense @ VECTOR[: dense.shape[1]],
    ),
    "product with a matrix": (
        "sum(<(i, k), a> in A, <(k, j), c> in C) { (i, j) -> a * c }",
        lambda dense: dense @ FACTOR[: dense.shape[1]],
    ),
    "bilinear form": (
        "sum(<(i, j), a> in A) y(i) * a * x(j)",
        lambda dense: VECTOR[: dense.shape[0]] @ dense @ VECTOR[: dense.shape[1]],
    ),
    "transposed": ("sum(<(i, j), a> in A) { (j, i) -> a }", lambda dense: dense.T),
    "sum with another format": ("A + B", lambda dense: dense + other_than(dense)),
    "number of entries": ("count(<(_, _), _> in A)", np.count_nonzero),
}

ALL_PROGRAMS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    **PROGRAMS,
    "row sums": ("sum(<(i, _), a> in A) { i -> a }", lambda dense: dense.sum(axis=1)),
    "twice": ("A + A", lambda dense: 2 * dense),
}
"""Those that only the reference is asked, too: as kernels they are much like others."""

NUMBERS = tuple(each for each in DTYPES if each != "bool")


def other_than(dense: Array) -> Array:
    """Return a matrix of the same shape and type, whose entries are in part at the same places."""
    return np.where(np.indices(dense.shape).sum(axis=0) % 3 == 0, 2, 0).astype(dense.dtype)


def operand(text: str) -> Array:
    shape = (6, 6) if text in SQUARE else (7, 5)
    random = np.random.default_rng(7)
    return FITTING[text](random.integers(1, 9, shape) * (random.random(shape) < 0.6)).astype(np.float64)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("text", FITTING)
def test_kernels_mean_the_same_in_every_format(text: str, program: str) -> None:
    check(text, "c", program)


@pytest.mark.parametrize("program", ALL_PROGRAMS)
@pytest.mark.parametrize("text", FITTING)
def test_the_reference_reads_every_format(text: str, program: str) -> None:
    check(text, "interpret", program)


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(list(FITTING)), st.sampled_from(list(ALL_PROGRAMS)))
def test_the_reference_reads_every_format_and_type(data: st.DataObject, text: str, program: str) -> None:
    rows, columns = data.draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    dtypes = NUMBERS if text in ALIKE else DTYPES
    drawn = data.draw(arrays((rows, rows if text in SQUARE else columns), dtypes, finite=True))
    compare(FITTING[text](drawn), text, "interpret", program)


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
    compare(operand(text), text, backend, program)


def compare(dense: Array, text: str, backend: str, program: str) -> None:
    expression, expected = ALL_PROGRAMS[program]
    rows, columns = dense.shape
    operands = {
        "A": storel.tensor(dense, text),
        "B": storel.tensor(other_than(dense), "csr"),
        "C": FACTOR[:columns],
        "x": VECTOR[:columns],
        "y": VECTOR[:rows],
    }
    used = {name: each for name, each in operands.items() if re.search(rf"\b{name}\b", expression)}
    result = storel.run(f"CREATE TENSOR Y AS {expression}", backend=backend, **used)
    assert isinstance(result, storel.Tensor)
    # NumPy adds bools by "or", but they are counted.
    numbers = dense.astype(np.int64) if dense.dtype == np.bool_ else dense
    np.testing.assert_allclose(result.to_numpy(), expected(numbers), rtol=1e-6)
