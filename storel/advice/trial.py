"""A program with its operands stored in one way or another: what it is expected to take, and takes."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from storel.arrays import Array
from storel.execution.run import execute
from storel.execution.script import Runner
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.source import Source
from storel.storage.coordinates import sorted_entries, starts
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


def is_same(results: Tensors, others: Tensors, types: Collection[ScalarType] = ()) -> bool:
    """Return whether tensors of the same names are equal but for rounding.

    They are computed from data of some ``types``, the coarsest of which says how far they may differ.
    """
    return results.keys() == others.keys() and all(
        _is_close(results[name], others[name], types) for name in results
    )


def _is_close(one: Tensor, other: Tensor, types: Collection[ScalarType]) -> bool:
    """Return whether two tensors have equal entries; real ones may differ by rounding."""
    if one.shape != other.shape:
        return False
    values, others = _aligned(one, other)
    if not (one.type.is_real or other.type.is_real):
        return np.array_equal(values, others)
    rounding = max(ROUNDING.get(each, USUAL_ROUNDING) for each in (one.type, other.type, *types))
    # Beside the largest: what one of them lacks may be a sum that is 0 but for rounding.
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0))
    return np.allclose(values, others, rtol=rounding, atol=rounding * largest, equal_nan=True)


def _aligned(one: Tensor, other: Tensor) -> tuple[Array, Array]:
    """Return the values of two tensors of one shape at all keys that one of them has, in their order.

    What a tensor lacks is the zero of its semiring.
    """
    lists = one.to_coo(), other.to_coo()
    (keys, values), (other_keys, other_values) = lists
    if np.array_equal(keys, other_keys):
        return values, other_values
    both = np.concatenate((keys, other_keys), axis=1)
    both, origins, _ = sorted_entries(both, np.arange(both.shape[1]), one.shape)
    places = np.empty_like(origins)
    places[origins] = np.cumsum(starts(both)) - 1
    count = int(places.max()) + 1
    aligned: list[Array] = []
    for tensor, (_, entries), mine in zip((one, other), lists, np.split(places, [len(values)]), strict=True):
        ring = SEMIRINGS[tensor.semiring]
        filled = np.full(count, ring.zero, ring.with_zero(tensor.type).dtype)
        filled[mine] = entries
        aligned.append(filled)
    return aligned[0], aligned[1]
