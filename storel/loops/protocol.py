"""What a kernel and whoever runs it agree on: how much memory it gets, and what its failures mean."""

from __future__ import annotations

from collections.abc import Sequence

from storel.errors import Cause, EvaluationError, MemoryLimitError, StorelError
from storel.functions import ASK_FOR_ZERO
from storel.host.memory import amount
from storel.loops.nodes import Allocation, Buffer, Join, Kernel, Role
from storel.scalars import ScalarType

LENGTHS = Buffer("buffers.lengths", ScalarType.INT64, Role.INDEX)
"""The parameter of ``compute`` that tells it the capacities of buffers, and takes their used lengths."""


def needed_bytes(kernel: Kernel, sizes: Sequence[int]) -> int:
    """Return what all allocations take at their sizes."""
    return sum(sizes[each.slot] * each.buffer.type.itemsize for each in kernel.allocations)


def capacities(kernel: Kernel, sizes: Sequence[int], memory_limit: int | None) -> tuple[int, ...]:
    """Return how many elements each allocation gets: its size, or less if that would exceed the limit.

    Only allocations that say ``overflow`` are given less, all in the same proportion. Raise
    MemoryLimitError if the others do not fit into ``memory_limit`` bytes (None: no limit).
    """
    bounds = tuple(sizes[allocation.slot] for allocation in kernel.allocations)
    if memory_limit is None:
        return bounds
    needs = [
        (bound * allocation.buffer.type.itemsize, allocation)
        for bound, allocation in zip(bounds, kernel.allocations, strict=True)
    ]
    fixed = [(need, allocation) for need, allocation in needs if allocation.overflow is None]
    elastic = sum(need for need, allocation in needs if allocation.overflow is not None)
    room = memory_limit - sum(need for need, _ in fixed)
    if room < 0:
        raise _too_large(
            *max(fixed, key=lambda entry: entry[0]), sum(need for need, _ in fixed), memory_limit
        )
    if elastic <= room:
        return bounds
    return tuple(
        bound if allocation.overflow is None else bound * room // elastic
        for bound, allocation in zip(bounds, kernel.allocations, strict=True)
    )


def failure(kernel: Kernel, code: int, detail: int) -> StorelError:
    """Return the error that ``Fail`` with this code and detail stands for."""
    failed = kernel.failures[code]
    message = failed.message.replace("{}", str(detail))
    if failed.cause is Cause.CAPACITY:
        return MemoryLimitError(message, hint="raise the memory limit, or ask for a smaller result")
    hint = ASK_FOR_ZERO if failed.cause is Cause.DIVISION else None
    error = EvaluationError(message, hint=hint)
    error.cause, error.subject = failed.cause, failed.subject
    return error


def length_count(kernel: Kernel) -> int:
    """Return how many elements the buffer ``lengths`` of ``compute`` has."""
    return 1 + max((a.used for a in kernel.allocations if a.used is not None), default=-1)


def _too_large(need: int, allocation: Allocation, total: int, memory_limit: int) -> MemoryLimitError:
    kind = "the result" if allocation.is_output else "a temporary"
    return MemoryLimitError(
        "the program needs more memory than the limit allows",
        expected=f"at most {amount(memory_limit)}",
        found=f"{amount(total)}, of which {amount(need)} for {kind} {allocation.buffer.name}",
        hint=f"raise the memory limit, or {_remedy(allocation)}",
    )


def _remedy(allocation: Allocation) -> str:
    """Return what makes an allocation smaller."""
    if allocation.join in (Join.ADDED, Join.SHIFTED):  # too many are the positions of rows
        return "store the result in a format that keeps nothing for rows without entries"
    if allocation.is_output:
        return "store the result in a sparse format"
    return "have what the result is made of stored first, in a sparse format (STORED AS)"
