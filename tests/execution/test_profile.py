"""What a run is measured to do, at the API of one compilation and through a script."""

from __future__ import annotations

import pytest
from strategies.explained import PROGRAMS, large, measured, program

import storel
from storel.compilation.compiler import Options
from storel.compilation.environment import Environment
from storel.errors import MemoryLimitError
from storel.execution.profile import INTERPRETED, profile
from storel.execution.script import Outcome, Runner
from storel.source import Source


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_figures_are_possible(name: str) -> None:
    this = program(name)
    found = measured(this)
    assert found.seconds > 0 and 1 <= found.runs <= 5
    assert found.operand_bytes == sum(
        this.environment.physical_arrays()[buffer.name].nbytes for buffer in this.compilation.kernel.inputs
    )
    assert found.result_bytes > 0
    assert found.peak_bytes is None or found.peak_bytes >= 0


def test_counts_of_a_large_run() -> None:
    this = large()
    assert this.compilation.optimized.cost.nanoseconds > INTERPRETED
    left, right = this.environment.tensors["A"].to_scipy(), this.environment.tensors["B"].to_scipy()
    products = int((abs(left).sign() @ abs(right).sign()).sum())
    counts = measured(this).counts
    assert counts == (left.shape[0], left.shape[0], left.nnz, products, products, products)


def test_the_memory_limit_holds() -> None:
    this = large()
    with pytest.raises(MemoryLimitError):
        profile(this.compilation, this.environment, 1000)


def outcome(text: str, *, analyzes: bool = False, backend: str = "auto") -> Outcome:
    environment = Environment()
    environment.add_tensor("A", storel.tensor({(0, 1): 2.0, (2, 0): 1.0}, shape=(3, 3)))
    options = Options(backend="interpret" if backend == "interpret" else "auto")
    return Runner(environment, options, analyzes=analyzes).run(Source("test", text))


TWO = "CREATE TENSOR s STORED AS csr AS A\nCREATE TENSOR r AS sum(<(i, j), a> in s) { i -> a }\n"


@pytest.mark.parametrize("backend", ["auto", "interpret"])
def test_a_script_says_what_is_analyzed(backend: str) -> None:
    assert outcome(TWO, backend=backend).profiles.keys() == set()
    assert outcome(TWO + "EXPLAIN r", backend=backend).profiles.keys() == set()
    assert outcome(TWO + "EXPLAIN ANALYZE r", backend=backend).profiles.keys() == {"r"}


def test_all_is_analyzed_on_request() -> None:
    found = outcome(TWO, analyzes=True)
    assert found.profiles.keys() == found.compilations.keys() == {"s", "r"}
    assert found.results["r"].nnz == 3 or found.results["r"].shape == (3,)
    assert "analyze" in found.seconds
