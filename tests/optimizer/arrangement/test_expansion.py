"""Products of sums multiplied out: the value stays, and sparse data is visited only where it is."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Add, Term
from storel.execution.run import measure
from storel.optimizer.arrangement.expansion import monomials

RANDOM = np.random.default_rng(7)
SPARSE: Any = sp.csr_array(sp.random(40, 30, 0.1, rng=RANDOM))
ROWS, COLUMNS = RANDOM.random(40), RANDOM.random(30)


@settings(max_examples=50, deadline=None)
@given(surroundings(), terms(REAL) | terms(dictionary(2)))
def test_the_sum_of_the_monomials_is_the_term(around: Surroundings, term: Term) -> None:
    whole = reduce(Add, monomials(term))
    assert evaluate(whole, around.symbols, around.values) == evaluate(term, around.symbols, around.values)


PROGRAMS = {
    "distance from a product": (
        """CREATE TENSOR d AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1))
             (A(i, j) - u(i) * v(j)) * (A(i, j) - u(i) * v(j))""",
        lambda: ((SPARSE.toarray() - np.outer(ROWS, COLUMNS)) ** 2).sum(),
    ),
    "centred": (
        """CREATE TENSOR C AS
             sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1)) {(i, j) -> A(i, j) - v(j)}
           CREATE TENSOR y AS sum(<i, w> in u, <j, _> in 0:extent(A, 1)) {j -> w * C(i, j)}""",
        lambda: ROWS @ (SPARSE.toarray() - COLUMNS),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_value(name: str, backend: str) -> None:
    script, answer = PROGRAMS[name]
    operands = {"A": SPARSE, "u": ROWS, "v": COLUMNS}
    found = storel.run(script, floating_point="expand", backend=backend, **operands)
    assert isinstance(found, storel.Tensor)
    assert np.allclose(found.to_numpy(), answer())


@pytest.mark.parametrize("name", PROGRAMS)
def test_work(name: str) -> None:
    script, _ = PROGRAMS[name]
    kernel = storel.compile(script, floating_point="expand", A=SPARSE, u=ROWS, v=COLUMNS)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= 2 * SPARSE.nnz + 5 * sum(SPARSE.shape)


def test_reassociation_alone_keeps_products_of_sums() -> None:
    script, _ = PROGRAMS["distance from a product"]
    kernel = storel.compile(script, A=SPARSE, u=ROWS, v=COLUMNS)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.multiplications >= SPARSE.shape[0] * SPARSE.shape[1]
