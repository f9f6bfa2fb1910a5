"""The memory that there is, and the refusal of what would not fit."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

from storel.errors import MemoryLimitError

try:
    import resource
except ImportError:  # not on Windows
    resource = None

UNLIMITED = 1 << 62
"""More bytes than there are."""


@functools.cache
def available() -> int:
    """Return the bytes of memory that this process may use: the machine's, its group's, or its own."""
    limits = [_address_space()]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(name).read_text("ascii")))
        except (OSError, ValueError):
            continue  # no such group, or "max"
    return min(limits)


def _address_space() -> int:
    """Return the bytes that this process may have addresses for, as ``ulimit -v`` says."""
    if resource is None:
        return UNLIMITED
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return UNLIMITED if soft == resource.RLIM_INFINITY else min(soft, UNLIMITED)


def allowance(needed: int) -> int:
    """Return how many bytes may be taken where ``needed`` are asked for.

    That is all that there is, unless ``needed`` is a good part of it: then it is what is free now.
    """
    everything = available()
    return everything if needed <= everything // 8 else min(everything, _free())


def _free() -> int:
    """Return the bytes that can be taken now, less a reserve for what comes after."""
    free = UNLIMITED
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text("ascii")
        free = 1024 * int(text.partition("MemAvailable:")[2].split()[0])
    with contextlib.suppress(OSError, ValueError):
        used = int(Path("/sys/fs/cgroup/memory.current").read_text("ascii"))
        free = min(free, available() - used)
    if (limit := _address_space()) < UNLIMITED:
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = Path("/proc/self/statm").read_text("ascii").split()[0]
            free = min(free, limit - int(pages) * os.sysconf("SC_PAGE_SIZE"))
    return free - free // 16


def require_memory(
    needed: int, purpose: str, limit: int | None = None, remedy: str = "ask for a sparse format"
) -> None:
    """Raise MemoryLimitError if ``needed`` bytes exceed ``limit`` (default: what is free).

    The hint is to raise the limit, or the ``remedy``.
    """
    allowed = allowance(needed) if limit is None else limit
    if needed > allowed:
        raise MemoryLimitError(
            f"{purpose} would need {amount(needed)}",
            expected=f"at most {amount(allowed)}",
            hint=f"{remedy}, or raise the memory limit",
        )


def amount(count: int) -> str:
    """Return a number of bytes for people.

    >>> amount(-1), amount(9_600), amount(12_345), amount(12_345_678)
    ('-1 bytes', '9,600 bytes', '12.3 kB', '12.3 MB')
    """
    if count < 10_000:
        return f"{count:,} bytes"
    return f"{count / 1e3:,.1f} kB" if count < 1_000_000 else f"{count / 1e6:,.1f} MB"
