"""What is not linear in the entries is computed entry by entry, where no key is made twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Singleton, Term
from storel.calculus.printer import show
from storel.calculus.walk import children

FORMATS = (
    "bcsr(r=2, c=3)", "tiled(r=3, c=2)", "hash", "dia", "band", "morton", "ragged", "csc", "dcsc", "csf",
    "coo", "hyb", "ell", "sell", "bcsr_csr", "band_coo", "bucketed_ell",
    "levels(compressed, compressed; order=(1, 0))",
)  # fmt: skip

COUNT = "CREATE TENSOR y AS sum(<(i, j), a> in A) 1"
SQUARES = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * a }"


def matrix() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    chosen = np.random.default_rng(7)
    return np.where(chosen.random((9, 11)) < 0.3, chosen.integers(1, 5, (9, 11)), 0).astype(np.float64)


def makes_entries(term: Term) -> bool:
    return isinstance(term, Singleton) or any(makes_entries(child) for child, _ in children(term))


@pytest.mark.parametrize("storage", FORMATS)
def test_nothing_is_stored_to_be_counted(storage: str) -> None:
    stored = storel.tensor(matrix(), storage)
    kernel = storel.compile(COUNT, A=stored)
    found = kernel(A=stored)
    assert isinstance(found, storel.Tensor)
    assert found.item() == np.count_nonzero(matrix())
    assert not makes_entries(kernel.compilation.optimized.normalized)


@pytest.mark.parametrize("storage", FORMATS)
def test_squares(storage: str) -> None:
    stored = storel.tensor(matrix(), storage)
    found = storel.run(SQUARES, A=stored)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.sum(matrix() ** 2, axis=1))


M = matrix()
JOINED = (
    ("{ (i, k) -> 1 }", (M != 0).astype(np.int64) @ (M != 0).T),
    ("{ i -> min(a, b) }", np.minimum(M[:, np.newaxis], M).sum(axis=(1, 2))),
    ("if (b > 2) then { i -> a }", (M @ (M > 2).T).sum(axis=1)),
)


@pytest.mark.parametrize(("value", "expected"), JOINED)
def test_columns_that_are_stored_are_joined_in_place(value: str, expected: np.ndarray[Any, Any]) -> None:
    operands = {"A": storel.tensor(matrix(), "csr"), "B": storel.tensor(matrix(), "csc")}
    program = f"CREATE TENSOR y AS sum(<(i, j), a> in A, <(k, j), b> in B) {value}"
    kernel = storel.compile(program, **operands)
    considered = kernel.compilation.optimized.considered
    assert any("B_idx(B_pos(v):B_pos(v + 1))" in show(each.term) for each in considered)
    found = kernel(**operands)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected)


COMPARED = (
    "CREATE TENSOR y AS sum(<i, r> in A + B) { i -> count(<_, _> in r) }",
    "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> if (a >= B(i, j)) then { j -> 1 } }",
    "CREATE TENSOR y AS sum(<i, r> in A) { i -> max(<j, a> in r) a * B(i, j) }",
)


@pytest.mark.parametrize("program", COMPARED)
@pytest.mark.parametrize("storage", ["csr", "hash", "ell", "rle", "dia", "ragged", "levels(dense, fixed)"])
def test_beside_what_has_no_entries(storage: str, program: str) -> None:
    """What is stored of it may be nothing, not even a loop."""
    operands = {"A": matrix(), "B": storel.tensor(np.zeros((9, 11)), storage)}
    found, expected = (storel.run(program, backend=each, **operands) for each in ("auto", "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(expected, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


OVERLAPPING = """
CREATE TENSOR A: real[6] AS sum(<i, _> in 0:6) sum(<t, _> in 0:2) { i // 2 * 2 + t -> x(i * 2 + t) }
CREATE TENSOR y AS sum(<i, a> in A) a * a
"""


def test_keys_that_repeat_are_added_up_first() -> None:
    values = np.arange(1.0, 13.0)
    sums = np.zeros(6)
    np.add.at(sums, [i // 2 * 2 + t for i in range(6) for t in range(2)], values)
    found = storel.run(OVERLAPPING, x=values)
    assert isinstance(found, storel.Tensor)
    assert found.item() == np.sum(sums**2)


def test_arrays_that_were_given_may_list_an_entry_twice() -> None:
    arrays = {"idx": np.array([1, 1, 0, -1]), "val": np.array([2.0, -2.0, 3.0, 0.0])}
    twice = storel.tensor(arrays, "ell(width=2)", (2, 3))
    found = storel.run(COUNT, A=twice)
    assert isinstance(found, storel.Tensor)
    assert found.item() == 1
