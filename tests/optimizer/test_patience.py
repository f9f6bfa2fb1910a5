"""A search ends where it has taken as long as many runs of the best plan so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.compilation import reformat, scheduling
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import NOTHING_CONVERTED, Task
from storel.optimizer.limits import FEW_E_NODES, Limits, Stop
from storel.optimizer.outcome import Options
from storel.optimizer.sharing import share

ENDLESS = Options(patience=math.inf)

MATRICES = [
    sp.random_array((60, 60), density=0.1, format="csr", rng=np.random.default_rng(n)) for n in range(4)
]
DENSE = [matrix.toarray() for matrix in MATRICES]
OPERANDS: dict[str, Any] = dict(zip("ABCD", MATRICES, strict=True))

ENTRY_BY_ENTRY = (
    "CREATE TENSOR R AS sum(<(i, j), a> in A, <(i, j), b> in B, <(i, j), c> in C, <(i, j), d> in D) "
    "{ (i, j) -> a * b * c * d }"
)
CHAIN = "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C) { (i, l) -> a * b * c }"


class Nodes:
    """A cost model by which a term costs as much as it has nodes."""

    def price(self, constructor: str, text: str, costs: Sequence[float], *_: Any, **__: Any) -> float:
        return 1 + sum(costs)


def kernel(program: str, search: Options | None = None, **operands: Any) -> storel.Kernel:
    return storel.compile(program, search=search, **operands)


def check(made: storel.Kernel, operands: dict[str, Any], expected: Any) -> None:
    result = made(**operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), expected)


def test_little_is_searched_where_little_is_at_stake() -> None:
    short, long = kernel(ENTRY_BY_ENTRY, **OPERANDS), kernel(ENTRY_BY_ENTRY, ENDLESS, **OPERANDS)
    one, other = short.compilation.optimized, long.compilation.optimized
    assert Stop.GOOD_ENOUGH in [phase.stop for phase in one.report]
    assert Stop.GOOD_ENOUGH not in [phase.stop for phase in other.report]
    assert len(one.report) < len(other.report)
    assert 3 * one.effort < other.effort
    assert "good enough after" in short.explain()
    for each in (short, long):
        check(each, OPERANDS, DENSE[0] * DENSE[1] * DENSE[2] * DENSE[3])


def test_the_unit_of_a_cost_of_ones_own_is_not_known() -> None:
    found = kernel(ENTRY_BY_ENTRY, Options(cost=Nodes()), **OPERANDS).compilation.optimized
    assert Stop.GOOD_ENOUGH not in [phase.stop for phase in found.report]


@pytest.mark.parametrize(("patience", "stop"), [(0.0, Stop.GOOD_ENOUGH), (math.inf, Stop.NODES)])
def test_moves_end_by_what_they_are_worth_or_by_their_budget(
    patience: float, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "FEW_TERM_NODES", 10)
    monkeypatch.setattr(share, "EFFORT", 300)
    found = kernel(ENTRY_BY_ENTRY, Options(patience=patience), **OPERANDS).compilation.optimized
    assert found.report[-1].stop is stop


@pytest.mark.parametrize("patience", [0.0, math.inf])
def test_operands_are_converted_all_at_once_where_that_is_all_there_is_time_for(
    patience: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reformat, "WORTHWHILE", 0.0)
    monkeypatch.setattr(reformat, "CONVERSION", 0.01)
    operands: dict[str, Any] = {name: storel.tensor(OPERANDS[name], "coo") for name in "ABC"}
    tried: list[list[str]] = []
    compiled = scheduling.compile_as_stored

    def noted(task: Task, converted: Mapping[str, storel.Tensor] = NOTHING_CONVERTED) -> Compilation:
        tried.append(sorted(converted))
        return compiled(task, converted)

    monkeypatch.setattr(scheduling, "compile_as_stored", noted)
    made = kernel(CHAIN, Options(patience=patience), **operands)
    check(made, operands, DENSE[0] @ DENSE[1] @ DENSE[2])
    assert tried[:2] == [[], ["A", "B", "C"]]
    assert (len(tried) == 2) == (patience == 0)


def test_few_nodes_are_always_made() -> None:
    limits = Limits(nodes=5_000)
    assert [limits.within(each).nodes for each in (0.0, 2e8, math.inf)] == [FEW_E_NODES, 2_000, 5_000]
    assert Limits(nodes=20).within(0.0).nodes == 20
