"""The definition of the loop IR's meaning, in plain Python, with every access checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storel.loops.nodes import Kernel
from storel.semiring import Scalar

Array = NDArray[Any]


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


def run(
    kernel: Kernel,
    scalars: Mapping[str, Scalar],
    inputs: Mapping[str, Array],
    memory_limit: int | None = None,
) -> tuple[dict[str, Array], Work]:
    """Run the kernel; return its outputs by buffer name, and the work done."""
    ...
