"""The limits of the machine, measured beside the kernels: memory read in order, at random, and arithmetic.

A kernel takes at least as long as moving its operands and result through memory once, which NumPy's ``dot``
does, as its compulsory scattered reads (gathering.py), and as its compulsory operations in registers
(arithmetic.py). Each probe works on as much memory as the kernel does, so that caches help it as they help
the kernel, and has as many threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from storel.bench.arithmetic import peak
from storel.bench.gathering import reading
from storel.bench.problem import Gather

MOST = 2**28
"""The bytes that are read at most; what a kernel needs beyond is extrapolated."""


class Probe:
    """A limit: something to run, and how often it must be repeated to be as much as the kernel does."""

    def __init__(self, run: Callable[[], object], share: float) -> None:
        self.run = run
        self.share = share


def probes(moved: int, flops: int, gathers: tuple[Gather, ...], threads: int = 1) -> dict[str, Probe]:
    """Return the probes for a kernel that moves so many bytes and does so many operations."""
    run, done = peak(threads)
    found = {"stream": _stream(moved), "flops": Probe(run, flops / done)}
    return found | ({"gather": Probe(reading(gathers, threads), 1.0)} if gathers else {})


def _stream(moved: int) -> Probe:
    table = np.ones(max(8, min(moved, MOST)) // 8)
    return Probe(lambda: table @ table, moved / table.nbytes)
