"""Sharing looks into conditions, ends where its effort is spent, and the report of the search says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.calculus.nodes import Sum, Term
from storel.calculus.walk import children
from storel.execution.run import measure
from storel.optimizer.limits import Stop
from storel.optimizer.sharing import share

TWICE = """
CREATE TENSOR y AS A + sum(<(i, j), a> in A, <(j, k), b> in A) { (i, k) -> a * b }
CREATE TENSOR z AS y + sum(<(i, j), a> in y, <(j, k), b> in y) { (i, k) -> a * b }
"""


@pytest.mark.parametrize(("effort", "stop"), [(50, Stop.NODES), (share.EFFORT, Stop.SATURATED)])
def test_moves_end_where_the_effort_for_them_is_spent(
    effort: int, stop: Stop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(share, "EFFORT", effort)
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path))  # no plan is remembered
    matrix: Any = sp.csr_array(sp.random(30, 30, 0.1, rng=np.random.default_rng(1)))
    kernel: Any = storel.compile(TWICE, A=storel.tensor(matrix))
    assert kernel.compilation.optimized.report[-1].stop is stop
    once = matrix + matrix @ matrix
    np.testing.assert_allclose(kernel(A=matrix).to_numpy(), (once + once @ once).toarray())


CORE = """
CREATE TENSOR degree AS sum(<(i, j), _> in A) { i -> 1 }
CREATE TENSOR inside AS sum(<(i, j), _> in A) if (degree(i) > 5 and degree(j) > 5) then { i -> 1 }
CREATE TENSOR core AS sum(<(i, j), _> in A) if (inside(i) > 5 and inside(j) > 5) then { i -> 1 }
"""


def depth(term: Term) -> int:
    """Return how deep loops nest."""
    return isinstance(term, Sum) + max((depth(child) for child, _ in children(term)), default=0)


def test_a_loop_in_a_condition_is_tabulated() -> None:
    matrix: Any = sp.csr_array(sp.random(3000, 3000, 0.002, rng=np.random.default_rng(1)))
    kernel: Any = storel.compile(CORE, A=matrix)
    assert depth(kernel.compilation.optimized.term) == 2
    pattern = matrix.toarray() != 0
    inside = pattern.sum(axis=1) > 5
    inside = (pattern & np.logical_and.outer(inside, inside)).sum(axis=1) > 5
    core = (pattern & np.logical_and.outer(inside, inside)).sum(axis=1)
    np.testing.assert_array_equal(kernel(A=matrix).to_numpy(), core)


@pytest.mark.parametrize("storage", ["csr", "coo", "hash"])
def test_a_dictionary_that_is_written_twice_is_made_once(storage: str) -> None:
    script = """
      CREATE TENSOR mean AS sum(<(i, j), a> in A) { j -> a / 4 }
      CREATE TENSOR squared AS mean * mean
    """
    matrix: Any = sp.csr_array(sp.random(40, 30, 0.5, rng=np.random.default_rng(1)))
    kernel: Any = storel.compile(script, A=storel.tensor(matrix).to(storage))
    found, work = measure(kernel.compilation, kernel.environment)
    np.testing.assert_allclose(found.to_numpy(), (matrix.sum(axis=0) / 4) ** 2)
    assert work.additions <= matrix.nnz + 3 * 30
