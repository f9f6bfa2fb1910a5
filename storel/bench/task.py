"""What one process measures and what it finds, and both as JSON between processes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from storel.bench.data import Data
from storel.errors import UnknownNameError

BACKENDS = ("c", "numba")
"""The backends that are timed."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Who is timed, in how many rounds, and with how many threads each."""

    backends: tuple[str, ...]
    rivals: tuple[str, ...]
    repetitions: int
    threads: int = 1

    @classmethod
    def of(cls, backends: Sequence[str], rivals: Sequence[str], repetitions: int, threads: int) -> Contest:
        """Return a contest; raises UnknownNameError for a backend that is none."""
        for name in backends:
            if name not in BACKENDS:
                raise UnknownNameError(f"unknown backend '{name}'", expected=", ".join(BACKENDS))
        return cls(tuple(backends), tuple(rivals), repetitions, threads)


@dataclass(frozen=True, slots=True)
class Task:
    """One kernel on one kind of data.

    ``mebibytes`` is the size of a contraction, whose subscripts ``kernel`` is; None for all other kernels.
    """

    kernel: str
    data: Data
    contest: Contest
    mebibytes: float | None = None

    def without(self, rival: str) -> Task:
        """Return the same task for the other contestants."""
        rivals = tuple(name for name in self.contest.rivals if name != rival)
        return replace(self, contest=replace(self.contest, rivals=rivals))

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        found = json.loads(text)
        return cls(found["kernel"], Data(**found["data"]), Contest.of(**found["contest"]), found["mebibytes"])


@dataclass(frozen=True, slots=True)
class Timing:
    """What one contestant takes: times in seconds, ``first`` with all preparation by a compiler.

    ``peak`` is by how many bytes resident memory rose in the first call, None where that is not known.
    ``plan`` is storel's. ``is_right`` says whether the answer is that of the reference; ``failure`` is what a
    contestant said instead of an answer.
    """

    name: str
    minimum: float = 0.0
    median: float = 0.0
    first: float = 0.0
    peak: int | None = None
    is_right: bool = False
    is_rival: bool = True
    failure: str = ""
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """All contestants on one kernel, and the seconds below which the machine's limits allow none.

    ``moved`` are the bytes of operands and answer, ``made`` those of the answer.
    """

    kernel: str
    data: str
    timings: tuple[Timing, ...]
    limits: Mapping[str, float]
    moved: int
    made: int
    flops: int

    @classmethod
    def of_failure(cls, task: Task, reason: str) -> Measurement:
        """Return what is known where the whole process failed."""
        failed = Timing("process", is_rival=False, failure=reason)
        return cls(task.kernel, task.data.name, (failed,), {}, 0, 0, 0)

    def with_failure(self, rival: str, reason: str) -> Measurement:
        """Return the same measurement, with a rival that gave no answer."""
        return replace(self, timings=(*self.timings, Timing(rival, failure=reason)))

    @property
    def best(self) -> Timing | None:
        """The fastest rival whose answer is right."""
        rivals = [timing for timing in self.timings if timing.is_rival and timing.is_right]
        return min(rivals, key=lambda timing: timing.minimum, default=None)

    @property
    def limit(self) -> tuple[str, float]:
        """The limit that binds, by its name, and its seconds; none where nothing was measured."""
        return max(self.limits.items(), key=lambda each: each[1], default=("none", 0.0))

    def ratio(self, timing: Timing) -> float | None:
        """Return a contestant's time over the best rival's; None if it is wrong, or no rival is right."""
        best = self.best
        return timing.minimum / best.minimum if best is not None and timing.is_right else None

    @property
    def is_sound(self) -> bool:
        """Whether no answer is wrong and storel has one; a rival may fail, saying so."""
        return all(timing.is_right or (timing.is_rival and timing.failure) for timing in self.timings)

    def as_object(self) -> dict[str, Any]:
        """Return what is written as JSON: the fields, and what is derived of them."""
        best, (limit, seconds) = self.best, self.limit
        found: dict[str, Any] = asdict(self)
        found |= {"best_rival": None if best is None else best.name, "limit": limit, "limit_seconds": seconds}
        for entry, timing in zip(found["timings"], self.timings, strict=True):
            entry["ratio_to_rival"] = self.ratio(timing)
            entry["ratio_to_limit"] = timing.minimum / seconds if timing.is_right else None
        return found

    @classmethod
    def from_object(cls, found: Mapping[str, Any]) -> Measurement:
        """Return what the fields as JSON stand for."""
        others: dict[str, Any] = {name: value for name, value in found.items() if name != "timings"}
        return cls(timings=tuple(Timing(**entry) for entry in found["timings"]), **others)
