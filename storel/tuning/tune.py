"""The most promising ways to compute a program, measured within a time limit; the fastest is remembered.

One kind of choice is varied after the other, each in what was the fastest before: operands converted or not
with the terms that the search priced, the stores of intermediate results, how rows are put in order, and
whether several threads compute. Within a kind the order is that of the estimates. So tens of kernels are
measured where all combinations would be hundreds. Tuning by measurement is that of Vasilache et al., "Tensor
Comprehensions", 2018, whose genetic search has no model of costs before it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TypeAlias

from storel.advice.trial import is_same
from storel.compilation import schedule
from storel.compilation.compiler import Compilation, Task
from storel.compilation.expectation import call_time, expected_time
from storel.compilation.schedule import Schedule
from storel.compilation.scheduling import compile_first, note_of, planned
from storel.errors import DataError, StorelError, TypeMismatchError
from storel.execution.run import execute
from storel.execution.script import Runner
from storel.source import Source
from storel.storage.compose import operand_of
from storel.tuning.candidates import (
    Candidate,
    describe,
    divisions,
    gatherings,
    is_alike,
    of_estimates,
    stores,
    terms,
)
from storel.tuning.measure import Measured, fastest
from storel.tuning.rows import Row, Tuned, Tuning

Report: TypeAlias = Callable[[str, float], None]
"""Is told what is tried, and which share of the time has passed."""

SECONDS = 20.0
"""The time for each definition by default."""

UNLIKELY = 10.0
"""How many times the least expected time one may be expected to take to be tried."""

WORTHWHILE = 0.95
"""The share of another's time below which one is preferred: less of a difference is noise."""


def tune(
    runner: Runner,
    source: Source,
    seconds: float = SECONDS,
    report: Report = lambda _, __: None,
    finished: Callable[[Tuned], None] = lambda _: None,
) -> Tuning:
    """Run a program, measure other ways to compute each definition, and remember the fastest.

    ``seconds`` is how long each definition is tuned; a kernel that runs is not interrupted. ``finished`` is
    told of each definition when what was found for it is remembered. Raises DataError if nothing is compiled,
    TypeMismatchError for what is no time, StorelError where the program itself fails.
    """
    if not isinstance(seconds, Real) or not seconds >= 0:
        raise TypeMismatchError(
            "this is no time to tune for", expected="seconds, from 0", found=repr(seconds)
        )
    found: list[Tuned] = []

    def compiled(task: Task) -> Compilation:
        search = Search(task, seconds, report)
        found.append(search.run())
        finished(found[-1])
        return search.best.compilation

    runner.compiler = compiled
    runner.run(source)
    if not found:
        raise DataError("there is nothing to tune", expected="a program that is compiled and run")
    return Tuning(tuple(found))


def forgotten(runner: Runner, source: Source) -> Tuning:
    """Run a program as it is estimated to be the fastest, and forget what was remembered for it.

    Raises DataError if the system does not let a note go.
    """
    found: list[Tuned] = []

    def compiled(task: Task) -> Compilation:
        first = compile_first(task)
        name = note_of(task, first)
        if name is not None:
            schedule.drop(name)
        own = of_estimates(planned(task, first))
        expected = call_time(own.compilation)
        row = Row(describe(own, own), own.schedule, expected, is_chosen=True)
        found.append(Tuned(task.definition.name, (row,), 0, is_remembered=False))
        return own.compilation

    runner.compiler = compiled
    runner.run(source)
    return Tuning(tuple(found))


