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


def run_all(tasks: Iterable[Task], progress: Callable[[str], None] = lambda _: None) -> Iterator[Measurement]:
    """Measure tasks one after the other; raises DataError where one cannot be measured."""
    for task in tasks:
        progress(f"measuring {task.kernel} on {task.data.name}")
        yield in_own_process(task)


def in_own_process(task: Task) -> Measurement:
    """Measure a task in a process of its own, with caches of its own, too."""
    threads = dict.fromkeys(THREADS, str(task.contest.threads))
    with tempfile.TemporaryDirectory() as directory:
        found = Path(directory) / "found.json"
        completed = subprocess.run(
            [sys.executable, "-m", "storel.bench.worker", str(found)],
            input=task.as_json(),
            env=os.environ | threads | {"STOREL_CACHE_DIR": directory},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if completed.returncode == 0:
            return Measurement.from_object(json.loads(found.read_text(encoding="utf-8")))
    name = f"{task.kernel} on {task.data.name}"
    if completed.returncode == MISTAKE:
        raise DataError(f"{name} cannot be measured: {completed.stderr.strip()}")
    if completed.returncode < 0:
        ended = f"{name} cannot be measured: the system ended the process (signal {-completed.returncode})"
        raise DataError(ended, hint="is there memory enough? try a smaller --size or fewer --rivals")
    raise RuntimeError(completed.stderr)
