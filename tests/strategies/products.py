"""What tests of dense products ask of kernels and results."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

import storel
from storel.plan.contraction import Contraction


def products(kernel: storel.Kernel) -> list[Contraction]:
    return [phase.contraction for phase in kernel.compilation.phases if phase.contraction is not None]


def dense(result: storel.Tensor | dict[str, storel.Tensor]) -> NDArray[Any]:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()
