"""The estimated products of a matrix product are those that there are, whatever the formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Add, Find, Literal, Lookup, Slice, Sum, Symbol, Variable
from storel.optimizer.cost.whole import estimate
from storel.scalars import ScalarType
from storel.storage.facts import symbols_of

JOINS = (
    "CREATE TENSOR C AS sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }",
    "CREATE TENSOR C AS sum(<(i, j), a> in A, <(l, k), b> in B) if (j == l) then { (i, k) -> a * b }",
)


def skewed() -> tuple[Any, Any, float]:
    """Return two matrices whose frequent keys agree, and the number of products that they have."""
    rng = np.random.default_rng(3)
    likely = 1 / (1 + np.arange(60))
    one = (rng.random((50, 60)) < likely).astype(float)
    other = (rng.random((60, 40)) < likely[:, None]).astype(float)
    actual = float(one.sum(axis=0) @ other.sum(axis=1))
    assert actual > 3 * one.sum() * other.sum() / 60
    return one, other, actual


@pytest.mark.parametrize("program", JOINS)
@pytest.mark.parametrize("names", [("csr", "csr"), ("dcsr", "csr"), ("coo", "csr"), ("csc", "csr")])
def test_products_are_estimated_by_degrees(program: str, names: tuple[str, str]) -> None:
    one, other, actual = skewed()
    a, b = (storel.tensor(array, name) for array, name in zip((one, other), names, strict=True))
    cost = storel.compile(program, A=a, B=b, floating_point="strict").compilation.optimized.cost
    assert cost.iterations[-1] == pytest.approx(actual)


def test_segments_of_found_rows_are_weighted_too() -> None:
    """sum(<_, j> in A_idx) find(<p> in B_row at j) sum(<_, _> in B_idx(B_pos(p):B_pos(p + 1))) 1"""
    one, other, actual = skewed()
    symbols = symbols_of(storel.tensor(one, "csr"), "A") | symbols_of(storel.tensor(other, "dcsr"), "B")
    next_position = Add(Variable(0), Literal(1, ScalarType.INT64))
    segment = Slice(
        Symbol("B_idx"), Lookup(Symbol("B_pos"), Variable(0)), Lookup(Symbol("B_pos"), next_position)
    )
    found = Find(Symbol("B_row"), Variable(0), Sum(segment, Literal(1.0, ScalarType.FLOAT64)))
    assert estimate(Sum(Symbol("A_idx"), found), symbols).iterations[-1] == pytest.approx(actual)


def test_norms_alone_give_a_uniform_estimate() -> None:
    given = {"shape": [50, 50], "nnz": 100, "format": "csr"}
    kernel = storel.compile(JOINS[0], A=storel.declare(given), B=storel.declare(given))
    assert kernel.compilation.optimized.cost.iterations[-1] == pytest.approx(100 * 100 / 50)


def test_what_is_let_in_a_loop_has_names_of_its_own() -> None:
    """Few blocks under many rows of blocks: their positions are mistaken for rows if names are confused."""
    rng = np.random.default_rng(0)
    matrix = rng.random((2000, 2000)) < 0.002
    matrix[:200, :200] |= np.kron(np.eye(100, dtype=bool), np.ones((2, 2), dtype=bool))
    stored = storel.tensor(matrix.astype(float), "bcsr_csr(r=2, c=2)")
    transposed = "CREATE TENSOR C AS sum(<(i, j), a> in A) { (j, i) -> a }"
    assert np.isfinite(storel.compile(transposed, A=stored).compilation.optimized.cost.nanoseconds)
