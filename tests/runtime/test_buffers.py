from __future__ import annotations

import gc
import mmap
from typing import Any

import numpy as np
import pytest

from storel.errors import MemoryLimitError
from storel.host import memory
from storel.loops.nodes import Allocation, Buffer
from storel.runtime import buffers, mappings
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


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("fill", [0.0, -1.5])
def test_memory_used_again_is_filled_by_several_threads(fill: float, threads: int) -> None:
    buffers.allocate(Allocation(VALUES, 0), LARGE).fill(7)
    array = buffers.allocate(Allocation(VALUES, 0, fill), LARGE - 1, threads)
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


def test_memory_that_nobody_uses_is_used_again() -> None:
    array = buffers.allocate(Allocation(VALUES, 0), LARGE)
    array.fill(3)
    where = buffers.address(array)
    view = array[7:9]
    del array
    other = buffers.allocate(Allocation(VALUES, 0), LARGE)
    assert buffers.address(other) != where, "a part of it is still in use"
    del view
    again = buffers.allocate(Allocation(VALUES, 0, 0.0), LARGE - 1)
    assert buffers.address(again) == where
    assert not again.any()


def test_no_more_is_kept_than_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    mappings.kept.clear()
    monkeypatch.setattr(memory, "available", lambda: mappings.SHARE * 20_000_000)
    arrays = [buffers.allocate(Allocation(VALUES, 0), LARGE) for _ in range(4)]
    last = buffers.address(arrays[-1])
    while arrays:
        del arrays[0]
    assert sum(map(len, mappings.kept)) == 16 * LARGE
    assert buffers.address(buffers.allocate(Allocation(VALUES, 0), LARGE)) == last


def test_what_is_kept_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system has no room for a piece it has some once the kept ones are let go."""
    mappings.kept.clear()
    buffers.allocate(Allocation(VALUES, 0), LARGE)
    made = mmap.mmap

    def without_room(*arguments: Any, **options: Any) -> mmap.mmap:
        if mappings.kept:
            raise OSError("no room")
        return made(*arguments, **options)

    assert mappings.kept
    monkeypatch.setattr(mmap, "mmap", without_room)
    array = buffers.allocate(Allocation(VALUES, 0), 10 * LARGE)
    assert not mappings.kept and len(array) == 10 * LARGE
