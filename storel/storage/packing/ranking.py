"""What only all entries together determine: ranks in groups, sizes of groups, runs of consecutive keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.storage.coordinates import sorted_entries, starts

Array: TypeAlias = NDArray[Any]


def ranks(groups: Sequence[Array], tuples: Sequence[Array], count: int) -> Array:
    """Return for each of ``count`` tuples its rank among the distinct ones of its group.

    ``groups`` and ``tuples`` hold one vector per component.
    """
    columns, order = _sorted((*groups, *tuples), count)
    is_new = starts(columns)
    opens = starts(columns[: len(groups)])
    number = np.cumsum(is_new) - 1
    first_of_group = number[opens][np.cumsum(opens) - 1]
    found = np.empty(count, dtype=np.int64)
    found[order] = number - first_of_group
    return found


def sizes(groups: Sequence[Array], count: int) -> Array:
    """Return for each of ``count`` members how many its group has."""
    columns, order = _sorted(groups, count)
    opens = starts(columns)
    number = np.cumsum(opens) - 1
    found = np.empty(count, dtype=np.int64)
    found[order] = np.bincount(number)[number] if count else 0
    return found


def runs(groups: Sequence[Array], keys: Array, values: Array | None) -> tuple[Array, Array]:
    """Return for each key the first one of its run, and the one after the last.

    A run ends where the group changes, where a key does not follow the one before, and where values differ.
    """
    columns, order = _sorted((*groups, keys), len(keys))
    is_new = starts(columns[:-1])
    ordered = keys[order]
    is_new[1:] |= ordered[1:] != ordered[:-1] + 1
    if values is not None:
        is_new[1:] |= values[order][1:] != values[order][:-1]
    number = np.cumsum(is_new) - 1
    first, end = np.empty_like(keys), np.empty_like(keys)
    first[order] = ordered[is_new][number]
    end[order] = ordered[np.append(is_new[1:], True)][number] + 1 if len(keys) else 0
    return first, end


def _sorted(vectors: Sequence[Array], count: int) -> tuple[Array, Array]:
    """Return the vectors as rows, their columns in lexicographic order, and where each column was."""
    if not vectors:
        return np.empty((0, count), dtype=np.int64), np.arange(count)
    shifted = [vector - vector.min(initial=0) for vector in vectors]
    extents = tuple(int(vector.max(initial=0)) + 1 for vector in shifted)
    columns, order, _ = sorted_entries(np.stack(shifted), np.arange(count), extents)
    return columns, order
