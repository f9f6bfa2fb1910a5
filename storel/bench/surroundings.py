"""What figures depend on beside what is asked for: versions, the processor, the memory, the C compiler."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import storel
from storel.bench.rivals.table import RIVALS
from storel.host import memory
from storel.runtime import toolchain

NEEDED = ("numpy", "scipy", "numba", "egglog")
"""What storel computes and plans with itself, by the names under which they are installed."""


def versions(rivals: Iterable[str]) -> dict[str, str]:
    """Return the versions of storel, of what it needs, and of rivals; empty where nothing tells one."""
    own = {"storel": storel.__version__, "python": platform.python_version()}
    return own | {name: version(name) for name in NEEDED} | {name: RIVALS[name].version for name in rivals}


def host() -> dict[str, Any]:
    """Return what is known of this machine; memory in bytes, no compiler where there is none that works."""
    compiler = toolchain.find()
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "memory": memory.available(),
        "compiler": None if compiler is None else asdict(compiler),
    }


def _processor() -> str:
    """Return what the processor calls itself, or at least its kind."""
    for line in toolchain.processor().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
