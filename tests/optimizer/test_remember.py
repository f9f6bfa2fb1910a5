"""Plans are remembered: the same ones, without an e-graph, and only where everything is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.calculus.nodes import Term
from storel.host import cache
from storel.optimizer import remember
from storel.optimizer.cost.constants import CONSTANTS
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.egraph.saturate import alternate
from storel.optimizer.limits import Limits
from storel.optimizer.outcome import DEFAULT, Optimized, Options
from storel.optimizer.rules import rulefile
from storel.optimizer.rules.rulefile import RuleSet
from storel.symbols import Symbols

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


def asked(matrix: sp.csr_array) -> tuple[Term, Symbols]:
    kernel = storel.compile("CREATE TENSOR s AS sum(<(i, j), a> in A) a * a", A=storel.tensor(matrix))
    return kernel.compilation.term, kernel.compilation.symbols


def searched(matrix: sp.csr_array, rules: RuleSet | None = None, options: Options = DEFAULT) -> Optimized:
    return remember.optimized(*asked(matrix), rules, options)


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
    rules = rulefile.shipped().without("multiply-commute")
    plans: list[str] = []

    def search(matrix: sp.csr_array, rules: RuleSet | None = None, options: Options = DEFAULT) -> None:
        searched(matrix, rules, options)
        plans.append(names[-1])

    search(matrix(7))
    search(matrix(8))
    search(matrix(7), rules)
    slower = Nanoseconds(replace(CONSTANTS, write=2.0))
    for options in (Options(binders="debruijn"), Options(memory=1e6), Options(cost=slower)):
        search(matrix(7), options=options)
    assert len(set(plans)) == len(plans) == 6


def test_a_search_by_parts_of_a_user_is_not_remembered(names: list[str]) -> None:
    term, symbols = asked(matrix(7))
    before = len(names)
    remember.optimized(term, symbols, None, Options(schedule=alternate))
    assert len(names) == before


def test_a_search_that_ran_out_of_time_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path))
    hurried = Options(normalize=Limits(seconds=0.0), main=Limits(seconds=0.0))
    kernel = storel.compile("CREATE TENSOR s AS sum(<i, a> in x) a * exp(a)", x=np.ones(3))
    before = set(tmp_path.glob("plan-*"))
    remember.optimized(kernel.compilation.term, kernel.compilation.symbols, options=hurried)
    assert set(tmp_path.glob("plan-*")) == before


def test_a_plan_is_searched_for_again_by_other_code() -> None:
    searching = ("storel.optimizer.", "storel.calculus.", "storel.symbols", "storel.degrees")
    run = {module.__file__ for name, module in sys.modules.items() if name.startswith(searching)}
    assert len(run) > 50 and run <= set(remember.sources())
