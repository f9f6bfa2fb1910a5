"""How many threads compute, and the pool that they come from.

``STOREL_NUM_THREADS`` says how many, else ``OMP_NUM_THREADS``, else there is one for each processor that this
process may use. Kernels release the interpreter's lock, so that threads of Python are all it takes; a pool
of our own needs no other runtime, survives a fork, and serves both backends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TypeVar

from storel.errors import EvaluationError

Returned = TypeVar("Returned")

VARIABLES = ("STOREL_NUM_THREADS", "OMP_NUM_THREADS")


def count(wanted: int | None = None) -> int:
    """Return how many threads to use where ``wanted`` are asked for, None if nothing was said.

    Raise EvaluationError for less than one.
    """
    if wanted is not None:
        if wanted < 1:
            raise EvaluationError("no threads to compute with", expected="1 or more", found=str(wanted))
        return wanted
    for variable in VARIABLES:
        text = os.environ.get(variable, "").partition(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(tasks: Sequence[Callable[[], Returned]]) -> list[Returned]:
    """Run all tasks, each in a thread, and return what they return.

    Where several raise, the first one's exception is raised, when all have ended. What the system has no
    thread for is run by this one.
    """
    futures: list[Future[Returned]] = []
    with suppress(RuntimeError):  # no thread can be started
        futures += (_pool(len(tasks) - 1).submit(task) for task in tasks[1:])
    try:
        first = tasks[0]()
    finally:
        for future in futures:
            future.exception()
    others = [future.result() for future in futures]
    return [first, *others, *(task() for task in tasks[1 + len(others) :])]


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    """Return the pool with so many threads, which are started when first used."""
    return ThreadPoolExecutor(size, thread_name_prefix="storel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
