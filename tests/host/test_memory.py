from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.errors import MemoryLimitError
from storel.host import memory


def test_some_memory_is_available() -> None:
    assert 1 << 20 < memory.available() < 1 << 50


def test_what_does_not_fit_is_refused() -> None:
    memory.require_memory(1 << 20, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError, match=r"a table would need 2\.1 MB\n  expected: at most 1\.0 MB"):
        memory.require_memory(1 << 21, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError):
        memory.require_memory(1 << 60, "a table")


def test_small_amounts_are_told_exactly() -> None:
    with pytest.raises(MemoryLimitError) as raised:
        memory.require_memory(2400, "a table", limit=-1)
    assert str(raised.value).startswith("a table would need 2,400 bytes\n  expected: at most -1 bytes")
    with pytest.raises(MemoryLimitError) as raised:
        storel.run("CREATE TENSOR y AS sum(<i, a> in x) { i -> a * 2 }", x=np.ones(300), memory_limit=1000)
    assert (raised.value.expected, raised.value.found) == (
        "at most 1,000 bytes",
        "2,400 bytes, of which 2,400 bytes for the result result.val",
    )
