from __future__ import annotations

import gc

import numpy as np
import pytest

from storel.errors import MemoryLimitError
from storel.loops.nodes import Allocation, Buffer, Kernel, Procedure
from storel.loops.protocol import capacities
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


def test_available_memory() -> None:
    assert 1 << 20 < buffers.available() < 1 << 50


def test_capacities_share_what_the_limit_leaves() -> None:
    workspace = Buffer("workspace", ScalarType.INT32)
    allocations = (
        Allocation(VALUES, 1, is_output=True, used=0, overflow=0),
        Allocation(workspace, 0),
        Allocation(Buffer("idx", ScalarType.INT64), 2, is_output=True, used=1, overflow=0),
    )
    nothing = Procedure("nothing", (), (), ())
    kernel = Kernel(nothing, nothing, allocations, ("full at {}",))
    assert capacities(kernel, [10, 100, 100], None) == (100, 10, 100)
    assert capacities(kernel, [10, 100, 100], 1640) == (100, 10, 100)
    assert capacities(kernel, [10, 100, 100], 840) == (50, 10, 50)
    with pytest.raises(MemoryLimitError, match="more memory") as caught:
        capacities(kernel, [10, 100, 100], 39)
    assert "a temporary workspace" in str(caught.value)
