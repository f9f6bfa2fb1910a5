"""Calls of functions in machine code by several threads: with native threads, and with those of Python."""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from storel.errors import BackendError
from storel.runtime import toolchain, workers
from storel.runtime.library import ENTRY, Entry

_FACTOR, _SUMMAND = 1_103_515_245, 12_345


@numba.cfunc("int64(CPointer(int64), CPointer(int64))")
def _step(slots: Any, detail: Any) -> int:
    """Go as many steps as the second slot says from the first one, and fail if where that leads is odd."""
    state = slots[0]
    for _ in range(slots[1]):
        state = (state * _FACTOR + _SUMMAND) % 2**31
    detail[0] = state
    return 7 * (state % 2)


_address = _step.address
assert _address is not None
STEP: Entry = ENTRY(_address)


def _blocks(starts: list[int], steps: int) -> list[bytes]:
    return [np.array([start, steps], np.int64).tobytes() for start in starts]


def _expected(starts: list[int], steps: int) -> list[tuple[int, int]]:
    for _ in range(steps):
        starts = [(start * _FACTOR + _SUMMAND) % 2**31 for start in starts]
    return [(7 * (state % 2), state) for state in starts]


@pytest.fixture(params=["native", "python"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(workers, "native", lambda: None)
    return request.param


@pytest.mark.parametrize("count", [1, 2, 3, 9])
@pytest.mark.parametrize("steps", [0, 1, 30_001])
def test_all_calls_are_made_and_tell_what_came_of_them(kind: str, count: int, steps: int):
    starts = list(range(4, 4 + count))
    expected = _expected(starts, steps)
    for _ in range(20):
        assert workers.call_all(STEP, _blocks(starts, steps)) == expected


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_fewer_threads_make_all_calls(kind: str, threads: int):
    starts = list(range(4, 13))
    for _ in range(20):
        assert workers.call_all(STEP, _blocks(starts, 1001), threads) == _expected(starts, 1001)


def test_a_thread_makes_the_calls_that_another_one_is_late_for():
    """The first call ends when all others are made, of which one belongs to the same thread."""
    if workers.native() is None:
        return  # threads of Python each make their own
    others = threading.Semaphore(0)

    def wait(slots: bytes, detail: object) -> int:
        if slots != b"first":
            others.release()
            return 0
        return 0 if all(others.acquire(timeout=30) for _ in range(3)) else 1

    assert workers.call_all(ENTRY(wait), [b"first", b"", b"", b""], 2) == [(0, 0)] * 4


def test_several_threads_may_ask_at_once(kind: str):
    def asked(first: int) -> bool:
        starts = [first, first + 1, first + 2]
        expected = _expected(starts, 100)
        return all(workers.call_all(STEP, _blocks(starts, 100)) == expected for _ in range(100))

    with ThreadPoolExecutor(5) as callers:
        assert all(callers.map(asked, range(0, 100, 10)))


def _meeting(count: int) -> tuple[Entry, list[int]]:
    """Return a function that ends when ``count`` threads are in it, and which threads have been."""
    barrier, seen = threading.Barrier(count, timeout=30), list[int]()

    def meet(slots: bytes, detail: object) -> int:
        seen.append(threading.get_native_id())
        barrier.wait()
        return 0

    return ENTRY(meet), seen


def test_calls_are_made_by_different_threads_the_first_by_the_caller(kind: str):
    meet, seen = _meeting(3)
    assert workers.call_all(meet, [b""] * 3) == [(0, 0)] * 3
    assert len(set(seen)) == 3 and threading.get_native_id() in seen


def test_workers_are_kept_off_the_processor_of_the_caller(kind: str):
    def allowed(slots: bytes, detail: object) -> int:
        barrier.wait()
        seen[threading.get_native_id()] = len(os.sched_getaffinity(0))
        return 0

    barrier, seen = threading.Barrier(2, timeout=30), dict[int, int]()
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if processors == 1:
        return  # there is no other one, or the system does not tell
    workers.call_all(ENTRY(allowed), [b""] * 2)
    assert seen.pop(threading.get_native_id()) == processors
    assert list(seen.values()) == [processors - 1]


def test_what_there_is_no_thread_for_is_called_by_the_caller(monkeypatch: pytest.MonkeyPatch):
    class Refusing:
        def __init__(self, library: ctypes.CDLL) -> None:
            self.storel_call_all = library.storel_call_all

        def storel_worker(self, spinning: int) -> None:
            return None

    library = workers.native()
    if library is not None:
        monkeypatch.setattr(workers, "native", lambda: Refusing(library))
    monkeypatch.setattr(workers, "_idle", [])
    assert workers.call_all(STEP, _blocks([2, 3, 4], 9)) == _expected([2, 3, 4], 9)


@pytest.mark.parametrize("reason", ["no compiler", "not this source"])
def test_without_native_threads_those_of_python_call(reason: str, monkeypatch: pytest.MonkeyPatch):
    def fails(source: str) -> ctypes.CDLL:
        raise BackendError("it does not compile")

    found = workers.native.__wrapped__
    if reason == "no compiler":
        monkeypatch.setattr(toolchain, "find", lambda: None)
    monkeypatch.setattr(workers, "load_c", fails)
    assert found() is None
    monkeypatch.setattr(workers, "native", found)
    assert workers.call_all(STEP, _blocks([2, 3], 9)) == _expected([2, 3], 9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_threads_are_started_anew_after_a_fork(kind: str):
    blocks, expected = _blocks([2, 4], 9), _expected([2, 4], 9)
    workers.call_all(STEP, blocks)
    child = os.fork()
    if child == 0:
        os._exit(0 if workers.call_all(STEP, blocks) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
