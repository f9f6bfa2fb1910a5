"""Long kernels are run so that an interrupt is heard, and what they write to outlives it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import storel
from storel.runtime.listening import run_interruptibly

INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import storel

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores interrupts
threads, size = int(sys.argv[2]), 3_000_000
kernel = storel.compile(
    "PARAMETER n: int "
    "CREATE TENSOR y AS sum(<i, v> in x, <j, _> in 0:n) { i -> v * sqrt(1.0 * ((i ^ j) % 7) + j) }",
    n=100_000, x=np.ones(size), backend=sys.argv[1], threads=threads,
)
assert kernel.compilation.compiled
for _ in range(2):
    start = time.monotonic()
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        kernel(x=np.ones(size))
    except KeyboardInterrupt:
        print("interrupted" if time.monotonic() - start < 20 else "late")
y = storel.run("CREATE TENSOR y AS sum(<i, v> in x) { i -> 2 * v }", x=np.ones(size), threads=threads)
assert (y.to_numpy() == 2).all()
"""
"""Two kernels that would take hours, interrupted; what nobody refers to then is not what others write to."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_kernel_called_from_python_is_interrupted(backend: str, threads: int) -> None:
    command = [sys.executable, "-c", INTERRUPTED, backend, str(threads)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\ninterrupted\n", "")


def test_what_is_interrupted_goes_on_to_its_end() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def task() -> None:
        begun.set()
        may_end.wait()
        ended.set()

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.1)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in the background
    try:
        threading.Thread(target=interrupt).start()
        with contextlib.suppress(KeyboardInterrupt):
            run_interruptibly(task)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(10)


def test_what_a_task_returns_and_raises_is_handed_on() -> None:
    assert run_interruptibly(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        run_interruptibly(lambda: 1 // 0)


def test_only_the_main_thread_needs_another_one() -> None:
    found: list[threading.Thread] = []

    def run() -> None:
        found.append(threading.current_thread())
        found.append(run_interruptibly(threading.current_thread))

    run()
    assert found[0] is not found[1]
    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found[2] is found[3] is other


def test_what_numpy_was_told_holds_in_the_other_thread() -> None:
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("error")
        assert run_interruptibly(lambda: np.ones(1) / np.zeros(1)) == np.inf


def test_short_kernels_stay_in_their_thread() -> None:
    script = "CREATE TENSOR y AS sum(<i, v> in x, <j, _> in 0:{}) {{ i -> v * sqrt(1.0 * (i ^ j)) }}"
    x = np.ones(1000)
    for repeats, is_long in ((1, False), (1_000_000, True)):
        assert storel.compile(script.format(repeats), x=x).compilation.is_long == is_long
