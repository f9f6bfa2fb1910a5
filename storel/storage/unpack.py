"""Arrays → entries: the mapping is enumerated, all iterations of a loop at once.

What a mapping means is the sum of the entries that its chains make; here they are made with NumPy
vectors, one element per iteration of the loops so far, for a part of the outermost loop after the other, so
that the vectors stay in the processor's cache. Loops are interchanged where that makes the keys ascend:

    for bi: for p, bj in idx(pos(bi):pos(bi + 1)): for ii: key (bi * r + ii, …)
      =  for bi: for ii: for p, bj in idx(pos(bi):pos(bi + 1)): key (bi * r + ii, …)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.semiring import SEMIRINGS
from storel.storage.blocks import count_unlike
from storel.storage.chain import Chain, ChainGuard, ChainLoop
from storel.storage.coordinates import combine
from storel.storage.formats import Format
from storel.storage.iterations import Iterations
from storel.storage.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Name, Number, Unary

Array: TypeAlias = NDArray[Any]

ELEMENTS_AT_ONCE = 2**18
"""How many elements of arrays are read in one go."""

INT64 = np.dtype(np.int64)


def enumerate_entries(
    storage: Format,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    semiring: str,
    index_type: np.dtype[Any] = INT64,
) -> tuple[Array, Array]:
    """Return the entries of a stored tensor: sorted coordinates (rank × entries) and values.

    Entries that share a key are added; what is the semiring's zero is left out. ``index_type`` must hold
    every key.
    """
    ring = SEMIRINGS[semiring]
    listing = Listing(len(storage.extents), index_type)
    for chain in storage.chains:
        listing.expect(entries_at_most(chain, arrays, ring.zero))
        for part in slices(in_key_order(chain, arrays, sizes), arrays, sizes):
            listing.add(part, Iterations.of(part, arrays, sizes), ring.zero)
    return combine(*listing.entries, tuple(sizes[name] for name in storage.extents), ring)


def count_nonzero_reads(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> int:
    """Return how many iterations of all chains read a value that is not the semiring's zero."""
    zero, total = SEMIRINGS[semiring].zero, 0
    for chain in storage.chains:
        for part in slices(chain, arrays, sizes):
            made = Iterations.of(part, arrays, sizes)
            total += int(np.count_nonzero(made.vector(part.leaf) != zero))
    return total


