"""Settings of all tests: a cache of their own, the same examples every time, no deadlines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from storel import kernels
from storel.compilation import reformat, scheduling
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Task

settings.register_profile("storel", deadline=None, derandomize=True)
settings.load_profile("storel")


def pytest_runtest_setup() -> None:
    """No test runs what another one planned: it may have changed what plans depend on."""
    kernels.forget()


@pytest.fixture
def converting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make conversions free, and plans for them, so that small operands are converted."""

    def is_worth(cheapest: Compilation, effort: float, task: Task) -> bool:
        return True

    monkeypatch.setattr(reformat, "WORTHWHILE", 0.0)
    monkeypatch.setattr(reformat, "CONVERSION", 0.01)
    monkeypatch.setattr(scheduling, "is_worth", is_worth)


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("STOREL_CACHE_DIR")
    os.environ["STOREL_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["STOREL_CACHE_DIR"]
    else:
        os.environ["STOREL_CACHE_DIR"] = before
