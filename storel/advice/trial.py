"""A program with its operands stored in one way or another: what it is expected to take, and takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from storel.execution.run import execute
from storel.execution.script import Runner
from storel.scalars import ScalarType
from storel.source import Source
from storel.storage.coordinates import combine
from storel.storage.tensor import Tensor
from storel.syntax.analyze import Analysis

Tensors: TypeAlias = Mapping[str, Tensor]

RUNS = 5
PATIENCE = 1.0
"""Seconds after which a program is not run again to time it."""

ROUNDING = {ScalarType.FLOAT32: 1e-4}
USUAL_ROUNDING = 1e-9
"""How far values may differ, beside the largest: other formats are other orders of sums."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The nanoseconds of the fastest of several runs, and the results."""

    nanoseconds: float
    results: Tensors


@dataclass(frozen=True, slots=True)
class Trial:
    """A script whose data is loaded, to be planned and run with its operands stored otherwise."""

    runner: Runner
    analysis: Analysis

    @classmethod
    def of(cls, runner: Runner, source: Source) -> Trial:
        """Load what the script loads, and analyze it."""
        return cls(runner, runner.prepare(source))

    @property
    def operands(self) -> dict[str, Tensor]:
        """The tensors that the results are made of, numbers left out."""
        tensors = self.runner.environment.tensors
        names = self.runner.operands(self.analysis)
        return {name: tensors[name] for name in names if tensors[name].rank > 0}

    def expected(self, tensors: Tensors) -> float:
        """Return the estimated nanoseconds with some operands stored otherwise."""
        return self.runner.expected(self.analysis, tensors)

    def measured(self, tensors: Tensors) -> Measured:
        """Run the program several times with some operands stored otherwise."""
        other = self.runner.again(self.analysis, tensors, runs=True)
        kernels = other.outcome.compilations.values()
        seconds = [other.outcome.seconds["run"]]
        while kernels and len(seconds) < RUNS and sum(seconds) < PATIENCE:
            start = time.perf_counter()
            for kernel in kernels:
                execute(kernel, other.environment, self.runner.options.memory_limit)
            seconds.append(time.perf_counter() - start)
        return Measured(1e9 * min(seconds), other.outcome.results)


def is_same(results: Tensors, others: Tensors) -> bool:
    """Return whether tensors of the same names are equal but for rounding."""
    return results.keys() == others.keys() and all(_is_close(results[name], others[name]) for name in results)


def _is_close(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    (keys, values), (other_keys, other_values) = one.to_coo(), other.to_coo()
    rounding = ROUNDING.get(one.type, USUAL_ROUNDING)
    scale = rounding * float(np.abs(values[np.isfinite(values)]).max(initial=0))
    if np.array_equal(keys, other_keys):
        return np.allclose(values, other_values, rtol=rounding, atol=scale, equal_nan=True)
    # What one of them lacks may be a sum that is 0 but for rounding.
    both = np.concatenate((values.astype(float), -other_values.astype(float)))
    _, differences = combine(np.concatenate((keys, other_keys), axis=1), both, one.shape)
    return bool((np.abs(differences) <= scale).all())
