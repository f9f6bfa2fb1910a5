"""Entries placed by comparison, where a chain cannot be solved but everything that it reads is known.

    sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) if (i != j) then { (j, i) -> val(p) }

after another chain has found pos and idx: every iteration makes one key, and an entry lies where the first
iteration with its key reads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from storel.arrays import Array
from storel.storage.coordinates import sorted_entries, starts
from storel.storage.formats.chain import Chain, ChainGuard
from storel.storage.formats.format import Format
from storel.storage.packing.building import Building
from storel.storage.packing.leaf import Leaf, leaf_of
from storel.storage.packing.selection import Misfit
from storel.storage.unpacking.iterations import Iterations
from storel.syntax.free_names import free_names


@dataclass(frozen=True, slots=True)
class Matched:
    """The entries that a chain makes, where their values lie, and the first one that it does not make."""

    leaf: Leaf
    entries: Array
    addresses: Array
    misfit: Misfit | None


def match(
    storage: Format, chain: Chain, building: Building, entries: Array, coordinates: Array
) -> Matched | None:
    """Return where a chain reads the entries; None if it reads what is not known.

    ``entries`` are numbers, ``coordinates`` their keys (rank × count). Raises MemoryLimitError if there are
    too many iterations.
    """
    leaf = leaf_of(storage, chain, {})
    if _is_open(storage, chain, leaf, building):
        return None
    made = Iterations.of(chain, building.arrays, building.sizes)
    keys, addresses = made.keys(chain, np.dtype(np.int64)), made.vector(leaf.address)
    first = _first_of_same_key(np.concatenate([keys, coordinates], axis=1))[made.count :]
    is_made = first < made.count
    misfit = None
    if not is_made.all():
        misfit = Misfit(int(entries[int(np.argmin(is_made))]), "none of its parts has this key")
    return Matched(leaf, entries[is_made], addresses[first[is_made]], misfit)


def _is_open(storage: Format, chain: Chain, leaf: Leaf, building: Building) -> bool:
    """Return whether a chain needs arrays or sizes that are not known yet."""
    conditions = [step.condition for step in chain.steps if isinstance(step, ChainGuard)]
    bounds = [bound for loop in chain.loops for bound in (loop.low, loop.high)]
    needed = {loop.array for loop in chain.loops if loop.array is not None}
    for expression in (leaf.address, *chain.keys, *conditions, *bounds):
        needed |= free_names(expression)
    sizes = {name for each in storage.arrays for e in each.type.extents for name in free_names(e)}
    arrays = {each.name for each in storage.arrays}
    return bool(needed & (sizes | arrays) - set(building.arrays) - set(building.sizes))


def _first_of_same_key(coordinates: Array) -> Array:
    """Return for each key the number of the first one that is equal."""
    count = coordinates.shape[1]
    shifted = coordinates - coordinates.min(axis=1, initial=0)[:, None]
    shape = tuple(int(extent) + 1 for extent in shifted.max(axis=1, initial=0))
    columns, order, _ = sorted_entries(shifted, np.arange(count), shape)
    is_new = starts(columns)
    found = np.empty(count, dtype=np.int64)
    found[order] = order[is_new][np.cumsum(is_new) - 1]
    return found
