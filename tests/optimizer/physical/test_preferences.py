"""Whatever a planner is told to prefer, the result is the same, and stores are of that kind if possible."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.compilation.alternatives import with_schedule
from storel.compilation.schedule import Schedule, digest_of
from storel.execution.run import execute
from storel.optimizer.physical.preferences import Gathering, Preferences, StoreKind
from storel.plan.printer import render
from storel.plan.verify import verify

A: Any = sp.random_array((30, 40), density=0.05, format="csr", rng=np.random.default_rng(1))
B: Any = sp.random_array((40, 50), density=0.05, format="csr", rng=np.random.default_rng(2))
D: Any = sp.random_array((50, 60), density=0.05, format="csr", rng=np.random.default_rng(4))
E: Any = sp.random_array((30, 40), density=0.05, format="csr", rng=np.random.default_rng(5))
F: Any = sp.random_array((4000, 40), density=0.05, format="csr", rng=np.random.default_rng(6))
X = np.random.default_rng(3).random(50)

PRODUCT = "sum(<(i, k), a> in A, <(k, j), b> in B) {(i, j) -> a * b}"
TOTAL = "sum(<(i, k), a> in A, <(k, j), b> in B) a * b"
VECTOR = "sum(<(i, k), a> in A, <(k, j), b> in B, <j, x> in X) {i -> a * b * x}"
ROWS = f"let C = {PRODUCT} in sum(<(i, j), c> in C, <j, x> in X) {{i -> c * c * x}}"
CHAIN = "sum(<(i, k), f> in F, <(k, j), b> in B, <(j, l), d> in D) {(i, l) -> f * b * d}"
MERGED = "let S = A + E in sum(<(i, k), s> in S, <(i, l), a> in A) {(k, l) -> s * a}"
RESULTS: dict[str, Any] = {
    PRODUCT: (A @ B).toarray(),
    TOTAL: (A @ B).sum(),
    VECTOR: A @ (B @ X),
    ROWS: (A @ B).toarray() ** 2 @ X,
    CHAIN: (F @ B @ D).toarray(),
    MERGED: ((A + E).T @ A).toarray(),
}


def preferring(text: str, preferences: Preferences) -> tuple[str, Any]:
    """Return the plan and the result of a program with the preferences."""
    operands = {"A": A, "B": B, "D": D, "E": E, "F": F, "X": X}
    used = {name: value for name, value in operands.items() if re.search(rf"\b{name}\b", text)}
    kernel = storel.compile(f"CREATE TENSOR r AS {text}", **used)
    own = kernel.compilation
    made = with_schedule(own, Schedule(digest_of(own.optimized.term), preferences=preferences))
    assert made is not None
    verify(made.plan, made.symbols)
    return render(made.plan), execute(made, kernel.environment).to_numpy()


@pytest.mark.parametrize("store", ["table", "hash", "list", "rows"])
@pytest.mark.parametrize("text", RESULTS)
def test_results_do_not_depend_on_stores(text: str, store: StoreKind) -> None:
    _, result = preferring(text, Preferences(store=store))
    np.testing.assert_allclose(result, RESULTS[text], atol=1e-12)


@pytest.mark.parametrize(
    ("text", "store", "is_possible"),
    [
        (TOTAL, "table", True),
        (TOTAL, "hash", True),
        (TOTAL, "list", True),
        (TOTAL, "rows", False),
        (ROWS, "list", True),
        (ROWS, "hash", False),
        (CHAIN, "rows", True),
        (CHAIN, "table", True),
        (CHAIN, "hash", True),
    ],
)
def test_stores_are_of_the_kind_that_is_preferred(text: str, store: StoreKind, is_possible: bool) -> None:
    plan, _ = preferring(text, Preferences(store=store))
    assert (f": {store} of float64" in plan) == is_possible


@pytest.mark.parametrize(("gather", "how"), [("bitmap", "by bitmap"), ("list", "by list")])
def test_results_do_not_depend_on_gathering(gather: Gathering, how: str) -> None:
    plan, result = preferring(PRODUCT, Preferences(gather=gather))
    assert how in plan
    np.testing.assert_allclose(result, RESULTS[PRODUCT])