def slices(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Iterator[Chain]:
    """Yield chains that share the iterations of the outermost loop, so that each needs little memory."""
    match chain.steps:
        case (ChainLoop() as loop, *inner):
            low = int(evaluate_vector(loop.low, sizes, arrays))
            high = int(evaluate_vector(loop.high, sizes, arrays))
            parts = 1 + sum(map(len, arrays.values())) // ELEMENTS_AT_ONCE
            step = max(-(-(high - low) // parts), 1)
            for start in range(low, max(high, low + 1), step):
                part = replace(loop, low=Number(start), high=Number(min(start + step, high)))
                yield replace(chain, steps=(part, *inner))
        case _:
            yield chain


def in_key_order(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Chain:
    """Return a chain that makes the same entries, with the loops that make earlier keys further outside.

    Loops are moved over those on which their bounds do not depend.
    """
    chain = _interchanged(chain, arrays, sizes)
    ordered: list[ChainLoop | ChainGuard] = []
    for step in chain.steps:
        place = len(ordered)
        while place and isinstance(step, ChainLoop) and _commute(ordered[place - 1], step, chain, arrays):
            place -= 1
        ordered.insert(place, step)
    return replace(chain, steps=tuple(ordered))


def _interchanged(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Chain:
    """Move the second loop over the first one, on which its bounds depend, if they leave out few iterations.

    for o: for i in low(o):high(o)  =  for i: for o: if low(o) <= i < high(o)
    """
    match chain.steps:
        case (ChainLoop() as outer, ChainLoop(position, low, high, None) as inner, *rest):
            bounds = free_names(low) | free_names(high)
            is_earlier = _first_key(inner, chain) < _first_key(outer, chain)
            if not is_earlier or bounds & arrays.keys() or not bounds & {outer.position, outer.element}:
                return chain
        case _:
            return chain
    around = Iterations.of(replace(chain, steps=(outer,)), arrays, sizes)
    lows, highs = around.vector(low), around.vector(high)
    first, last = int(lows.min(initial=0)), int(highs.max(initial=0))
    if (last - first) * around.count > 2 * np.maximum(highs - lows, 0).sum():
        return chain
    name = Name(position)
    guard = ChainGuard(Binary("and", Binary("<=", low, name), Binary("<", name, high)))
    inner = replace(inner, low=Number(first), high=Number(last))
    return replace(chain, steps=(inner, outer, guard, *rest))


def _commute(
    outer: ChainLoop | ChainGuard, inner: ChainLoop, chain: Chain, arrays: Mapping[str, Array]
) -> bool:
    """Return whether the inner loop can be the outer one, and makes an earlier key."""
    if isinstance(outer, ChainGuard) or inner.array is not None:
        return False
    bounds = free_names(inner.low) | free_names(inner.high)
    if bounds & {outer.position, outer.element, *arrays}:
        return False
    return _first_key(inner, chain) < _first_key(outer, chain)


def _first_key(loop: ChainLoop, chain: Chain) -> int:
    """Return the number of the first key that a loop's variables are part of; 0 if there is none."""
    variables = {loop.position, loop.element}
    return next((number for number, key in enumerate(chain.keys) if free_names(key) & variables), 0)


def entries_at_most(chain: Chain, arrays: Mapping[str, Array], zero: Any) -> int:
    """Return how many entries a chain has if it reads no value twice."""
    match chain.leaf:
        case Call(Name(values), _) | Unary("-", Call(Name(values), _)) if values in arrays:
            return count_unlike(arrays[values], zero)
        case _:
            return 0


class Listing:
    """The entries that were made so far, in arrays with places for more."""

    def __init__(self, rank: int, index_type: np.dtype[Any]) -> None:
        self._coordinates = np.empty((rank, 0), dtype=index_type)
        self._values = np.empty(0, dtype=bool)
        self._count = 0

    @property
    def entries(self) -> tuple[Array, Array]:
        return self._coordinates[:, : self._count], self._values[: self._count]

    def expect(self, count: int) -> None:
        """Make places for ``count`` more entries."""
        if self._count + count > len(self._values):
            self._move(self._count + count, self._values.dtype)

    def _move(self, places: int, dtype: np.dtype[Any]) -> None:
        coordinates, values = self.entries
        self._coordinates = np.empty((len(coordinates), places), dtype=coordinates.dtype)
        self._coordinates[:, : self._count] = coordinates
        self._values = np.empty(places, dtype)
        self._values[: self._count] = values

    def add(self, chain: Chain, made: Iterations, zero: Any) -> Array | None:
        """Add the entries that iterations of a chain make, without zeros.

        Return which of them are entries; None if all are.
        """
        found = np.broadcast_to(made.value(chain.leaf), made.shape)
        dtype = np.promote_types(found.dtype, self._values.dtype)
        if dtype != self._values.dtype:
            self._move(len(self._values), dtype)
        end = self._count + made.count
        is_place = end <= len(self._values)
        values = self._values[self._count : end] if is_place else np.empty(made.count, dtype)
        values.reshape(made.shape)[...] = found
        kept = values != zero
        count = int(np.count_nonzero(kept))
        if self._count + count > len(self._values):
            self.expect(max(count, self._count))
        end = self._count + count
        coordinates = self._coordinates[:, self._count : end]
        if count == made.count:
            made.write_keys(chain, coordinates)
        else:
            values = values[kept]
            np.compress(kept, made.keys(chain, coordinates.dtype), axis=1, out=coordinates)
        if not is_place or count < made.count:
            self._values[self._count : end] = values
        self._count = end
        return None if count == made.count else kept
