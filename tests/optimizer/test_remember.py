"""Plans are remembered: the same ones, without an e-graph, and only where everything is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel import cache
from storel.optimizer import remember, rulefile
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import DEFAULT, Optimized, Options
from storel.optimizer.rulefile import RuleSet

PROGRAM = """
import sys, numpy, scipy.sparse, storel
matrix = scipy.sparse.random(30, 20, 0.2, format="csr", random_state=1)
kernel = storel.compile("CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) {i -> a * v}",
                        A=matrix, x=numpy.ones(20))
kernel(A=matrix, x=numpy.ones(20))
print(kernel.plan)
print("egglog.bindings" in sys.modules)
"""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list that the names of remembered plans are added to."""
    seen: list[str] = []
    kept = cache.kept

    def noted(name: str, build: Callable[[], object], is_worth_it: Callable[[Any], bool]) -> object:
        seen.append(name)
        return kept(name, build, is_worth_it)

    monkeypatch.setattr(cache, "kept", noted)
    return seen


def searched(matrix: sp.csr_array, rules: RuleSet | None = None, options: Options = DEFAULT) -> Optimized:
    kernel = storel.compile("CREATE TENSOR s AS sum(<(i, j), a> in A) a * a", A=storel.tensor(matrix))
    compilation = kernel.compilation
    return remember.optimized(compilation.term, compilation.symbols, rules, options)


def matrix(entries: int) -> sp.csr_array:
    dense = np.zeros((6, 5))
    dense.flat[:entries] = 1
    return sp.csr_array(dense)


def test_the_second_process_needs_no_e_graph(tmp_path: Path) -> None:
    environment = {**os.environ, "STOREL_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    plan, _, was_loaded = first.rstrip().rpartition("\n")
    again, _, is_loaded = second.rstrip().rpartition("\n")
    assert plan == again
    assert (was_loaded, is_loaded) == ("True", "False")


def test_what_is_remembered_is_what_was_found() -> None:
    first, second = searched(matrix(7)), searched(matrix(7))
    assert first == second
    assert [each.term for each in first.considered] == [each.term for each in second.considered]


def test_data_rules_and_options_each_make_another_plan(names: list[str]) -> None:
    rules = rulefile.shipped()
    searched(matrix(7))
    searched(matrix(8))
    searched(matrix(7), rules=rules.without("multiply-commute"))
    searched(matrix(7), options=Options(binders="debruijn"))
    plans = [name for name in names if name.startswith("plan-")]
    assert len(set(plans)) == 4


def test_a_search_that_ran_out_of_time_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path))
    hurried = Options(normalize=Limits(seconds=0.0), main=Limits(seconds=0.0))
    kernel = storel.compile("CREATE TENSOR s AS sum(<i, a> in x) a * a", x=np.ones(3))
    before = set(tmp_path.glob("plan-*"))
    remember.optimized(kernel.compilation.term, kernel.compilation.symbols, options=hurried)
    assert set(tmp_path.glob("plan-*")) == before
