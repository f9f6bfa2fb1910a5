"""What is expected of a plan is what was expected of the term that it comes from."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from strategies.explained import PROGRAMS, large, program
from strategies.plans import planned

import storel
from storel.optimizer.physical.forecast import Forecast, forecast
from storel.plan.printer import action_lines

NAMES = list(PROGRAMS)


@pytest.mark.parametrize("name", NAMES)
def test_each_action_has_one(name: str) -> None:
    compilation = program(name).compilation
    expected = forecast(compilation.plan.action, compilation.symbols)
    assert len(expected) == len(action_lines(compilation.plan))
    assert all(each.times > 0 and each.nanoseconds >= 0 for each in expected)


@pytest.mark.parametrize("name", NAMES)
def test_loops_iterate_as_often_as_those_of_the_term(name: str) -> None:
    """The plan of a term without a shared or searched part has the term's loops, in their order."""
    compilation = program(name).compilation
    lines = action_lines(compilation.plan)
    expected = forecast(compilation.plan.action, compilation.symbols)
    loops = [each.times for line, each in zip(lines, expected, strict=True) if line.startswith("loop")]
    found = [pytest.approx(times) for times in compilation.optimized.cost.iterations]
    assert loops == found


def test_a_product_of_matrices() -> None:
    """1000 rows of 8 entries, each of which meets a row of 9."""
    compilation = large().compilation
    expected = forecast(compilation.plan.action, compilation.symbols)
    times = [each.times for each in expected]
    assert times == pytest.approx([1000, 1000, 8000, 72_000, 72_000, 72_000], rel=0.05)
    whole = sum(each.nanoseconds for each in expected)
    assert whole == pytest.approx(compilation.optimized.cost.nanoseconds, rel=0.3)


def test_skew_is_not_expected() -> None:
    """Two equal matrices share all entries, which the estimate of an intersection does not know."""
    matrix = scipy.sparse.random(100, 400, density=0.02, format="csr", rng=np.random.default_rng(0))
    text = "CREATE TENSOR r AS sum(<(i, j), a> in A, <(i, j), b> in B) { (i, j) -> a * b }"
    compilation = planned(text, A=storel.tensor(matrix), B=storel.tensor(matrix)).compilation
    last = forecast(compilation.plan.action, compilation.symbols)[-1]
    assert 0 < last.times < matrix.nnz / 4


def test_an_empty_matrix() -> None:
    compilation = planned(PROGRAMS["scaled"], A=storel.tensor(np.zeros((3, 4)), "csr")).compilation
    assert forecast(compilation.plan.action, compilation.symbols)[-1].times >= 0


def test_price() -> None:
    assert Forecast(times=20, runs=4, per_run=2.0, per_time=0.5).nanoseconds == 18
    assert Forecast(times=20, runs=4, per_run=2.0, per_time=0.5).price(1, 100) == 52