@dataclass
class Search:
    """The search for the fastest way to compute one definition."""

    task: Task
    seconds: float
    report: Report
    rows: dict[Schedule, Row] = field(default_factory=dict[Schedule, Row])
    seen: list[Candidate] = field(default_factory=list[Candidate])
    skipped: int = 0

    def __post_init__(self) -> None:
        self.start = time.perf_counter()
        self.first = compile_first(self.task)
        self.best = self.own = of_estimates(planned(self.task, self.first))
        self.fastest = math.inf

    def run(self) -> Tuned:
        """Try what there is time for; remember the winner, or forget what was remembered before."""
        reference = self._measured(self.own)
        self.result, self.fastest = reference.result, reference.nanoseconds
        self._note(self.own, measured=reference.nanoseconds)
        self._try(terms(self.task, self.first, self.own.compilation))
        for kind in (stores, gatherings, divisions):
            self._try(kind(self.best))
        self._confirm()
        chosen = self.best.schedule
        self.rows[chosen] = replace(self.rows[chosen], is_chosen=True)
        return Tuned(self.task.definition.name, tuple(self.rows.values()), self.skipped, self._remembered())

    def _remembered(self) -> bool:
        name = note_of(self.task, self.first)
        if name is None:
            return False
        if self.best is not self.own:
            return schedule.keep(name, self.best.schedule)
        schedule.drop(name)
        return True

    def _try(self, kind: Iterable[Candidate]) -> None:
        """Measure candidates, those of the least expected time first, and take the fastest if it pays."""
        candidates: list[Candidate] = []
        for candidate in kind:  # which may be searched for while they are listed
            candidates.append(candidate)
            if self._spent > self.seconds:
                break
        candidates.sort(key=lambda each: expected_time(each.compilation))
        likely = min(expected_time(each.compilation) for each in (self.own, self.best, *candidates))
        best, least = self.best, WORTHWHILE * self.fastest
        for candidate in candidates:
            if any(is_alike(candidate, each) for each in (self.own, *self.seen)):
                continue
            self.seen.append(candidate)
            if not self._is_likely(candidate, likely):
                self.skipped += 1
                continue
            nanoseconds = self._tried(candidate)
            if nanoseconds < least:
                best, least = candidate, nanoseconds
        if best is not self.best:
            self.best, self.fastest = best, least

    def _is_likely(self, candidate: Candidate, least: float) -> bool:
        """Return whether a candidate may be the fastest, and there is the time to run it."""
        expected, best = (expected_time(each.compilation) for each in (candidate, self.best))
        left = 1e9 * (self.seconds - self._spent)
        ratio = self.fastest / best if best else 1.0
        return expected <= UNLIKELY * least and left > 0 and ratio * expected < left

    def _tried(self, candidate: Candidate) -> float:
        """Return the nanoseconds of a candidate, infinitely many if it fails or has another result."""
        try:
            measured = self._measured(candidate)
        except StorelError as error:
            self._note(candidate, objection=error.message)
            return math.inf
        if not is_same({"": measured.result}, {"": self.result}, self.task.environment.types):
            self._note(candidate, objection="another result; please report this", is_wrong=True)
            return math.inf
        self._note(candidate, measured=measured.nanoseconds)
        return measured.nanoseconds

    def _measured(self, candidate: Candidate) -> Measured:
        """Run a candidate; its time includes that of converting its operands."""
        compilation, environment = candidate.compilation, self.task.environment
        text = describe(candidate, self.own)
        self.report(f"{self.task.definition.name}: {text}", min(1.0, self._spent / (self.seconds or 1.0)))
        _ = compilation.compiled
        start = time.perf_counter()
        for name, tensor in compilation.converted.items():
            environment.tensors[operand_of(name)].stored_as(tensor.storage)
        converting = 1e9 * (time.perf_counter() - start) if compilation.converted else 0.0
        limit = self.task.options.memory_limit
        found = fastest(lambda: execute(compilation, environment, limit), self.fastest - converting)
        return replace(found, nanoseconds=found.nanoseconds + converting)

    def _confirm(self) -> None:
        """Measure the winner and the compiler's own choice once more, which stays unless it is slower."""
        if self.best is self.own:
            return
        self.fastest = math.inf  # both are run as often
        own, winner = (self._again(each) for each in (self.own, self.best))
        self.fastest = winner
        if self.fastest > WORTHWHILE * own:
            self.best, self.fastest = self.own, own

    def _again(self, candidate: Candidate) -> float:
        """Return the fastest time of a candidate, which is measured anew."""
        row = self.rows[candidate.schedule]
        assert row.measured is not None
        found = min(row.measured, self._measured(candidate).nanoseconds)
        self.rows[candidate.schedule] = replace(row, measured=found)
        return found

    def _note(
        self,
        candidate: Candidate,
        *,
        measured: float | None = None,
        objection: str | None = None,
        is_wrong: bool = False,
    ) -> None:
        text, expected = describe(candidate, self.own), call_time(candidate.compilation)
        self.rows[candidate.schedule] = Row(
            text, candidate.schedule, expected, measured, objection, is_wrong=is_wrong
        )

    @property
    def _spent(self) -> float:
        return time.perf_counter() - self.start
