"""Find the machine's C compiler, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler that was seen to work, and the flags it takes."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]


def find() -> Compiler | None:
    """Return the machine's C compiler, None if there is none."""
    ...


def choose(backend: Literal["auto", "c", "numba"]) -> Literal["c", "numba"]:
    """Resolve "auto"; raise BackendError if "c" is asked for and there is no compiler."""
    ...
