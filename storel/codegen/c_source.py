"""Loop IR to one C translation unit."""

from __future__ import annotations

from storel.loops.nodes import Kernel


def render(kernel: Kernel) -> str:
    """Return the C source of ``kernel``."""
    ...
