"""All kernels by name, and the tasks that a choice of kernels and data amounts to."""

from __future__ import annotations

from collections.abc import Sequence

from storel.bench.arrays import DENSE_KERNELS, contraction
from storel.bench.data import DENSE, Data, check
from storel.bench.matrices import MATRIX_KERNELS
from storel.bench.problem import Problem
from storel.bench.task import Task
from storel.bench.tensors import TENSOR_KERNELS
from storel.errors import UnknownNameError, nearest

KERNELS = (*MATRIX_KERNELS, *TENSOR_KERNELS, *DENSE_KERNELS)
"""The names of all kernels."""

TENSOR_DATA = ("uniform", "power-law")
"""The distributions that tensors of rank 3 are drawn from."""


def problem_of(task: Task) -> Problem:
    """Return what a task is about, with its data."""
    if task.mebibytes is not None:
        return contraction(task.kernel, task.mebibytes)
    kernels = {**MATRIX_KERNELS, **TENSOR_KERNELS, **DENSE_KERNELS}
    return kernels[task.kernel](task.data)


def data_for(kernel: str, names: Sequence[str]) -> list[str]:
    """Return the data that suits a kernel; a kernel of dense operands alone runs once, whatever the data.

    Raises UnknownNameError for what is no kernel, or no data.

    >>> data_for("ttv", ["uniform", "banded"]), data_for("product", ["uniform", "banded"])
    (['uniform'], ['dense'])
    """
    for name in names:
        check(name)
    if kernel in DENSE_KERNELS:
        return [DENSE]
    if kernel in MATRIX_KERNELS:
        return [name for name in names if Data(name, 0, 0).rank in (None, 2)]
    if kernel in TENSOR_KERNELS:
        return [name for name in names if name in TENSOR_DATA or Data(name, 0, 0).rank == 3]
    raise UnknownNameError(
        f"there is no kernel '{kernel}'", expected=", ".join(KERNELS), hint=nearest(kernel, KERNELS)
    )
