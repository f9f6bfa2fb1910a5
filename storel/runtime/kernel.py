"""Source text to a callable kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.loops.nodes import Kernel
from storel.semiring import Scalar

Array: TypeAlias = NDArray[Any]
Backend: TypeAlias = Literal["c", "numba"]


class CompiledKernel:
    """A loaded kernel."""

    def __call__(
        self,
        scalars: Mapping[str, Scalar],
        inputs: Mapping[str, Array],
        memory_limit: int | None = None,
    ) -> dict[str, Array]:
        """Return the outputs by buffer name, trimmed to their used length."""
        ...


def load(source: str, kernel: Kernel, backend: Backend) -> CompiledKernel:
    """Compile ``source`` (or take it from the cache) and load it."""
    ...
