"""Calls of a function in machine code, each by a thread.

Where there is a C compiler, the threads wait in machine code (``workers.c``): they need no turn at the
interpreter's lock, so that a tenth of a millisecond of work is worth dividing. Elsewhere they are Python's
(``pool``).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from storel.errors import BackendError
from storel.runtime import pool, toolchain
from storel.runtime.library import ENTRY, Entry, load_c

SPINNING = 1_000_000
"""Nanoseconds for which a thread waits awake: one for its next call, a caller for the end of the others."""


class Outcome(NamedTuple):
    """What a function returned, which is 0 or a failure's code, and the failure's detail."""

    code: int
    detail: int


class _Call(ctypes.Structure):
    _fields_ = (
        ("run", ENTRY),
        ("slots", ctypes.c_char_p),
        ("code", ctypes.c_int64),
        ("detail", ctypes.c_int64),
        ("is_taken", ctypes.c_int64),
    )


@cache
def native() -> ctypes.CDLL | None:
    """Return the functions of ``workers.c``; None where there is no compiler, or none that takes it."""
    if toolchain.find() is None:
        return None
    try:
        library = load_c(Path(__file__).with_name("workers.c").read_text("utf-8"))
    except BackendError:
        return None
    library.storel_worker.argtypes = (ctypes.c_int64,)
    library.storel_worker.restype = ctypes.c_void_p
    library.storel_call_all.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    library.storel_call_all.restype = None
    return library


def prepare() -> None:
    """Make ready what calls at once need, which takes a while where it was not compiled before."""
    native()


def call(entry: Entry, slots: bytes) -> Outcome:
    """Call a function in this thread."""
    detail = ctypes.c_int64()
    code = entry(slots, ctypes.byref(detail))
    return Outcome(code, detail.value)


def call_all(entry: Entry, blocks: Sequence[bytes], threads: int | None = None) -> list[Outcome]:
    """Call a function with each of the blocks of slots by so many threads, by default all at once.

    The first call is made by this thread, and so is what the system has no thread for.
    """
    threads = len(blocks) if threads is None else min(threads, len(blocks))
    if len(blocks) == 1:
        return [call(entry, blocks[0])]
    library = native()
    if library is None:
        cuts = [number * len(blocks) // threads for number in range(threads + 1)]
        made = pool.run_all([partial(_called, entry, blocks[low:high]) for low, high in pairwise(cuts)])
        return [outcome for share in made for outcome in share]
    calls = (_Call * len(blocks))(*((entry, slots) for slots in blocks))
    hired = _hired(library, threads - 1)
    try:
        library.storel_call_all((ctypes.c_void_p * len(hired))(*hired), len(hired), calls, len(calls))
    finally:
        _idle.extend(hired)
    return [Outcome(each.code, each.detail) for each in calls]


def _called(entry: Entry, blocks: Sequence[bytes]) -> list[Outcome]:
    """Call a function with each of the blocks, one after the other."""
    return [call(entry, slots) for slots in blocks]


_idle: list[int] = []
"""The threads that wait. Each access is atomic: any thread may take one or give it back."""


def _hired(library: ctypes.CDLL, count: int) -> list[int]:
    """Return ``count`` threads that wait, or as many as the system has room for."""
    found: list[int] = []
    while len(found) < count:
        try:
            each = _idle.pop()
        except IndexError:
            each = library.storel_worker(SPINNING if _processors() > 1 else 0)
        if not each:
            break
        found.append(each)
    return found


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork
