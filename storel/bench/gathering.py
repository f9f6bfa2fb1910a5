"""Scattered reads as fast as the machine does them: rows of tables, at indices that are known beforehand.

Each is added to a sum, so that nothing is written; longer rows are asked for early, as no processor foresees
them. Without a C compiler NumPy's ``take`` reads them into a buffer, by one thread.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from functools import cache

import numpy as np

from storel.bench.problem import Gather
from storel.runtime import toolchain, workers
from storel.runtime.library import Entry, load_entries

PIECE = 2**12
"""Numbers that NumPy reads into a buffer at a time, small enough to stay in the nearest cache."""

_SOURCE = """\
#include <stdint.h>

#define LANES 8
#define EARLY 16

/* Slots: addresses of a table, of indices of its rows and of a sum; a row's width; which of the indices. */
int64_t storel_gather(const int64_t *slots, int64_t *detail)
{
    const double *table = (const double *)slots[0];
    const int32_t *indices = (const int32_t *)slots[1];
    const int64_t width = slots[3], high = slots[5];
    double sums[LANES] = {0};
    int64_t p = slots[4];
    if (width == 1)
        for (; p + LANES <= high; p += LANES)
            for (int lane = 0; lane < LANES; ++lane)
                sums[lane] += table[indices[p + lane]];
    for (; p < high; ++p) {
        const double *row = table + width * indices[p];
        const double *later = table + width * indices[p + EARLY < high ? p + EARLY : p];
        int64_t place = 0;
        for (; place + LANES <= width; place += LANES) {
            __builtin_prefetch(later + place);
            for (int lane = 0; lane < LANES; ++lane)
                sums[lane] += row[place + lane];
        }
        for (; place < width; ++place)
            sums[0] += row[place];
    }
    for (int lane = 0; lane < LANES; ++lane)
        *(double *)slots[2] += sums[lane];
    return 0;
}
"""


def reading(gathers: tuple[Gather, ...], threads: int) -> Callable[[], object]:
    """Return what reads all rows that are asked for, with so many threads."""
    runs = [_taking(each) if toolchain.find() is None else _adding(each, threads) for each in gathers]

    def run() -> None:
        for each in runs:
            each()

    return run


def _adding(gather: Gather, threads: int) -> Callable[[], object]:
    table = np.ones((gather.rows, gather.width))
    indices = gather.indices.astype(np.int32)
    sums = np.zeros((threads, PIECE))  # far apart, since threads write to them
    ends = np.linspace(0, len(indices), threads + 1).astype(int).tolist()
    entry = _kernel()

    def run() -> None:
        addresses = table.ctypes.data, indices.ctypes.data
        slots = [
            struct.pack("=QQQqqq", *addresses, row.ctypes.data, gather.width, low, high)
            for row, (low, high) in zip(sums, itertools.pairwise(ends), strict=True)
        ]
        workers.call_all(entry, slots)

    return run


def _taking(gather: Gather) -> Callable[[], object]:
    table = np.ones((gather.rows, gather.width))
    indices = gather.indices.astype(np.intp)
    buffer = np.empty((max(1, PIECE // gather.width), gather.width))

    def run() -> None:
        for start in range(0, len(indices), len(buffer)):
            piece = indices[start : start + len(buffer)]
            table.take(piece, axis=0, out=buffer[: len(piece)], mode="clip")

    return run


@cache
def _kernel() -> Entry:
    return load_entries(_SOURCE, ["gather"], "c")[0]
