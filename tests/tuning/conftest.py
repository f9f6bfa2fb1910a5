"""Settings of the tests of tuning: nothing is remembered before, and times are given, not measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from storel.execution.run import execute
from storel.tuning.candidates import Candidate, describe
from storel.tuning.measure import Measured
from storel.tuning.tune import Search


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that the tests of a module share: plans and kernels are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def notes(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Path]]:
    """Return a function that lists what is remembered of tuning, which is nothing at first."""

    def found() -> list[Path]:
        return sorted(own_cache.glob("schedule-*.json"))

    monkeypatch.setenv("STOREL_CACHE_DIR", str(own_cache))
    monkeypatch.setenv("STOREL_NUM_THREADS", "2")
    for note in found():
        note.unlink()
    return found


@pytest.fixture
def prefer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes candidates of a description fast and all others slow."""

    def preferring(description: str) -> None:
        def measured(search: Search, candidate: Candidate) -> Measured:
            found = execute(candidate.compilation, search.task.environment)
            is_fast = describe(candidate, search.own).startswith(description)
            return Measured(1e3 if is_fast else 1e6, found)

        monkeypatch.setattr(Search, "_measured", measured)

    return preferring
