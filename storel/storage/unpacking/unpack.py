"""Arrays → entries: the mapping is enumerated, all iterations of a loop at once.

What a mapping means is the sum of the entries that its chains make; here they are made with NumPy
vectors, one element per iteration of the loops so far, for a part of the outermost loop after the other, so
that the vectors stay in the processor's cache. Loops are interchanged where that makes the keys ascend:

    for bi: for p, bj in idx(pos(bi):pos(bi + 1)): for ii: key (bi * r + ii, …)
      =  for bi: for ii: for p, bj in idx(pos(bi):pos(bi + 1)): key (bi * r + ii, …)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.semiring import SEMIRINGS, Semiring
from storel.storage.blocks import count_unlike
from storel.storage.coordinates import combine
from storel.storage.formats.chain import Chain, ChainGuard, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.unpacking.interpreted import interpreted_entries
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.vectors import Undefined, evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Call, Name, Number, Unary

ELEMENTS_AT_ONCE = 2**19
"""How many elements of the longest array are read in one go."""

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
    shape = tuple(sizes[name] for name in storage.extents)
    try:
        listed = list_entries(storage, arrays, sizes, semiring, index_type)
    except Undefined:
        raise
    except FormatError:  # it is no sum of loops, or a value is not understood
        return interpreted_entries(storage.mapping, arrays, sizes, shape, semiring, index_type)
    return combine(*listed, shape, SEMIRINGS[semiring])


def list_entries(
    storage: Format,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    semiring: str,
    index_type: np.dtype[Any] = INT64,
) -> tuple[Array, Array]:
    """Return coordinates and values as the mapping makes them, without zeros: unsorted, a key maybe twice.

    Raises FormatError where the mapping is not understood.
    """
    ring = SEMIRINGS[semiring]
    listing = Listing(len(storage.extents), index_type)
    for chain in storage.chains:
        listing.expect(entries_at_most(chain, arrays, ring.zero))
        for part in slices(in_key_order(chain, arrays, sizes), arrays, sizes):
            listing.add(part, Iterations.of(part, arrays, sizes, may_hold_others=True), ring)
    return listing.entries


def count_nonzero_reads(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> int:
    """Return how many iterations of all chains read a value that is not the semiring's zero."""
    zero, total = SEMIRINGS[semiring].zero, 0
    for chain in storage.chains:
        for part in slices((chain,), arrays, sizes):
            made = Iterations.of(part, arrays, sizes)
            total += int(np.count_nonzero(made.vector(part.leaf) != zero))
    return total


def slices(parts: Sequence[Chain], arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Iterator[Chain]:
    """Yield chains that share the iterations of the outermost loops, so that each needs little memory."""
    ranges = [_outermost(part, arrays, sizes) for part in parts]
    count = 1 + max(map(len, arrays.values()), default=0) // ELEMENTS_AT_ONCE
    step = max(-(-sum(map(len, ranges)) // count), 1)
    for part, outermost in zip(parts, ranges, strict=True):
        for start in range(outermost.start, max(outermost.stop, outermost.start + 1), step):
            yield _from_to(part, start, min(start + step, outermost.stop))


def _outermost(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> range:
    """Return what the outermost loop runs over; 0:1 if there is none."""
    match chain.steps:
        case (ChainLoop(_, low, high), *_):
            return range(int(evaluate_vector(low, sizes, arrays)), int(evaluate_vector(high, sizes, arrays)))
        case _:
            return range(1)


def _from_to(chain: Chain, start: int, stop: int) -> Chain:
    """Return a chain of which the outermost loop, if there is one, runs over another range."""
    match chain.steps:
        case (ChainLoop() as loop, *inner):
            return replace(chain, steps=(replace(loop, low=Number(start), high=Number(stop)), *inner))
        case _:
            return chain


def in_key_order(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> tuple[Chain, ...]:
    """Return chains that make the same entries, with the loops that make earlier keys further outside.

    Loops are moved over those on which their bounds do not depend.
    """
    return tuple(_ordered(each, arrays) for each in _interchanged(chain, arrays, sizes))


def _ordered(chain: Chain, arrays: Mapping[str, Array]) -> Chain:
    ordered: list[ChainLoop | ChainGuard] = []
    for step in chain.steps:
        place = len(ordered)
        while place and isinstance(step, ChainLoop) and _commute(ordered[place - 1], step, chain, arrays):
            place -= 1
        ordered.insert(place, step)
    return replace(chain, steps=tuple(ordered))


def _interchanged(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> tuple[Chain, ...]:
    """Move the second loop over the first one, on which its bounds depend, if they leave out few iterations.

    for o: for i in low(o):high(o)  =  for i: for o: if low(o) <= i < high(o)

    From the greatest low(o) to the least high(o) no condition is needed.
    """
    match chain.steps:
        case (ChainLoop() as outer, ChainLoop(position, low, high, None) as inner, *rest):
            bounds = free_names(low) | free_names(high)
            is_earlier = _first_key(inner, chain) < _first_key(outer, chain)
            if not is_earlier or bounds & arrays.keys() or not bounds & {outer.position, outer.element}:
                return (chain,)
        case _:
            return (chain,)
    around = Iterations.of(replace(chain, steps=(outer,)), arrays, sizes)
    lows, highs = around.vector(low), around.vector(high)
    first, last = int(lows.min(initial=0)), int(highs.max(initial=0))
    if not len(lows) or (last - first) * around.count > 2 * np.maximum(highs - lows, 0).sum():
        return (chain,)
    name = Name(position)
    guard = ChainGuard(Binary("and", Binary("<=", low, name), Binary("<", name, high)))
    guarded, free = (replace(chain, steps=(inner, outer, *guards, *rest)) for guards in ((guard,), ()))
    begin, end = int(lows.max()), int(highs.min())
    if begin >= end:
        return (_from_to(guarded, first, last),)
    parts = (guarded, first, begin), (free, begin, end), (guarded, end, last)
    return tuple(_from_to(part, start, stop) for part, start, stop in parts if start < stop)


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

    def add(self, chain: Chain, made: Iterations, ring: Semiring) -> Array | None:
        """Add the entries that iterations of a chain make, without zeros.

        Return the numbers of the iterations that make one; None if all do.
        """
        found = np.broadcast_to(made.entry(chain.leaf, ring), made.shape)
        dtype = np.promote_types(found.dtype, self._values.dtype)
        if dtype != self._values.dtype:
            self._move(len(self._values), dtype)
        values = self._in_a_row(found.astype(dtype, copy=False))
        kept = values != ring.zero
        if made.passing is not None:
            kept &= made.passing.reshape(-1)
        count = int(np.count_nonzero(kept))
        if self._count + count > len(self._values):
            self.expect(max(count, self._count))
        stored = self._values[self._count : self._count + count]
        coordinates = self._coordinates[:, self._count : self._count + count]
        self._count += count
        if count == made.count:
            made.write_keys(chain, coordinates)
            if not np.may_share_memory(values, stored):
                stored[...] = values
            return None
        places = np.flatnonzero(kept)
        stored[...] = values.take(places)
        for row, keys in zip(coordinates, made.keys(chain, coordinates.dtype), strict=True):
            np.take(keys, places, out=row, mode="clip")
        return places

    def _in_a_row(self, values: Array) -> Array:
        """Return values as a vector; where they have to be copied, to the next places if there are enough."""
        end = self._count + values.size
        if values.flags.c_contiguous or end > len(self._values):
            return values.reshape(-1)
        places = self._values[self._count : end]
        places.reshape(values.shape)[...] = values
        return places
