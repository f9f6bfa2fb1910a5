"""The iterations of a chain, all at once: NumPy arrays with an axis per long loop whose length is constant.

    for i in 0:m: for j in 0:n: val(i * n + j)       i is m × 1, j is 1 × n: their sum is m × n
    for i in 0:m: for p in pos(i):pos(i + 1): val(p)  p is a vector, and so is i, repeated

What depends on some of the loops is computed once for each of their iterations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.memory import require_memory
from storel.storage.chain import Chain, ChainGuard, ChainLoop
from storel.storage.vectors import as_vector, evaluate_vector, read_range
from storel.syntax.nodes.expressions import Expression

Array: TypeAlias = NDArray[Any]

LONG = 16
"""How long a loop must be to have an axis: NumPy takes as much time to begin a row as for a few elements."""


@dataclass
class Iterations:
    """The iterations of some loops, in their order, and what the variables are in each.

    Variables have ``shape`` once they are broadcast to it; the order is that of C.
    """

    arrays: Mapping[str, Array]
    names: dict[str, Any]
    """Sizes, and the variables: arrays, or ranges where the shape has one axis."""

    shape: tuple[int, ...] = (1,)
    _variables: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Iterations:
        """Return the iterations of a whole chain.

        Raises FormatError where the mapping reads what an array has not, MemoryLimitError where there are
        too many.
        """
        found = cls(arrays, dict(sizes))
        for step in chain.steps:
            match step:
                case ChainLoop():
                    found._enter(step)
                case ChainGuard(condition):
                    found._keep(np.broadcast_to(found.value(condition), found.shape).astype(bool))
        return found

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def value(self, expression: Expression) -> Any:
        """Return what an expression is in each iteration, to be broadcast to ``shape``."""
        return evaluate_vector(expression, self.names, self.arrays)

    def vector(self, expression: Expression) -> Array:
        """Return what an expression is in each iteration, one element for each."""
        return np.broadcast_to(self.value(expression), self.shape).reshape(-1)

    def keys(self, chain: Chain, index_type: np.dtype[Any]) -> Array:
        """Return the keys that the iterations make: rank × count coordinates."""
        coordinates = np.empty((len(chain.keys), self.count), dtype=index_type)
        self.write_keys(chain, coordinates)
        return coordinates

    def write_keys(self, chain: Chain, coordinates: Array) -> None:
        """Write the keys that the iterations make to rows of an array: rank × count."""
        for row, key in zip(coordinates, chain.keys, strict=True):
            row.reshape(self.shape)[...] = self.value(key)

    def _keep(self, kept: Array) -> None:
        """Leave only some of the iterations."""
        if not kept.all():
            for name in self._variables:
                self.names[name] = np.broadcast_to(as_vector(self.names[name]), self.shape)[kept]
            self.shape = (int(np.count_nonzero(kept)),)

    def _enter(self, loop: ChainLoop) -> None:
        """Bind a loop's variables."""
        low, high = (np.broadcast_to(self.value(bound), self.shape) for bound in (loop.low, loop.high))
        lengths = np.maximum(high - low, 0)
        total = int(lengths.sum())
        require_memory(8 * total * (len(self._variables) + 1), "a list of what the mapping goes through")
        length = total // max(lengths.size, 1)
        if _are_consecutive(low.reshape(-1), high.reshape(-1)):
            self._repeat(lengths)
            first = int(low.reshape(-1)[0]) if total else 0
            positions = range(first, first + total)
        elif length >= LONG and (lengths == length).all():
            self._add_axis(length)
            positions = low[..., None] + np.arange(length, dtype=np.int64)
        else:
            self._repeat(lengths)
            low, lengths = low.reshape(-1), lengths.reshape(-1)
            ends = np.cumsum(lengths, dtype=np.int64)
            positions = np.arange(total, dtype=np.int64) + np.repeat(low - (ends - lengths), lengths)
        self._bind(loop.position, positions)
        if loop.array is not None and loop.element is not None:
            array = self.arrays[loop.array]
            is_range = isinstance(positions, range)
            self._bind(
                loop.element, read_range(loop.array, array, positions) if is_range else array[positions]
            )

    def _bind(self, name: str, values: Any) -> None:
        self.names[name] = values
        self._variables.append(name)

    def _add_axis(self, length: int) -> None:
        for name in self._variables:
            self.names[name] = as_vector(self.names[name])[..., None]
        self.shape = (*self.shape, length)

    def _repeat(self, lengths: Array) -> None:
        """Make the iterations a list in which each occurs as often as these lengths say."""
        if len(self.shape) > 1 or not (lengths == 1).all():
            for name in self._variables:
                vector = np.broadcast_to(as_vector(self.names[name]), self.shape).reshape(-1)
                self.names[name] = np.repeat(vector, lengths.reshape(-1))
            self.shape = (int(lengths.sum()),)


def _are_consecutive(low: Array, high: Array) -> bool:
    """Return whether each loop begins where the one before it ended."""
    return bool((low[1:] == high[:-1]).all() and (low <= high).all())
