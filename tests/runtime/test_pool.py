"""Threads that compute parts: what they return, what they raise, and where they run."""

from __future__ import annotations

import os
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
