"""The limits of the machine, measured beside the kernels: memory read in order, at random, and arithmetic.

A kernel takes at least as long as moving its operands and result through memory once, as its compulsory
scattered reads, and as its compulsory operations in registers (arithmetic.py). Each probe works on as much
memory as the kernel does, so that caches help it as they help the kernel. Memory is read by NumPy's ``dot``
and ``take``; the last also writes what it reads, so that a kernel that only reads may be somewhat below that
limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from storel.bench.arithmetic import peak
from storel.bench.problem import Gather

MOST = 2**28
"""The bytes that are read at most; what a kernel needs beyond is extrapolated."""

PIECE = 2**12
"""Scattered numbers that are read into a buffer at a time, small enough to stay in the nearest cache."""


class Probe:
    """A limit: something to run, and how often it must be repeated to be as much as the kernel does."""

    def __init__(self, run: Callable[[], object], share: float) -> None:
        self.run = run
        self.share = share


def probes(moved: int, flops: int, gathers: tuple[Gather, ...], threads: int = 1) -> dict[str, Probe]:
    """Return the probes for a kernel that moves so many bytes and does so many operations."""
    run, done = peak(threads)
    found = {"stream": _stream(moved), "flops": Probe(run, flops / done)}
    return found | ({"gather": _gather(gathers)} if gathers else {})


def _stream(moved: int) -> Probe:
    table = np.ones(max(8, min(moved, MOST)) // 8)
    return Probe(lambda: table @ table, moved / table.nbytes)


def _gather(gathers: tuple[Gather, ...]) -> Probe:
    """Read every row that is asked for into a buffer that stays in the cache."""
    tables = [np.ones((gather.rows, gather.width)) for gather in gathers]
    indices = [gather.indices.astype(np.intp) for gather in gathers]
    buffers = [np.empty((max(1, PIECE // gather.width), gather.width)) for gather in gathers]

    def run() -> None:
        for table, rows, buffer in zip(tables, indices, buffers, strict=True):
            step = len(buffer)
            for start in range(0, len(rows), step):
                piece = rows[start : start + step]
                table.take(piece, axis=0, out=buffer[: len(piece)], mode="clip")

    return Probe(run, 1.0)
