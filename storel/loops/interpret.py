"""The definition of the loop IR's meaning, and the count of its work.

A procedure becomes the text of one Python function (``python_source``), which runs on memoryviews of
the arrays: every access is checked, and what is illegal is a Python exception, not a StorelError.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np

from storel.arrays import Array
from storel.loops import python_source
from storel.loops.nodes import Allocation, Kernel, Procedure
from storel.loops.protocol import capacities, failure, length_count
from storel.semiring import Scalar

PAINTED = 2**20
"""Elements up to which a buffer that may hold anything is filled: what is reserved is not touched beyond."""


@dataclass(frozen=True, slots=True)
class Work:
    """How much a run did, independent of the machine."""

    iterations: int = 0
    multiplications: int = 0
    additions: int = 0
    index_operations: int = 0
    lookups: int = 0
    reads: int = 0
    writes: int = 0
    workspace: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def run(
    kernel: Kernel,
    scalars: Mapping[str, Scalar],
    inputs: Mapping[str, Array],
    memory_limit: int | None = None,
) -> tuple[dict[str, Array], Work]:
    """Return the kernel's outputs by buffer name, cut to their used length, and the work done.

    Raise EvaluationError where the kernel fails, MemoryLimitError where its buffers exceed the limit.
    Clearing a temporary counts as work of the workspace.
    """
    arrays = [inputs[buffer.name] for buffer in kernel.inputs]
    sizes = np.zeros(len(kernel.allocations), np.int64)
    work = _call(kernel, kernel.bound, scalars, [*arrays, sizes])
    counts = capacities(kernel, sizes.tolist(), memory_limit)
    allocated = [
        _allocate(allocation, count) for allocation, count in zip(kernel.allocations, counts, strict=True)
    ]
    lengths = np.zeros(length_count(kernel), np.int64)
    outputs: dict[str, Array] = {}
    for allocation, array in zip(kernel.allocations, allocated, strict=True):
        if allocation.used is not None:
            lengths[allocation.used] = len(array)
        if not allocation.is_output and allocation.fill is not None:
            work += Work(workspace=len(array))
    work += _call(kernel, kernel.compute, scalars, [*arrays, *allocated, lengths])
    for allocation, array in zip(kernel.allocations, allocated, strict=True):
        if allocation.is_output:
            used = len(array) if allocation.used is None else int(lengths[allocation.used])
            outputs[allocation.buffer.name] = array[:used]
    return outputs, work


def _allocate(allocation: Allocation, count: int) -> Array:
    """Return a buffer; what may hold anything holds what shows where it is read before it is written."""
    scalar_type = allocation.buffer.type
    if allocation.fill is not None:
        return np.full(count, allocation.fill, scalar_type.dtype)
    array = np.empty(count, scalar_type.dtype)
    array[:PAINTED] = math.nan if scalar_type.is_real else scalar_type.last
    return array


def _call(kernel: Kernel, procedure: Procedure, scalars: Mapping[str, Scalar], arrays: list[Array]) -> Work:
    function, blocks = python_source.function(procedure)
    views = [array.data for array in arrays]
    try:
        executions, sorting_steps = function(*(scalars[local.name] for local in procedure.scalars), *views)
    except python_source.Failure as failed:
        raise failure(kernel, failed.code, failed.detail) from None
    total = Counter({"workspace": sorting_steps})
    for times, counts in zip(executions, blocks, strict=True):
        for name, count in counts.items():
            total[name] += times * count
    return Work(**total)
