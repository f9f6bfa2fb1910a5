"""A sum taken apart adds up to what it was, and its parts have plans of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Term
from storel.execution.run import measure
from storel.loops.interpret import Work
from storel.optimizer.arrangement.parts import taken_apart, together
from storel.optimizer.outcome import Options


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_times"])
def test_the_sum_of_the_parts_is_the_term(semiring: str) -> None:
    @settings(max_examples=50, deadline=None)
    @given(surroundings(), terms(REAL, semiring=semiring) | terms(dictionary(2), semiring=semiring))
    def check(around: Surroundings, term: Term) -> None:
        whole = together(taken_apart(term), term)
        assert evaluate(whole, around.symbols, around.values) == evaluate(term, around.symbols, around.values)

    check()


JOIN = """CREATE TENSOR X AS sum(<(i, j), c> in J, <(i, f), x> in S) {(i, j, f) -> c * x}
                           + sum(<(i, j), c> in J, <(j, f), y> in T) {(i, j, f + extent(S, 1)) -> c * y}
       """
PROGRAMS = {
    "gradient": JOIN
    + "CREATE TENSOR g AS sum(<(i, j, f), x> in X, <(i, j, h), z> in X, <h, w> in u) {f -> x * z * w}",
    "covariance": JOIN + "CREATE TENSOR g AS sum(<(i, j, f), x> in X, <(i, j, h), z> in X) {(f, h) -> x * z}",
}
RANDOM = np.random.default_rng(11)
M, N, WIDTH = 60, 50, 6
PAIRS: Any = sp.csr_array(sp.random(M, N, 0.2, rng=RANDOM))
LEFT, RIGHT = RANDOM.random((M, WIDTH)), RANDOM.random((N, WIDTH))
OPERANDS = {"J": PAIRS, "S": LEFT, "T": RIGHT}


def joined() -> Any:
    """Return the join: a row for each pair, the features of both sides beside each other."""
    row, column = PAIRS.nonzero()
    return PAIRS.data[:, None] * np.hstack([LEFT[row], RIGHT[column]])


def work(script: str, patience: float, **operands: Any) -> Work:
    kernel = storel.compile(script, threads=1, search=Options(patience=patience), **operands)
    return measure(kernel.compilation, kernel.environment)[1]


def test_a_gradient_over_a_join_goes_through_each_table_alone() -> None:
    weights = RANDOM.random(2 * WIDTH)
    least = 4 * WIDTH * (M + N) + 8 * PAIRS.nnz
    assert work(PROGRAMS["gradient"], math.inf, **OPERANDS, u=weights).multiplications <= least
    assert work(PROGRAMS["gradient"], 0, **OPERANDS, u=weights).multiplications > 2 * least


def test_a_covariance_over_a_join_goes_through_each_table_alone() -> None:
    least = WIDTH * (WIDTH + 1) * 2 * (M + N) + (2 * WIDTH + 4) * PAIRS.nnz
    assert work(PROGRAMS["covariance"], math.inf, **OPERANDS).multiplications <= least
    assert work(PROGRAMS["covariance"], 0, **OPERANDS).multiplications > least


def test_what_is_told_of_a_search_tells_of_its_parts() -> None:
    kernel = storel.compile(PROGRAMS["covariance"], search=Options(patience=math.inf), **OPERANDS)
    optimized = kernel.compilation.optimized
    assert optimized.considered[0].origin == "in parts"
    whole, *parts = (phase for phase in optimized.report if phase.phase == "main")
    assert "scale-singleton-left" in whole.matches and len(parts) > 2


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "dcsr"])
def test_value(layout: str, backend: str) -> None:
    table, weights = joined(), RANDOM.random(2 * WIDTH)
    operands = {**OPERANDS, "J": storel.tensor(PAIRS, format=layout)}
    options: dict[str, Any] = {"search": Options(patience=math.inf), "backend": backend}
    gradient = storel.run(PROGRAMS["gradient"], **operands, u=weights, **options)
    covariance = storel.run(PROGRAMS["covariance"], **operands, **options)
    assert isinstance(gradient, storel.Tensor) and isinstance(covariance, storel.Tensor)
    np.testing.assert_allclose(gradient.to_numpy(), table.T @ (table @ weights))
    np.testing.assert_allclose(covariance.to_numpy(), table.T @ table)
