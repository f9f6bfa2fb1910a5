from __future__ import annotations

import pytest

from storel import memory
from storel.errors import MemoryLimitError


def test_some_memory_is_available() -> None:
    assert 1 << 20 < memory.available() < 1 << 50


def test_what_does_not_fit_is_refused() -> None:
    memory.require_memory(1 << 20, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError, match="a table would need 2 MiB"):
        memory.require_memory(1 << 21, "a table", limit=1 << 20)
    with pytest.raises(MemoryLimitError):
        memory.require_memory(1 << 60, "a table")
