"""Threads of Python for tasks that are to run at once.

What they run releases the interpreter's lock: compilers, NumPy, and parts of kernels where there is no C
compiler (``workers``). A pool of our own survives a fork, and a thread waits for its next task at a lock,
which takes less time than the queues of ``concurrent.futures``.

A thread that wakes for a part of a few milliseconds must not wake on the processor of the thread that woke
it: the system would run the two in turn, and not notice for longer than the part takes. So the others are
kept off that processor, where the system has a way to say so.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

Returned = TypeVar("Returned")


def run_all(tasks: Sequence[Callable[[], Returned]]) -> list[Returned]:
    """Run all tasks, each in a thread, and return what they return.

    Where several raise, the first one's exception is raised, when all have ended. What the system has no
    thread for is run by this one.
    """
    if len(tasks) == 1:
        return [tasks[0]()]
    workers = _begun(tasks[1:])
    try:
        first = tasks[0]()
    finally:
        ended = [worker.end() for worker in workers]
        _idle.extend(workers)
    for _, raised in ended:
        if raised is not None:
            raise raised
    others = [returned for returned, _ in ended]
    return [first, *others, *(task() for task in tasks[1 + len(others) :])]


def _begun(tasks: Sequence[Callable[[], Any]]) -> list[_Worker]:
    """Return threads that have begun with the tasks, with as many as there are threads for."""
    processors = _other_processors()
    workers: list[_Worker] = []
    with suppress(RuntimeError):  # no thread can be started
        for task in tasks:
            worker = _hired()
            worker.keep_on(processors)
            worker.begin(task)
            workers.append(worker)
    return workers


class _Worker:
    """A thread that runs one task after the other, and waits in between."""

    def __init__(self) -> None:
        self._begins, self._ended = threading.Lock(), threading.Lock()
        self._begins.acquire()
        self._ended.acquire()
        self._task: Callable[[], Any] | None = None
        self._outcome: tuple[Any, BaseException | None] = None, None
        self._processors: frozenset[int] = frozenset()
        self._thread = threading.Thread(target=self._work, name="storel", daemon=True)
        self._thread.start()

    def begin(self, task: Callable[[], Any]) -> None:
        """Let the thread run a task."""
        self._task = task
        self._begins.release()

    def end(self) -> tuple[Any, BaseException | None]:
        """Wait for the end of the task; return what it returned or raised."""
        self._ended.acquire()
        outcome, self._outcome = self._outcome, (None, None)
        return outcome

    def keep_on(self, processors: frozenset[int]) -> None:
        """Keep the thread on these processors, if there are any."""
        if processors and processors != self._processors:
            self._processors = processors
            with suppress(OSError):  # they are no longer allowed
                os.sched_setaffinity(self._thread.native_id or 0, processors)

    def _work(self) -> None:
        while True:
            self._begins.acquire()
            task, self._task = self._task, None  # what it refers to is not kept
            assert task is not None
            try:
                self._outcome = task(), None
            except BaseException as error:
                self._outcome = None, error
            del task
            self._ended.release()


_idle: list[_Worker] = []
"""The threads that wait. Each access is atomic: any thread may take one or give it back."""


def _hired() -> _Worker:
    """Return a thread that waits, a new one if there is none; raises RuntimeError if it cannot be started."""
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


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


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork
