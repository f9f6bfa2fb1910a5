"""What a compiled definition does when it runs: counts, time and memory.

Counts come from a second kernel that increments a counter per action of the plan; where little is expected
to happen it is interpreted, since a compiler would take longer. Time and memory are those of a call of the
kernel itself, which counts nothing; providing the buffers is part of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from storel.compilation.compiled import Compilation
from storel.compilation.environment import Environment
from storel.execution.run import arguments
from storel.host import memory
from storel.loops import interpret as loop_interpreter
from storel.loops.lowering.profile import COUNTS
from storel.runtime.kernel import load
from storel.runtime.peak import peak_of

INTERPRETED = 8_000.0
"""Nanoseconds of estimated time up to which counts come from the interpreter, a thousand times slower."""

PATIENCE = 1.0
"""Seconds after which a kernel is not run again to time it."""

RUNS = 5


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured of one kernel.

    ``counts`` has a number for each action of the plan, in preorder (see ``loops.lowering.profile``).
    ``seconds`` are those of the fastest of ``runs``. ``operand_bytes`` lie in the arrays that the kernel
    reads, ``result_bytes`` in those that it returns; ``peak_bytes`` is the rise of resident memory during the
    first run, None where the system does not tell.
    """

    counts: tuple[int, ...]
    seconds: float
    runs: int
    operand_bytes: int
    result_bytes: int
    peak_bytes: int | None


def profile(compilation: Compilation, environment: Environment, memory_limit: int | None = None) -> Profile:
    """Run the kernel on the environment's data, and measure.

    Raises EvaluationError where the program fails, MemoryLimitError where the result does not fit.
    """
    scalars, arrays = arguments(compilation, environment)
    compiled = compilation.compiled
    seconds: list[float] = []
    start = time.perf_counter()
    outputs, peak = peak_of(lambda: compiled(scalars, arrays, memory_limit))
    seconds.append(time.perf_counter() - start)
    result_bytes = sum(array.nbytes for array in outputs.values())
    while len(seconds) < RUNS and sum(seconds) < PATIENCE:
        start = time.perf_counter()
        outputs = compiled(scalars, arrays, memory_limit)
        seconds.append(time.perf_counter() - start)
    del outputs
    return Profile(
        _counts(compilation, environment, memory_limit),
        min(seconds),
        len(seconds),
        sum(array.nbytes for array in arrays.values()),
        result_bytes,
        peak,
    )


def _counts(compilation: Compilation, environment: Environment, memory_limit: int | None) -> tuple[int, ...]:
    kernel = compilation.counting_kernel
    scalars, arrays = arguments(compilation, environment)
    if compilation.optimized.cost.nanoseconds <= INTERPRETED:
        limit = memory.available() if memory_limit is None else memory_limit
        outputs, _ = loop_interpreter.run(kernel, scalars, arrays, limit)
    else:
        text = compilation.rendered(kernel)
        outputs = load(text, kernel, compilation.backend)(scalars, arrays, memory_limit)
    return tuple(outputs[COUNTS.name].tolist())
