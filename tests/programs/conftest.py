"""What the tests of whole programs share."""

from __future__ import annotations

import pytest

from storel import compiler
from storel.runtime import parallel


@pytest.fixture
def several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every kernel run in parts, however little there is to do."""
    monkeypatch.setenv("STOREL_NUM_THREADS", "3")
    monkeypatch.setattr(compiler, "WORTH_THREADS", 0.0)
    monkeypatch.setattr(parallel, "UPDATES_PER_PLACE", 0)
    monkeypatch.setattr(parallel, "LEAST_WORK", 0)
