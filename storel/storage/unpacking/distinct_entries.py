"""Whether a mapping of given arrays, not packed by storel, makes no entry twice: found by making all entries.

An entry is a key with a value that is not zero, so that places of padding are none:

    idx: 0 2  1 1  3 -1        val: 1 2  3 0  4 9         each key is made once
    idx: 0 2  1 1  3 -1        val: 1 2  3 5  4 9         (1, 1) is made twice

That arrays hold each value for one iteration only (``distinct.py``) does not tell: two may have one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError, MemoryLimitError
from storel.semiring import SEMIRINGS
from storel.storage.coordinates import combine, index_dtype
from storel.storage.formats.chain import Chain, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.unpack import list_entries, slices

MOST = 2**24
"""Iterations beyond which a mapping is not gone through: they take about half a second."""


def entries_are_distinct(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> bool:
    """Return whether it is found that no two iterations make an entry of the same keys.

    It is not where there are more than ``MOST`` iterations, or one reads outside of an array.
    """
    shape = tuple(sizes[name] for name in storage.extents)
    try:
        if not has_at_most(MOST, storage, arrays, sizes):
            return False
        keys, values = list_entries(storage, arrays, sizes, semiring, index_dtype(shape))
        return len(combine(keys, values, shape, SEMIRINGS[semiring])[1]) == len(values)
    except (FormatError, MemoryLimitError):
        return False


def has_at_most(most: int, storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> bool:
    """Return whether a mapping has at most so many iterations; no loop that has more is entered."""
    left = most
    for chain in storage.chains:
        for part in slices((chain,), arrays, sizes):
            count = 1
            for depth, step in enumerate(part.steps):
                if isinstance(step, ChainLoop):
                    count = _entered(replace(part, steps=part.steps[:depth]), step, arrays, sizes)
                if count > left:
                    return False
            left -= count
    return True


def _entered(around: Chain, loop: ChainLoop, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> int:
    """Return how many iterations a loop has in all those of the loops around it."""
    outer = Iterations.of(around, arrays, sizes)
    lengths = np.maximum(np.asarray(outer.value(loop.high)) - outer.value(loop.low), 0)
    return int(np.broadcast_to(lengths, outer.shape).sum())
