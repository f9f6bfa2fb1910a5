"""Ctrl-C ends a command wherever it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from strategies.command_line import storel

from storel.cli.interrupts import INTERRUPTED
from storel.compilation import machine

ENDLESS = "CREATE TENSOR y AS sum(<i, _> in 0:3000000, <j, _> in 0:100000) sqrt(1.0 * ((i ^ j) % 7) + j)"


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores interrupts
from storel.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("subcommand", "told"), [("run", ""), ("tune", "interrupted: nothing was remembered\n")]
)
def test_a_kernel_that_runs_is_interrupted(subcommand: str, told: str, tmp_path: Path) -> None:
    script, cache = tmp_path / "endless.sdql", tmp_path / "cache"
    script.write_text(ENDLESS)
    command = [sys.executable, "-c", COMMAND, subcommand, str(script), "--backend", "c"]
    environment = os.environ | {"STOREL_CACHE_DIR": str(cache)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as running:
        try:
            end = time.monotonic() + 60
            while not [*cache.glob("c-*/kernel.so")] and time.monotonic() < end:
                time.sleep(0.05)
            time.sleep(1)
            assert running.poll() is None
            running.send_signal(signal.SIGINT)
            _, errors = running.communicate(timeout=20)
            assert (running.returncode, errors) == (INTERRUPTED, told)
        finally:
            running.kill()


def test_an_interrupt_says_that_no_costs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = machine.constants()
    monkeypatch.setattr("storel.calibration.measure.calibrate", interrupted)
    shown = storel("calibrate")
    told = "interrupted: nothing was kept: plans are priced as before\n"
    assert (shown.code, shown.out, shown.err) == (INTERRUPTED, "", told)
    assert machine.constants() == before


IMPORTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupted = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == interrupted:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from storel.cli import main
main()
"""
"""Runs a command that is interrupted when it begins to import the module that is named."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    "module",
    ["storel.cli.application", "typer", "typing", "numpy", "numpy.exceptions", "storel.errors", "storel.api"],
)
def test_an_import_is_interrupted(module: str) -> None:
    command = [sys.executable, "-c", IMPORTING, module, "formats"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (INTERRUPTED, "", "")


MEASURING = """
import os, signal, threading
from storel.bench import run
from storel.bench.data import Data
from storel.bench.task import Contest, Task

signal.signal(signal.SIGINT, signal.default_int_handler)
run.WORKER = ("-c", "import time; time.sleep(60)")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    run.in_own_process(Task("spmv", Data("uniform", 16, 64), Contest(("c",), (), 1)))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_what_is_measured_when_an_interrupt_comes_is_ended() -> None:
    command = [sys.executable, "-W", "default::ResourceWarning", "-c", MEASURING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")
