"""Loop IR to the text of a Python module that Numba compiles."""

from __future__ import annotations

from storel.loops.nodes import Kernel


def render(kernel: Kernel) -> str:
    """Return the Python source of ``kernel``."""
    ...
