"""Settings of all tests: the same examples every time, and no deadline on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("storel", deadline=None, derandomize=True)
settings.load_profile("storel")
