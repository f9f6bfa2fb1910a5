"""Large pieces of memory: reserved without being taken, in huge pages, and used again.

The system fills each page with zeros when it is first touched, which can take longer than the computation
that writes to it. So what nobody uses any more is kept for whoever asks next, up to a share of the machine's
memory; pages that were never touched still cost nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import weakref

import numpy as np
from numpy.typing import NDArray

from storel.host import memory

SHARE = 16
"""All pieces that are kept are together no larger than the machine's memory divided by this."""

SLACK = 4
"""A piece serves a smaller request if at most its size divided by this stays unused."""

_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)

kept: list[mmap.mmap] = []
"""The pieces that nobody uses, the latest last. Each access is atomic: any thread may give memory back."""


def take(size: int) -> tuple[NDArray[np.uint8], bool]:
    """Return so many bytes, and whether they are all zero, as they come from the system.

    They are given back when no array refers to them any more. Raise OSError, OverflowError or ValueError
    where the system has no room for them.
    """
    piece = _again(size)
    is_fresh = piece is None
    if piece is None:
        piece = _new(size)
        with contextlib.suppress(OSError):  # a system without huge pages
            piece.madvise(mmap.MADV_HUGEPAGE)
    lease = (ctypes.c_char * len(piece)).from_buffer(piece)
    weakref.finalize(lease, _keep, piece).atexit = False
    return np.frombuffer(memoryview(lease), np.uint8, size), is_fresh


def _new(size: int) -> mmap.mmap:
    """Return a piece from the system, which what is kept gives way to."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        return mmap.mmap(-1, size, flags=flags)
    except OSError:
        kept.clear()
        return mmap.mmap(-1, size, flags=flags)


def _again(size: int) -> mmap.mmap | None:
    """Return a kept piece of about this size."""
    for piece in reversed(kept.copy()):
        if 0 <= len(piece) - size <= len(piece) // SLACK:
            with contextlib.suppress(ValueError):  # another thread was faster
                kept.remove(piece)
                return piece
    return None


def _keep(piece: mmap.mmap) -> None:
    """Take a piece back, and let go of the oldest ones if it is too much."""
    kept.append(piece)
    while sum(map(len, kept.copy())) > memory.available() // SHARE:
        with contextlib.suppress(IndexError):
            kept.pop(0)
