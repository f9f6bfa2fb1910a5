from __future__ import annotations

import gc

import numpy as np
import pytest

from storel.errors import MemoryLimitError
from storel.loops.nodes import Allocation, Buffer
from storel.runtime import buffers
from storel.scalars import ScalarType

VALUES = Buffer("values", ScalarType.FLOAT64)
LARGE = 1 << 20


@pytest.mark.parametrize("count", [0, 5, LARGE])
@pytest.mark.parametrize("fill", [None, 0.0, 1.5])
def test_buffers_are_filled(count: int, fill: float | None) -> None:
    array = buffers.allocate(Allocation(VALUES, 0, fill), count)
    assert (array.dtype, array.shape, array.flags.writeable) == (np.float64, (count,), True)
    if fill is not None:
        assert np.all(array == fill)


def test_a_bound_is_only_address_space() -> None:
    array = buffers.allocate(Allocation(VALUES, 0), 1 << 37)  # 1 TiB
    array[:3] = 7
    view = buffers.trim(array, LARGE)
    del array
    gc.collect()
    assert view[:4].tolist() == [7, 7, 7, 0]
    assert buffers.trim(view, 3).base is None, "a small part is copied, so that the rest is given back"


def test_what_no_machine_has() -> None:
    with pytest.raises(MemoryLimitError, match="not enough memory") as caught:
        buffers.allocate(Allocation(VALUES, 0), 1 << 60)
    assert "values" in str(caught.value)
