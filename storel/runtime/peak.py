"""The most memory that a piece of a program takes, as the system sees it.

Linux keeps the highest resident size of a process and lets it be reset; elsewhere nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Returned = TypeVar("Returned")

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def peak_of(run: Callable[[], Returned]) -> tuple[Returned, int | None]:
    """Return what ``run`` returns, and by how many bytes resident memory rose meanwhile, at most.

    The bytes are None where the system does not tell. Memory that the process had at hand is not counted.
    """
    try:
        _RESET.write_text("5", "ascii")
        before = _kilobytes("VmRSS")
    except OSError:
        return run(), None
    returned = run()
    highest = _kilobytes("VmHWM")
    if before is None or highest is None:
        return returned, None
    return returned, 1024 * max(0, highest - before)


def _kilobytes(name: str) -> int | None:
    for line in _STATUS.read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return None
