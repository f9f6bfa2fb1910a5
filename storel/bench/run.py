"""Each task in a process of its own: threads are set before libraries are loaded, memory starts afresh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from storel.bench.task import Measurement, Task
from storel.bench.worker import MISTAKE
from storel.errors import DataError

THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"),
)
"""The variables by which libraries are told how many threads to use."""

WORKER = ("-m", "storel.bench.worker")
"""What Python is told to run for each task."""


def run_all(tasks: Iterable[Task], progress: Callable[[str], None] = lambda _: None) -> Iterator[Measurement]:
    """Measure tasks one after the other; raises DataError where the data cannot be had."""
    for task in tasks:
        progress(f"measuring {task.kernel} on {task.data.name}")
        yield in_own_process(task)


def in_own_process(task: Task) -> Measurement:
    """Measure a task in a process of its own, with caches of its own, too.

    A rival that ends the process fails, and the others are measured without it, in another one.
    """
    threads = dict.fromkeys(THREADS, str(task.contest.threads))
    with tempfile.TemporaryDirectory() as directory:
        found, running = Path(directory) / "found.json", Path(directory) / "running"
        environment = os.environ | threads | {"STOREL_CACHE_DIR": directory}
        code, errors = _ended(
            [sys.executable, *WORKER, str(found), str(running)], task.as_json(), environment
        )
        if code == 0:
            return Measurement.from_object(json.loads(found.read_text(encoding="utf-8")))
        name = running.read_text(encoding="utf-8") if running.exists() else ""
    if code == MISTAKE:
        raise DataError(f"{task.kernel} on {task.data.name} cannot be measured: {errors.strip()}")
    if code >= 0:
        raise RuntimeError(errors)
    reason = f"ended by signal {-code} (out of memory?)"
    if name in task.contest.rivals:
        return in_own_process(task.without(name)).with_failure(name, reason)
    return Measurement.of_failure(task, reason)


def _ended(command: list[str], text: str, environment: dict[str, str]) -> tuple[int, str]:
    """Run a command on a text; return its exit code, and what it writes about mistakes.

    After Ctrl-C nothing of it is left: ``subprocess.run`` would not wait for its end.
    """
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            _, errors = running.communicate(text)
        except BaseException:
            running.kill()
            running.wait()
            raise
    return running.returncode, errors
