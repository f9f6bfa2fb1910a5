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

from storel.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.chain import Chain, ChainGuard, ChainLoop
from storel.storage.coordinates import combine
from storel.storage.formats import Format
from storel.storage.vectors import as_vector, evaluate_vector, read_range
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Number

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
    parts = [
        _entries(part, arrays, sizes, ring.zero, index_type)
        for chain in storage.chains
        for part in _slices(_in_key_order(chain, arrays), arrays, sizes)
    ]
    coordinates = np.concatenate([part[0] for part in parts], axis=1)
    values = np.concatenate([part[1] for part in parts])
    del parts
    return combine(coordinates, values, tuple(sizes[name] for name in storage.extents), ring)


def count_nonzero_reads(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> int:
    """Return how many iterations of all chains read a value that is not the semiring's zero."""
    zero, total = SEMIRINGS[semiring].zero, 0
    for chain in storage.chains:
        for part in _slices(chain, arrays, sizes):
            names, count = iterations(part, arrays, sizes)
            read = np.broadcast_to(evaluate_vector(part.leaf, names, arrays), (count,))
            total += int(np.count_nonzero(read != zero))
    return total


def _slices(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> Iterator[Chain]:
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


def _in_key_order(chain: Chain, arrays: Mapping[str, Array]) -> Chain:
    """Move loops outwards, over those that make later keys, if their bounds depend on no other loop there."""
    ordered: list[ChainLoop | ChainGuard] = []
    for step in chain.steps:
        place = len(ordered)
        while place and isinstance(step, ChainLoop) and _commute(ordered[place - 1], step, chain, arrays):
            place -= 1
        ordered.insert(place, step)
    return replace(chain, steps=tuple(ordered))


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


def _entries(
    chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int], zero: Any, index_type: np.dtype[Any]
) -> tuple[Array, Array]:
    """Return the keys and values that a chain makes, without zeros."""
    names, count = iterations(chain, arrays, sizes)
    values = np.broadcast_to(evaluate_vector(chain.leaf, names, arrays), (count,))
    coordinates = keys_of(chain, names, count, arrays, index_type)
    kept = values != zero
    if kept.all():
        return coordinates, values
    return np.compress(kept, coordinates, axis=1), values[kept]


def keys_of(
    chain: Chain,
    names: Mapping[str, Any],
    count: int,
    arrays: Mapping[str, Array],
    index_type: np.dtype[Any] = INT64,
) -> Array:
    """Return the keys that the iterations of a chain make: rank × count coordinates."""
    coordinates = np.empty((len(chain.keys), count), dtype=index_type)
    for number, key in enumerate(chain.keys):
        coordinates[number] = evaluate_vector(key, names, arrays)
    return coordinates


def iterations(
    chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]
) -> tuple[dict[str, Any], int]:
    """Return the variables of a chain, one element for each of its iterations, and how many these are."""
    names: dict[str, Any] = dict(sizes)
    variables: list[str] = []
    count = 1
    for step in chain.steps:
        match step:
            case ChainLoop():
                count = _enter_loop(step, names, variables, arrays, count)
            case ChainGuard(condition):
                kept = np.broadcast_to(evaluate_vector(condition, names, arrays), (count,)).astype(bool)
                if not kept.all():
                    for name in variables:
                        names[name] = as_vector(names[name])[kept]
                    count = int(np.count_nonzero(kept))
    return names, count


def _enter_loop(
    loop: ChainLoop, names: dict[str, Any], variables: list[str], arrays: Mapping[str, Array], count: int
) -> int:
    """Bind the loop's variables to one element per iteration; repeat those around it. Return the count."""
    low = np.broadcast_to(evaluate_vector(loop.low, names, arrays), (count,))
    high = np.broadcast_to(evaluate_vector(loop.high, names, arrays), (count,))
    lengths = np.maximum(high - low, 0)
    total = int(lengths.sum())
    require_memory(8 * total * (len(variables) + 1), "a list of what the mapping goes through")
    if not (lengths == 1).all():
        for name in variables:
            names[name] = np.repeat(as_vector(names[name]), lengths)
    positions = _positions(low, high, lengths, total)
    names[loop.position] = positions
    variables.append(loop.position)
    if loop.array is not None and loop.element is not None:
        array = arrays[loop.array]
        is_range = isinstance(positions, range)
        names[loop.element] = read_range(loop.array, array, positions) if is_range else array[positions]
        variables.append(loop.element)
    return total


def _positions(low: Array, high: Array, lengths: Array, total: int) -> Array | range:
    """Return low … high - 1 of each element in turn: a range where they follow each other."""
    if not total:
        return range(0)
    if (low <= high).all() and (low[1:] == high[:-1]).all():
        return range(int(low[0]), int(low[0]) + total)
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.arange(total, dtype=np.int64) + np.repeat(low - (ends - lengths), lengths)
