"""What several results have in common is computed once where that saves much, and each time where not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.compilation import inlining
from storel.compilation.compiler import Options
from storel.compilation.environment import Environment
from storel.execution.script import Outcome, Runner
from storel.source import Source

RANDOM = np.random.default_rng(3)
A, B = RANDOM.random((30, 20)), RANDOM.random((20, 30))
A[A < 0.7] = 0
SCRIPT = """
    CREATE TENSOR most AS max(<i, v> in
      (sum(<(i, k), a> in A, <(k, j), b> in B) { i -> max(0.2, a * b) })) v
    CREATE TENSOR mean AS
      (sum(<r, v> in (sum(<(r, k), b> in A, <(k, j), c> in B) { r -> max(0.2, b * c) })) v) / 30
    SAVE most TO 'most.npy'
    SAVE mean TO 'mean.npy'
"""


def run(**options: Any) -> Outcome:
    environment = Environment()
    environment.add_tensor("A", storel.tensor(A, "csr"))
    environment.add_tensor("B", storel.tensor(B, "dense"))
    return Runner(environment, Options(**options), directory=Path()).run(Source("script", SCRIPT))


def values(outcome: Outcome) -> list[float]:
    return [float(outcome.results[name].to_numpy()) for name in ("most", "mean")]


@pytest.fixture
def expected() -> list[float]:
    rows = np.where(A[:, :, None] * B > 0, np.maximum(0.2, A[:, :, None] * B), 0).sum((1, 2))
    return [rows.max(), rows.mean()]


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("at_stake", [0.0, 1e12])
def test_value(backend: str, at_stake: float, expected: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "AT_STAKE", at_stake)
    np.testing.assert_allclose(values(run(backend=backend)), expected)


def test_it_is_computed_once_where_that_saves_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "AT_STAKE", 0.0)
    found = run()
    assert list(found.compilations) == ["common_1", "most", "mean"]
    assert set(found.results) == {"most", "mean"}
    assert "common_1" in repr(found.compilations["mean"].definition.expression)


def test_it_is_computed_each_time_where_that_saves_little() -> None:
    assert list(run().compilations) == ["most", "mean"]


def test_what_may_fail_is_only_computed_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A division by zero that both results ask not to be made is not made for both beforehand."""
    monkeypatch.setattr(inlining, "AT_STAKE", -1e12)
    script = """
        PARAMETER p: int = 0
        CREATE TENSOR one AS if (p > 0) then (sum(<i, _> in 0:9) { i -> i // p })(3)
        CREATE TENSOR other AS if (p > 0) then (sum(<k, _> in 0:9) { k -> k // p })(4)
        SAVE one TO 'one.npy'
        SAVE other TO 'other.npy'
    """
    for divisor, expected in ((0, [0, 0]), (2, [1, 2])):
        found = storel.run(script, p=divisor)
        assert isinstance(found, dict)
        assert [each.item() for each in found.values()] == expected
