"""How long something takes: the fastest of several runs, fewer of what is too slow to be chosen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from storel.storage.tensor import Tensor

RUNS = 5
ENOUGH = 0.05
"""Seconds after which so many runs are enough; shorter ones are repeated, since they vary more."""

PATIENCE = 1.0
"""Seconds after which nothing is run again."""

HOPELESS = 2.0
"""How often the fastest time so far a run may take before it is no longer repeated."""

NOTICED = 1e-3
"""Seconds of runs before which nothing is given up: the first ones fill the caches."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The nanoseconds of the fastest run, and the result."""

    nanoseconds: float
    result: Tensor


def fastest(run: Callable[[], Tensor], rival: float) -> Measured:
    """Run something until its time is known, or is known to be much more than that of its ``rival``."""
    start = time.perf_counter()
    result = run()
    seconds = [time.perf_counter() - start]
    while not _is_settled(seconds, rival / 1e9):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return Measured(1e9 * min(seconds), result)


def _is_settled(seconds: list[float], rival: float) -> bool:
    spent = sum(seconds)
    is_hopeless = spent >= NOTICED and min(seconds) > HOPELESS * rival
    return is_hopeless or spent >= PATIENCE or (len(seconds) >= RUNS and spent >= ENOUGH)
