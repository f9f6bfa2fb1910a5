"""What is hopeless is not repeated, what is short is repeated often."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import storel
from storel.tuning import measure


@pytest.mark.parametrize(
    ("seconds", "rival", "runs"),
    [
        (0.02, math.inf, 5),
        (0.02, 0.02, 5),
        (0.02, 0.009, 1),
        (0.02, 0.011, 5),
        (0.001, math.inf, 50),
        (0.0004, 0.0001, 3),
        (0.3, math.inf, 4),
        (2.0, math.inf, 1),
    ],
)
def test_how_often_something_is_run(
    seconds: float, rival: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = storel.tensor(np.ones(2))
    ticks = itertools.count()

    def clock() -> float:
        return (next(ticks) + 1) // 2 * seconds

    monkeypatch.setattr(measure.time, "perf_counter", clock)
    count = itertools.count(1)
    calls: list[int] = []

    def run() -> storel.Tensor:
        calls.append(next(count))
        return result

    found = measure.fastest(run, rival * 1e9)
    assert len(calls) == runs
    assert found.nanoseconds == pytest.approx(seconds * 1e9)
    assert found.result is result
