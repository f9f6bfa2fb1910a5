"""Threads that compute parts: what they return, what they raise, and where they run."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from functools import partial

import pytest

from storel.runtime import pool


def _raise(error: Exception) -> None:
    raise error


def test_results_come_in_the_order_of_the_tasks():
    assert pool.run_all([partial(pow, base, 2) for base in range(5)]) == [0, 1, 4, 9, 16]


def test_a_single_task_needs_no_other_thread():
    assert pool.run_all([partial(pow, 3, 2)]) == [9]


def test_the_first_exception_is_raised_when_all_have_ended():
    ended: list[int] = []
    tasks = [
        partial(_raise, ValueError("first")),
        partial(_raise, KeyError("second")),
        partial(ended.append, 1),
    ]
    with pytest.raises(ValueError, match="first"):
        pool.run_all(tasks)
    assert ended == [1]


def test_others_are_kept_off_the_processor_of_the_one_that_wakes_them(monkeypatch: pytest.MonkeyPatch):
    if not hasattr(os, "sched_getaffinity"):
        assert pool.run_all([os.getpid, os.getpid]) == [os.getpid()] * 2
        return
    allowed = os.sched_getaffinity(0)
    for processor in sorted(allowed):
        monkeypatch.setattr(pool, "_other_processors", partial(frozenset[int], {processor}))
        own, other = pool.run_all([partial(os.sched_getaffinity, 0)] * 2)
        assert own == allowed
        assert other == {processor}


def test_what_another_thread_raises_is_raised_and_it_works_on():
    with pytest.raises(KeyError, match="second"):
        pool.run_all([partial(pow, 3, 2), partial(_raise, KeyError("second"))])
    assert pool.run_all([partial(pow, 3, 2)] * 2) == [9, 9]


def test_tasks_may_have_tasks_and_several_threads_may_ask_at_once():
    def squares(base: int) -> list[int]:
        return pool.run_all([partial(pow, base + number, 2) for number in range(3)])

    assert pool.run_all([partial(squares, base) for base in range(4)]) == [
        [base**2, (base + 1) ** 2, (base + 2) ** 2] for base in range(4)
    ]


def test_what_the_system_has_no_thread_for_is_run_by_this_one(monkeypatch: pytest.MonkeyPatch):
    def fails(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(pool, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", fails)
    assert pool.run_all([threading.get_ident] * 3) == [threading.get_ident()] * 3


def test_a_task_is_forgotten_when_it_has_ended():
    class Held:
        def run(self) -> None:
            pass

    held = Held()
    gone = weakref.ref(held)
    pool.run_all([int, held.run])
    del held
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_threads_are_started_anew_after_a_fork():
    pool.run_all([int, int])
    child = os.fork()
    if child == 0:
        os._exit(0 if pool.run_all([partial(pow, 3, 2)] * 2) == [9, 9] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
