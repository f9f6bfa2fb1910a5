"""What plans are expected to store is what the planner stores it in: not every dictionary is a table."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.optimizer.physical.footprint import SLOT, WORD, footprint
from storel.plan.nodes import Bind, RowsStore

SIZE = 1000
TABLE = WORD * SIZE * SIZE
SQUARED_ENTRIES = """
CREATE TENSOR r: real[m, n] STORED AS csr AS
  let t = sum(<i, row> in A) { i -> sum(<k, a> in row) sum(<j, b> in B(k)) { j -> a * b } } in
  sum(<i, row> in E) { i -> sum(<k, e> in row) sum(<j, v> in t(k)) { j -> e * v * v } }
"""
"""Each row of the product t is read six times: storing t takes less time than making its rows again."""


def matrix(density: float, seed: int) -> storel.Tensor:
    dense = np.random.default_rng(seed).random((SIZE, SIZE))
    return storel.tensor(sp.csr_array(np.where(dense < density, dense, 0)))


OPERANDS = {"A": matrix(2e-3, 1), "B": matrix(2e-3, 2), "E": matrix(6e-3, 3)}


@pytest.mark.parametrize(("limit", "is_stored"), [(TABLE // 4, True), (2 * WORD * SIZE, False)])
def test_rows_that_fit_are_stored_where_a_table_would_not(limit: int, is_stored: bool) -> None:
    compilation = storel.compile(SQUARED_ENTRIES, memory_limit=limit, **OPERANDS).compilation
    store = compilation.plan.action.store if isinstance(compilation.plan.action, Bind) else None
    assert isinstance(store, RowsStore) is is_stored


def test_such_a_plan_runs_within_the_limit() -> None:
    result = storel.run(SQUARED_ENTRIES, memory_limit=TABLE // 4, **OPERANDS)
    assert isinstance(result, storel.Tensor)
    a, b, e = (OPERANDS[name].to_scipy() for name in "ABE")
    np.testing.assert_allclose(result.to_numpy(), (e @ (a @ b).power(2)).toarray())


FORMS = {
    "list": ("sum(<i, v> in x) sum(<k, c> in sum(<j, w> in x) { w % 400 * 3 -> v }) c * c", 2 * 1198 * WORD),
    "filled table": ("sum(<i, v> in x) sum(<k, c> in sum(<j, w> in x) { w % 400 -> v }) c * c", 400 * WORD),
    "table": ("let t = sum(<i, v> in x) { i % 200 -> v } in sum(<i, v> in x) t(v // 2) * v", 200 * WORD),
    "hash": ("let t = sum(<i, v> in x) { v -> i } in sum(<i, v> in x) t(v + 1)", 300 * SLOT),
    "scalar": ("(sum(<i, v> in x) v) * sum(<i, v> in x) v * v", 0),
}


@pytest.mark.filterwarnings("ignore:the value 'v' of a tensor is used as a key")
@pytest.mark.parametrize("name", FORMS)
def test_bytes_of_a_store(name: str) -> None:
    program, expected = FORMS[name]
    keys = np.random.default_rng(0).integers(0, 10**12 if name == "hash" else 400, 300)
    compilation = storel.compile(f"CREATE TENSOR r AS {program}", x=keys).compilation
    assert footprint(compilation.optimized.term, compilation.symbols) == expected
