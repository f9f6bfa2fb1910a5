"""The iterations of a chain, all at once: NumPy arrays with an axis per loop whose length is constant.

    for i in 0:m: for j in 0:n: val(i * n + j)       i is m × 1, j is 1 × n: their sum is m × n
    for i in 0:m: for p in pos(i):pos(i + 1): val(p)  p is a vector, and so is i, repeated

What depends on some of the loops is computed once for each of their iterations. Positions that go on by
the same step along each axis are *regular*: nothing is stored of them, and where an address is an affine
expression of such positions, what is read there is a view.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.host.memory import require_memory
from storel.semiring import Semiring
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.unpacking.entry_values import evaluate_value, is_computed
from storel.storage.unpacking.extremes import LARGEST_INT32, Interval, are_within, interval, is_always
from storel.storage.unpacking.regular import Address, Regular, address_of
from storel.storage.unpacking.vectors import OPERATORS, Undefined, evaluate_vector, read_at
from storel.storage.unpacking.words import words_around
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Expression, Name

LONG = 16
"""How long NumPy's innermost loop must be: it takes as much time to begin one as for a few elements."""

CONDITIONS = frozenset({"and", "or", "==", "!=", "<", "<=", ">", ">="})


@dataclass
class Iterations:
    """The iterations of some loops, in their order, and what the variables are in each.

    Variables have ``shape`` once they are broadcast to it; the order is that of C.
    """

    arrays: Mapping[str, Array]
    sizes: Mapping[str, int]
    shape: tuple[int, ...] = ()
    passing: Array | None = None
    """Which iterations there really are; None says all."""

    _vectors: dict[str, Array] = field(default_factory=dict[str, Array])
    """Variables, with as many axes as the shape, some of them of length 1."""

    _regular: dict[str, Regular] = field(default_factory=dict[str, Regular])
    _bounds: dict[str, Interval | None] = field(default_factory=dict[str, "Interval | None"])
    """Between which numbers the elements of vectors lie, as far as anyone asked."""

    _computed: dict[Expression, Any] = field(default_factory=dict[Expression, Any])
    """What is read by computed addresses, and these: keys, values and guards often share some."""

    @classmethod
    def of(
        cls,
        chain: Chain,
        arrays: Mapping[str, Array],
        sizes: Mapping[str, int],
        *,
        may_hold_others: bool = False,
    ) -> Iterations:
        """Return the iterations of a whole chain.

        ``may_hold_others`` says that iterations may be among them that do not pass the last guard; then
        ``passing`` tells which ones do.

        Raises FormatError where the mapping reads what an array has not, MemoryLimitError where there are
        too many.
        """
        found = cls(arrays, sizes)
        for place, step in enumerate(chain.steps):
            match step:
                case ChainLoop():
                    for word in words_around(step, chain.steps[place + 1 :]):
                        if found._is_defined(word):
                            found._keep(np.broadcast_to(found.value(word) != 0, found.shape))
                    found._enter(step)
                case ChainGuard(condition):
                    if is_always(condition, found._extremes):
                        continue
                    passing = np.broadcast_to(found.value(condition), found.shape).astype(bool, copy=False)
                    is_last = may_hold_others and step is chain.steps[-1]
                    if is_last and found._is_defined(*chain.keys, chain.leaf) and _are_most(passing):
                        found.passing = passing
                    else:
                        found._keep(passing)
        return found

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def value(self, expression: Expression) -> Any:
        """Return what an expression is in each iteration, to be broadcast to ``shape``."""
        match expression:
            case Binary(operator, left, right) if operator in CONDITIONS:
                try:
                    return OPERATORS[operator](self.value(left), self.value(right))
                except Undefined:  # perhaps only where the left side decides
                    found = None
            case _:
                found = self._read(expression)
        if found is not None:
            return found
        return evaluate_vector(expression, self._names(expression), self.arrays)

    def entry(self, value: Expression, ring: Semiring) -> Any:
        """Return what the value of an entry is in each iteration, over a semiring."""
        if not is_computed(value, self.arrays):
            return self.value(value)
        if not self.count:  # nothing may be read then
            return np.empty(self.shape, bool)
        return evaluate_value(value, self._names(value), self.arrays, ring)

    def vector(self, expression: Expression) -> Array:
        """Return what an expression is in each iteration, one element for each."""
        return np.broadcast_to(self.value(expression), self.shape).reshape(-1)

    def runs(self, expression: Expression) -> tuple[Array, Array]:
        """Return the values of an expression in the order of the iterations, and how often each comes.

        The value may be the same as the one before.
        """
        found = np.asarray(self.value(expression))
        found = found.reshape((1,) * (len(self.shape) - found.ndim) + found.shape)
        outer = max((axis + 1 for axis, length in enumerate(found.shape) if length > 1), default=0)
        inner = math.prod(self.shape[outer:])
        values = np.broadcast_to(found, (*self.shape[:outer], *found.shape[outer:])).reshape(-1)
        first = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1) if len(values) else np.arange(0)
        return values[first], np.diff(first, append=len(values)) * inner

    def keys(self, chain: Chain, index_type: np.dtype[Any]) -> Array:
        """Return the keys that the iterations make: rank × count coordinates."""
        coordinates = np.empty((len(chain.keys), self.count), dtype=index_type)
        self.write_keys(chain, coordinates)
        return coordinates

    def write_keys(self, chain: Chain, coordinates: Array) -> None:
        """Write the keys that the iterations make to rows of an array: rank × count."""
        for row, key in zip(coordinates, chain.keys, strict=True):
            self.write(key, row)

    def write(self, expression: Expression, elements: Array) -> None:
        """Write what an expression is in each iteration to a vector of as many elements."""
        found = elements.reshape(self.shape)
        if self.shape and self.shape[-1] < LONG:
            address = self._address(expression)
            if address is not None and np.size(address.base) > 1:
                address.write(found)
                return
        found[...] = self.value(expression)

    def _read(self, expression: Expression) -> Array | None:
        """Return what is read at a regular address, else None."""
        match expression:
            case Name(name) if name in self._regular:
                return self._regular[name].values()
            case Call(Name(array), _) if array in self.arrays and not self.count:
                return np.empty(self.shape, self.arrays[array].dtype)
            case Call(Name(array), (index,)) if array in self.arrays and self.shape:
                address = self._address(index)
                if address is not None:
                    return address.read(array, self.arrays[array], expression.span)
                if index not in self._computed:
                    self._computed[index] = self.value(index)
                if expression not in self._computed:
                    positions = self._computed[index]
                    self._computed[expression] = read_at(
                        array, self.arrays[array], positions, expression.span
                    )
                return self._computed[expression]
            case _:
                return None

    def _address(self, expression: Expression) -> Address | None:
        """Return a number as a regular position, counted from what does not change along the last axis."""
        named = _names_in(expression)
        known = {name: vector for name, vector in self._vectors.items() if name in named}
        if named & self.arrays.keys() or any(vector.shape[-1] > 1 for vector in known.values()):
            return None
        names = {**self.sizes, **self._wide_unless_small(known, expression)}
        return address_of(expression, names, self._regular, self.shape)

    def _names(self, expression: Expression) -> dict[str, Any]:
        """Return sizes and the variables of an expression, in as many bits as it needs."""
        named = _names_in(expression)
        vectors = {name: vector for name, vector in self._vectors.items() if name in named}
        vectors |= {name: found.values() for name, found in self._regular.items() if name in named}
        return {**self.sizes, **self._wide_unless_small(vectors, expression)}

    def _wide_unless_small(self, vectors: dict[str, Array], expression: Expression) -> dict[str, Array]:
        if all(vector.dtype != np.int32 for vector in vectors.values()):
            return vectors
        if isinstance(expression, Name) or are_within(expression, self._extremes, LARGEST_INT32):
            return vectors
        return {
            name: vector.astype(np.int64) if vector.dtype == np.int32 else vector
            for name, vector in vectors.items()
        }

    def _extremes(self, name: str) -> Interval | None:
        """Return between which numbers a size or a variable lies."""
        if name in self._regular:
            return self._regular[name].extremes
        if name not in self._vectors:
            return (self.sizes[name], self.sizes[name]) if name in self.sizes else None
        if name not in self._bounds:
            vector = self._vectors[name]
            is_known = vector.dtype.kind == "i" and vector.size
            self._bounds[name] = (int(vector.min()), int(vector.max())) if is_known else None
        return self._bounds[name]

    def _is_defined(self, *expressions: Expression) -> bool:
        """Return whether it is proven that expressions can be computed where no guard holds, too."""
        for each in expressions:
            match each:
                case Name():
                    pass
                case Call(Name(array), (index,)) if array in self.arrays:
                    bounds = interval(index, self._extremes)
                    if bounds is None or bounds[0] < 0 or bounds[1] >= len(self.arrays[array]):
                        return False
                case _:
                    if interval(each, self._extremes) is None:
                        return False
        return True

    def _keep(self, kept: Array) -> None:
        """Leave only some of the iterations."""
        if not kept.all():
            for name, vector in self._all_vectors():
                self._vectors[name] = np.broadcast_to(vector, self.shape)[kept]
            self._regular, self._bounds, self._computed = {}, {}, {}
            self.shape = (int(np.count_nonzero(kept)),)

    def _enter(self, loop: ChainLoop) -> None:
        """Bind a loop's variables."""
        low, high = self._bound(loop.low), self._bound(loop.high)
        if not np.ndim(low) and not np.ndim(high):
            self._add_axis(max(int(high - low), 0))
            self._bind(loop, Regular.along_last(int(low), self.shape))
            return
        lengths = np.broadcast_to(np.maximum(high - low, 0), self.shape)
        total = int(lengths.sum())
        self._require_memory(total)
        length = total // max(lengths.size, 1)
        is_constant = bool((lengths == length).all())
        lows = np.broadcast_to(low, self.shape)
        are_consecutive = _are_consecutive(lows.reshape(-1), np.broadcast_to(high, self.shape).reshape(-1))
        if is_constant:
            self._add_axis(length)
        else:
            self._repeat(lengths)
        if are_consecutive:
            first = int(lows.reshape(-1)[0]) if total else 0
            self._bind(loop, Regular.consecutive(first, self.shape))
        elif is_constant and np.size(low) == 1:
            self._bind(loop, Regular.along_last(int(np.reshape(low, ())), self.shape))
        elif is_constant:
            self._bind(loop, np.asarray(low)[..., None] + np.arange(length, dtype=np.int64))
        else:
            lengths = lengths.reshape(-1)
            ends = np.cumsum(lengths, dtype=np.int64)
            is_large = max(total, int(lows.max())) > LARGEST_INT32
            dtype = np.int64 if is_large else np.int32
            positions = np.repeat((lows.reshape(-1) - (ends - lengths)).astype(dtype), lengths)
            positions += np.arange(total, dtype=dtype)
            self._bind(loop, positions)

    def _bound(self, bound: Expression) -> Any:
        """Return a bound of a loop, a number where it is proven to be one."""
        found = interval(bound, self._extremes, LARGEST_INT32)
        return found[0] if found is not None and found[0] == found[1] else self.value(bound)

    def _bind(self, loop: ChainLoop, positions: Array | Regular) -> None:
        if isinstance(positions, Regular):
            self._regular[loop.position] = positions
        else:
            self._vectors[loop.position] = positions
        self._computed = {}
        if not self.count:  # nothing may be read then
            self._vectors = {name: np.empty(self.shape, each.dtype) for name, each in self._all_vectors()}
            self._regular, self._bounds = {}, {}
        if loop.array is not None and loop.element is not None:
            span = loop.low.span.to(loop.high.span)
            read = Call(Name(loop.array), (Name(loop.position),), span=span)
            self._vectors[loop.element] = self.value(read)

    def _all_vectors(self) -> list[tuple[str, Array]]:
        regular = [(name, found.values()) for name, found in self._regular.items()]
        return [*self._vectors.items(), *regular]

    def _require_memory(self, count: int) -> None:
        """Raise MemoryLimitError if so many iterations are too many."""
        variables = len(self._vectors) + len(self._regular)
        require_memory(8 * count * (variables + 1), "a list of what the mapping goes through")

    def _add_axis(self, length: int) -> None:
        self._require_memory(self.count * length)
        self._vectors = {name: vector[..., None] for name, vector in self._vectors.items()}
        self._regular = {name: found.with_axis() for name, found in self._regular.items()}
        self.shape = (*self.shape, length)

    def _repeat(self, lengths: Array) -> None:
        """Make the iterations a list in which each occurs as often as these lengths say."""
        for name, vector in self._all_vectors():
            repeated = np.broadcast_to(vector, self.shape).reshape(-1)
            self._vectors[name] = np.repeat(repeated, lengths.reshape(-1))
        self._regular = {}
        self.shape = (int(lengths.sum()),)


def _are_most(passing: Array) -> bool:
    """Return whether it costs less to compute what is not needed than to leave it out."""
    return 4 * int(np.count_nonzero(passing)) > passing.size


@lru_cache(maxsize=1024)
def _names_in(expression: Expression) -> frozenset[str]:
    return free_names(expression)


def _are_consecutive(low: Array, high: Array) -> bool:
    """Return whether each loop begins where the one before it ended."""
    return bool((low[1:] == high[:-1]).all() and (low <= high).all())
