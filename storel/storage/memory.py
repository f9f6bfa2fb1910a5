"""The memory limit, and the refusal of what would not fit."""

from __future__ import annotations

import os

from storel.errors import MemoryLimitError


def available_memory() -> int:
    """Return how many bytes of physical memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_memory(needed: int, purpose: str, limit: int | None = None) -> None:
    """Raise MemoryLimitError if ``needed`` bytes exceed ``limit`` (default: the machine's memory)."""
    allowed = available_memory() if limit is None else limit
    if needed > allowed:
        raise MemoryLimitError(
            f"{purpose} would need {needed / 2**20:,.0f} MiB",
            expected=f"at most {allowed / 2**20:,.0f} MiB",
            hint="ask for a sparse format, or raise the memory limit",
        )
