"""Times contestants in turn: each round runs every one, so that what disturbs one disturbs all.

Threads of some libraries wait awake for more work for up to 0.2 s, which slows the next contestant. So a
contestant begins when the threads of the one before sleep, and runs twice, or longer if it is short: after
the first run its own threads are awake. One that takes long is left out of later rounds. The first call of
each is apart: it is when compilers compile, and when memory that is not there yet is taken. storel's cache is
empty then.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

from storel.api import compile, tensor  # noqa: A004
from storel.bench.answers import is_same
from storel.bench.kernels import problem_of
from storel.bench.probes import probes
from storel.bench.problem import Answer, Entries, Formulation, Operand, Problem, bytes_of
from storel.bench.rivals.table import RIVALS
from storel.bench.task import Measurement, Task, Timing
from storel.errors import StorelError
from storel.options import CallOptions
from storel.runtime.peak import peak_of
from storel.storage.tensor import Tensor

PATIENCE = 3.0
"""Seconds after which a contestant is not run again."""

CALLS = 2
"""How often a contestant runs in each round at least."""

SPAN = 0.02
"""Seconds that it runs in each round at least: what takes a millisecond needs many runs for a minimum."""

PAUSE = 0.02
"""Seconds of one look for threads that are still awake: several ticks of the system's clock, since the
processor time of other threads is updated only at ticks."""

SETTLING = 0.5
"""Seconds after which threads that do not sleep are no longer waited for."""

AWAKE = 0.25
"""The share of a processor that threads take which still look out for work."""

CACHE = "STOREL_CACHE_DIR"
"""The variable that says where storel keeps what it has compiled."""


@dataclass
class Contestant:
    """Something to run, with what its first call gave, and the seconds of all others."""

    timing: Timing
    run: Callable[[], Any]
    seconds: list[float] = field(default_factory=list[float])

    def finished(self) -> Timing:
        if not self.seconds:
            return self.timing
        return replace(self.timing, minimum=min(self.seconds), median=statistics.median(self.seconds))


def measure(task: Task, running: Callable[[str], object] = lambda _: None) -> Measurement:
    """Time a kernel on storel's backends and beside its rivals, and compare all answers.

    ``running`` is told who runs next. Raises StorelError where the data cannot be had.
    """
    problem = problem_of(task)
    reference = problem.reference
    answer = reference.answer(reference.run())
    contest = task.contest
    contestants = [_storel(problem, answer, backend, contest.threads) for backend in contest.backends]
    for name in contest.rivals:
        running(name)
        contestants += _rival(task.kernel, problem, answer, name)
    made = bytes_of(answer)
    moved = sum(map(bytes_of, problem.operands.values())) + made
    limits = probes(moved, problem.flops, problem.gathers, contest.threads)
    limiting = {name: Contestant(Timing(name), probe.run) for name, probe in limits.items()}
    _interleave([*contestants, *limiting.values()], contest.repetitions, running)
    return Measurement(
        task.kernel,
        task.data.name,
        tuple(contestant.finished() for contestant in contestants),
        {name: probe.share * min(limiting[name].seconds) for name, probe in limits.items()},
        moved,
        made,
        problem.flops,
    )


def _interleave(contestants: list[Contestant], repetitions: int, running: Callable[[str], object]) -> None:
    for turn in range(repetitions):
        first = turn % len(contestants)  # whoever follows another finds the caches as that one left them
        for contestant in contestants[first:] + contestants[:first]:
            if contestant.timing.failure:
                continue
            if sum(contestant.seconds) < PATIENCE:
                running(contestant.timing.name)
                _settle()
                contestant.seconds += _round(contestant.run)


def _round(run: Callable[[], object]) -> list[float]:
    """Return the seconds of each of the runs of a round."""
    seconds: list[float] = []
    spent = 0.0  # adding up all of them after each would take longer than the shortest runs
    while (len(seconds) < CALLS or spent < SPAN) and spent < PATIENCE:
        seconds.append(_seconds(run))
        spent += seconds[-1]
    return seconds


def _settle() -> None:
    """Wait until nothing of this process runs but this thread."""
    end = time.perf_counter() + SETTLING
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(PAUSE)
        if time.process_time() - before < AWAKE * PAUSE:
            return


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _storel(problem: Problem, answer: Answer, backend: str, threads: int) -> Contestant:
    """Return storel with its first call made; what it cannot compile or run is its failure."""
    name = f"storel {backend}"
    operands = {name: _stored(operand) for name, operand in problem.operands.items()}
    accepted = {each.name for each in fields(CallOptions)}
    options: dict[str, Any] = {"backend": backend} | ({"threads": threads} if "threads" in accepted else {})
    with _empty_cache():
        try:
            start = time.perf_counter()
            kernel = compile(problem.program, **options, **operands)
            compiling = time.perf_counter() - start
            formulation = Formulation(lambda: kernel(**operands), _answer)
            contestant = _first(formulation, answer, Timing(name, is_rival=False, plan=kernel.plan))
        except StorelError as error:
            return _failed(Timing(name, is_rival=False), error)
    contestant.timing = replace(contestant.timing, first=contestant.timing.first + compiling)
    return contestant


@contextmanager
def _empty_cache() -> Generator[None]:
    """Let nothing be remembered."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as directory:
        os.environ[CACHE] = directory
        try:
            yield
        finally:
            os.environ.pop(CACHE)
            if before is not None:
                os.environ[CACHE] = before


def _rival(kernel: str, problem: Problem, answer: Answer, name: str) -> list[Contestant]:
    """Return a rival, or nothing if it does not express the problem; whatever it raises is its failure."""
    try:
        formulation = RIVALS[name].formulate(kernel, problem)
        return [] if formulation is None else [_first(formulation, answer, Timing(name))]
    except Exception as error:  # other people's code may fail in any way, and the others go on
        return [_failed(Timing(name), error)]


def _failed(timing: Timing, error: Exception) -> Contestant:
    reason = next(iter(str(error).splitlines()), "")
    return Contestant(replace(timing, failure=f"{type(error).__name__}: {reason}"), lambda: None)


def _first(formulation: Formulation, answer: Answer, timing: Timing) -> Contestant:
    start = time.perf_counter()
    result, peak = peak_of(formulation.run)
    first = time.perf_counter() - start
    is_right = is_same(formulation.answer(result), answer)
    return Contestant(replace(timing, first=first, peak=peak, is_right=is_right), formulation.run)


def _stored(operand: Operand) -> Tensor | float:
    match operand:
        case float() | Tensor():
            return operand
        case Entries():
            return tensor((operand.coordinates, operand.values), shape=operand.shape)
        case _:
            return tensor(operand)


def _answer(result: Tensor) -> Answer:
    if result.rank == 0:
        return float(result)
    if _is_dense(result):
        return result.to_numpy()
    return result.to_scipy() if result.rank == 2 else Entries(*result.to_coo(), result.shape)


def _is_dense(result: Tensor) -> bool:
    """Return whether a result has a number at each of its places."""
    places = 1
    for extent in result.shape:
        places *= extent
    return [len(array) for array in result.arrays.values()] == [places]
