"""The threads that compute the parts of a result.

Kernels release the interpreter's lock, so that threads of Python are all it takes; a pool of our own needs
no other runtime, survives a fork, and serves both backends.

A thread that wakes for a part of a few milliseconds must not wake on the processor of the thread that woke
it: the system would run the two in turn, and not notice for longer than the part takes. So the others are
kept off that processor, where the system has a way to say so.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import TypeVar

Returned = TypeVar("Returned")


def run_all(tasks: Sequence[Callable[[], Returned]]) -> list[Returned]:
    """Run all tasks, each in a thread, and return what they return.

    Where several raise, the first one's exception is raised, when all have ended. What the system has no
    thread for is run by this one.
    """
    futures: list[Future[Returned]] = []
    if len(tasks) > 1:
        with suppress(RuntimeError):  # no thread can be started
            pool = _pool(len(tasks) - 1)
            pool.keep_apart()
            futures += (pool.submit(task) for task in tasks[1:])
    try:
        first = tasks[0]()
    finally:
        for future in futures:
            future.exception()
    others = [future.result() for future in futures]
    return [first, *others, *(task() for task in tasks[1 + len(others) :])]


class _Pool(ThreadPoolExecutor):
    """Threads that can be kept off the processor of the thread which gives them work."""

    def __init__(self, size: int) -> None:
        self._identifiers: list[int] = []
        self._processors: frozenset[int] = frozenset()
        super().__init__(size, thread_name_prefix="storel", initializer=self._register)

    def _register(self) -> None:
        if self._processors:
            _move(0, self._processors)
        self._identifiers.append(threading.get_native_id())

    def keep_apart(self) -> None:
        """Keep the threads off the processor that this thread runs on, unless it has no other."""
        processors = _other_processors()
        if not processors or processors == self._processors:
            return
        self._processors = processors
        for identifier in self._identifiers:
            _move(identifier, processors)


@cache
def _pool(size: int) -> _Pool:
    """Return the pool with so many threads, which are started when first used."""
    return _Pool(size)


def _other_processors() -> frozenset[int]:
    """Return the processors that this thread may use and does not; none where the system does not tell."""
    current = _current_processor()
    if current is None or not hasattr(os, "sched_getaffinity"):
        return frozenset()
    return frozenset(os.sched_getaffinity(0)) - {current()}


@cache
def _current_processor() -> Callable[[], int] | None:
    """Return the C library's function that tells the processor of the calling thread."""
    try:
        return ctypes.PyDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):  # not on this system
        return None


def _move(identifier: int, processors: frozenset[int]) -> None:
    """Let a thread, this one if 0, run on these processors alone."""
    with suppress(OSError):  # the thread has ended, or the processors are no longer allowed
        os.sched_setaffinity(identifier, processors)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
