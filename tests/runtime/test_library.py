"""Machine code is loaded by threads that do not get into each other's way."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from storel.host import cache
from storel.runtime import pool
from storel.runtime.library import Entry, load_entries


def test_numba_works_for_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else two that are its first in a process may wait for each other for good."""
    at_once: list[int] = [0]
    most: list[int] = []

    def obtain(name: str, build: Callable[[Path], None], load: Callable[[Path], list[Entry]]) -> list[Entry]:
        at_once[0] += 1
        time.sleep(0.05)
        most.append(at_once[0])
        at_once[0] -= 1
        return []

    monkeypatch.setattr(cache, "obtain", obtain)
    pool.run_all([partial(load_entries, f"# module {number}", [], "numba") for number in range(3)])
    assert most == [1, 1, 1]
