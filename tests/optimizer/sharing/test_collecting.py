"""What loops bring to a key is collected before a loop over what lies there."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.execution.run import measure
from storel.optimizer.sharing.collecting import collected

RANDOM = np.random.default_rng(3)
Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""


def matrix() -> Matrix:
    return sp.csr_array(sp.random(40, 40, 0.3, rng=RANDOM))


P, Q, R, S = matrix(), matrix(), matrix(), matrix()
CYCLE = """CREATE TENSOR s AS
  sum(<(a, b), w> in P, <(b, c), x> in Q, <(c, d), y> in R, <(d, a), z> in S) w * x * y * z"""
ROWS: dict[str, Any] = {"P": P, "Q": Q, "R": R, "S": S}


def products(left: Matrix, right: Matrix) -> int:
    return int(np.diff(left.tocsc().indptr) @ np.diff(right.indptr))


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_cycle_of_four(backend: str) -> None:
    expected = (P @ Q @ R @ S).trace()
    found = storel.run(CYCLE, backend=backend, **ROWS)
    assert isinstance(found, storel.Tensor)
    assert np.isclose(found.to_numpy(), expected)


def test_two_edges_of_a_cycle_meet_before_the_third() -> None:
    kernel = storel.compile(CYCLE, **ROWS)
    _, work = measure(kernel.compilation, kernel.environment)
    paths = products(P, Q)
    pairs = products(sp.csr_array(P @ Q), R)
    assert work.multiplications <= paths + pairs + (P @ Q @ R).nnz


def test_every_collection_keeps_the_value() -> None:
    kernel = storel.compile(CYCLE, floating_point="strict", **ROWS)
    term, symbols = kernel.compilation.optimized.normalized, kernel.compilation.symbols
    values = kernel.environment.physical_arrays()
    around = Surroundings(dict(symbols), values | {"P_m": 40})
    found = list(collected(term, symbols))
    assert found
    for moved in found:
        assert np.isclose(
            evaluate(moved, around.symbols, around.values), evaluate(term, around.symbols, around.values)
        )
