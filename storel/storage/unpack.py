"""Arrays → entries: the mapping is enumerated, all iterations of a loop at once.

What a mapping means is the sum of the entries that its chains make; here they are made with NumPy
vectors, one element per iteration of the loops so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.chain import Chain, ChainGuard, ChainLoop, chains
from storel.storage.coordinates import combine
from storel.storage.formats import Format
from storel.storage.vectors import evaluate_vector
from storel.syntax.nodes.expressions import Number

Array: TypeAlias = NDArray[Any]

ELEMENTS_AT_ONCE = 2**18
"""How many elements of arrays are read in one go where the entries are not kept."""


def enumerate_entries(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> tuple[Array, Array]:
    """Return the entries of a stored tensor: sorted int64 coordinates (rank × entries) and values.

    Entries that share a key are added; what is the semiring's zero is left out.
    """
    parts = [_entries(chain, arrays, sizes) for chain in chains(storage.mapping)]
    coordinates = np.concatenate([part[0] for part in parts], axis=1)
    values = np.concatenate([part[1] for part in parts])
    shape = tuple(sizes[name] for name in storage.extents)
    return combine(coordinates, values, shape, SEMIRINGS[semiring])


def count_nonzero_reads(
    storage: Format, arrays: Mapping[str, Array], sizes: Mapping[str, int], semiring: str
) -> int:
    """Return how many iterations of all chains read a value that is not the semiring's zero."""
    zero, total = SEMIRINGS[semiring].zero, 0
    for chain in chains(storage.mapping):
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
            for start in range(low, high, step):
                part = replace(loop, low=Number(start), high=Number(min(start + step, high)))
                yield replace(chain, steps=(part, *inner))
        case _:
            yield chain


def _entries(chain: Chain, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> tuple[Array, Array]:
    names, count = iterations(chain, arrays, sizes)
    coordinates = keys_of(chain, names, count, arrays)
    values = np.broadcast_to(evaluate_vector(chain.leaf, names, arrays), (count,))
    return coordinates, np.asarray(values)


def keys_of(chain: Chain, names: Mapping[str, Any], count: int, arrays: Mapping[str, Array]) -> Array:
    """Return the keys that the iterations of a chain make: rank × count coordinates."""
    coordinates = np.empty((len(chain.keys), count), dtype=np.int64)
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
                for name in variables:
                    names[name] = names[name][kept]
                count = int(np.count_nonzero(kept))
    return names, count


def _enter_loop(
    loop: ChainLoop, names: dict[str, Any], variables: list[str], arrays: Mapping[str, Array], count: int
) -> int:
    """Bind the loop's variables to one element per iteration; repeat those around it. Return the count."""
    low = np.broadcast_to(evaluate_vector(loop.low, names, arrays), (count,)).astype(np.int64)
    high = np.broadcast_to(evaluate_vector(loop.high, names, arrays), (count,)).astype(np.int64)
    lengths = np.maximum(high - low, 0)
    for name in variables:
        names[name] = np.repeat(names[name], lengths)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if count else 0
    require_memory(8 * total * (len(variables) + 1), "a list of what the mapping goes through")
    positions = np.arange(total, dtype=np.int64) + np.repeat(low - (ends - lengths), lengths)
    names[loop.position] = positions
    variables.append(loop.position)
    if loop.array is not None and loop.element is not None:
        names[loop.element] = arrays[loop.array][positions]
        variables.append(loop.element)
    return total
