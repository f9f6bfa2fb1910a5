"""Runs the probes and fits the constants: a few seconds, most of them compiling."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from storel.calibration.fit import Measured, fit
from storel.calibration.probes import ROW_SUMS, Operands, matrix, probes
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Options
from storel.compilation.environment import Environment
from storel.execution.run import arguments
from storel.execution.script import Runner
from storel.kernels import bind
from storel.optimizer.cost.constants import Constants
from storel.optimizer.outcome import Options as SearchOptions
from storel.source import Source
from storel.storage.formats.known import Formats

PATIENCE = 0.05
"""Seconds for which a probe is run again and again; its fastest run counts."""

LEAST_RUNS = 3


def calibrate(progress: Callable[[str], None] = lambda _: None) -> Constants:
    """Return the constants of this machine, from running all probes.

    Raises BackendError where nothing can be compiled.
    """
    idle = call()
    measured: list[Measured] = []
    for probe in probes():
        progress(f"measuring {probe.name}")
        measured.append(measure(probe.program, probe.operands(), idle))
    return replace(fit(measured), call=idle)


def call() -> float:
    """Return the nanoseconds of a call of a kernel that does next to nothing with some arrays."""
    return measure(ROW_SUMS, {"A": matrix(1, 1, 1)}).nanoseconds


def measure(program: str, operands: Operands, idle: float = 0.0) -> Measured:
    """Compile and run a program of one definition, planned as shipped; ``idle`` is the call's part."""
    environment = Environment(Formats())
    for name, value in operands.items():
        bind(environment, name, value)
    runner = Runner(environment, Options(search=SearchOptions(), threads=1), runs=False)
    (compilation,) = runner.run(Source("<probe>", program)).compilations.values()
    taken = nanoseconds(compilation, environment)
    return Measured(compilation.optimized.term, compilation.symbols, max(1.0, taken - idle))


def nanoseconds(compilation: Compilation, environment: Environment) -> float:
    """Return the least processor time of several calls of the kernel, the result put together.

    It is the processor's, so that whoever else works does not matter.
    """
    scalars, arrays = arguments(compilation, environment)
    kernel = compilation.compiled
    seconds: list[float] = []
    while len(seconds) < LEAST_RUNS or sum(seconds) < PATIENCE:
        start = time.process_time()
        compilation.collector(kernel(scalars, arrays))
        seconds.append(time.process_time() - start)
    return 1e9 * min(seconds)
