"""Memory for the kernels' outputs and temporaries.

Large buffers are mappings (`runtime/mappings.py`): an output's bound is only reserved address space, of
which pages that are never touched cost nothing.
"""

from __future__ import annotations

import ctypes
import os
from functools import partial

import numpy as np

from storel.arrays import Array
from storel.errors import MemoryLimitError
from storel.host.memory import amount
from storel.loops.nodes import Allocation
from storel.runtime import mappings, pool

_LARGE = 1 << 22
_SMALL_COPY = 1 << 16


def allocate(allocation: Allocation, count: int, threads: int = 1) -> Array:
    """Return an array of ``count`` elements, filled as the allocation asks; a large one by several threads.

    Raise MemoryLimitError if the system has no room for it.
    """
    dtype = allocation.buffer.type.dtype
    fill = allocation.fill
    try:
        if count * dtype.itemsize >= _LARGE and os.name == "posix" and os.uname().sysname == "Linux":
            taken, is_zero = mappings.take(count * dtype.itemsize)
            array = taken.view(dtype)
            if fill is not None and not (is_zero and fill == 0):
                pool.run_all([partial(part.fill, fill) for part in np.array_split(array, threads)])
            return array
        if fill is None:
            return np.empty(count, dtype)
        return np.full(count, fill, dtype) if fill else np.zeros(count, dtype)
    except (MemoryError, OSError, OverflowError, ValueError) as error:
        raise MemoryLimitError(
            "the system has not enough memory",
            found=f"{amount(count * dtype.itemsize)} for {allocation.buffer.name}",
            hint="store the result in a sparse format, or ask for a smaller one",
        ) from error


def address(array: Array) -> int:
    """Return where an array lies; NumPy's own way to ask takes several times as long."""
    if array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return array.ctypes.data


def trim(array: Array, used: int) -> Array:
    """Return the first ``used`` elements: a view, or a copy where that is cheap and frees much."""
    if used == len(array):
        return array
    view = array[:used]
    return view.copy() if view.nbytes <= _SMALL_COPY else view
