"""Kernels compiled by tests do not go to the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("STOREL_CACHE_DIR")
    os.environ["STOREL_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["STOREL_CACHE_DIR"]
    else:
        os.environ["STOREL_CACHE_DIR"] = before
