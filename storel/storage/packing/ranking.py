"""What only all entries together determine: ranks in groups, sizes of groups, runs of consecutive keys."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from storel.arrays import Array
from storel.storage.blocks import count_runs, is_ascending, is_increasing
from storel.storage.coordinates import (
    changes,
    come_in_runs,
    index_dtype,
    is_sorted,
    order_in_buckets,
    order_of,
    row_major,
    sorted_entries,
    starts,
)
from storel.storage.packing.columns import narrowed

FEW = 2**10
"""How long a table of ranks may always be."""

MOST = 4
"""How many groups there may be for each tuple, to be put in order by buckets."""

SHORT = 128
"""How long groups may be, on average, to be sorted by merging."""


def ranks(groups: Sequence[Array], tuples: Sequence[Array], count: int) -> Array:
    """Return for each of ``count`` tuples its rank among the distinct ones of its group.

    ``groups`` and ``tuples`` hold one vector per component. Where most tuples are equal to the one before,
    only the others are sorted.
    """
    columns = _from_zero((*groups, *tuples))
    extents = tuple(int(column.max(initial=0)) + 1 for column in columns)
    if math.prod(extents) <= max(count, FEW):
        return _ranks_by_table(columns, extents, len(groups))
    first = np.flatnonzero(changes(columns, count))
    if 2 * len(first) > count:
        return _ranks_by_sorting(columns, extents, len(groups))
    differing = [column[first] for column in columns]
    return np.repeat(_ranks_by_sorting(differing, extents, len(groups)), np.diff(first, append=count))


def _ranks_by_sorting(columns: Sequence[Array], extents: tuple[int, ...], grouping: int) -> Array:
    order: Array | None = None
    if is_sorted(columns, strictly=False):
        is_new, opens = (changes(some, len(columns[0])) for some in (columns, columns[:grouping]))
    elif math.prod(extents) >= 2**63:
        ordered, order = _ordered(np.stack(columns), extents, len(columns[0]))
        is_new, opens = starts(ordered), starts(ordered[:grouping])
    else:
        key = row_major(columns, extents)
        key, order = _in_order(key, columns, extents, grouping)
        is_new = changes((key,), len(key))
        key //= math.prod(extents[grouping:])
        opens = changes((key,), len(key))
        del key
    number = np.cumsum(is_new, dtype=index_dtype((), len(is_new)))
    number -= _spread(number[opens], opens)
    return number if order is None else _in_place(number, order)


def _in_order(
    key: Array, columns: Sequence[Array], extents: tuple[int, ...], grouping: int
) -> tuple[Array, Array]:
    """Return the sorted keys of tuples, and the permutation that sorts them.

    Tuples that were sorted before they were divided into groups, as the columns of a row are, are in order
    once the groups are, which takes linear time.
    """
    number = math.prod(extents[:grouping])
    if grouping and is_ascending(columns[0]) and number <= MOST * len(key) and come_in_runs(columns[-1]):
        order = order_in_buckets(row_major(columns[:grouping], extents[:grouping]), number)
        ordered = key[order]
        if is_ascending(ordered):
            return ordered, order
    order = _order_in_groups(key, columns[0])
    return key[order], order


def _order_in_groups(key: Array, leading: Array) -> Array:
    """Return the order of keys, of which ``leading`` are the first digits.

    Where those ascend in short groups, each group is sorted alone by NumPy's merge sort.
    """
    if is_ascending(leading) and SHORT * count_runs(leading) >= len(key):
        return np.argsort(key, kind="stable").astype(index_dtype((), len(key)))
    return order_of(key)


def _ranks_by_table(columns: Sequence[Array], extents: tuple[int, ...], grouping: int) -> Array:
    """Rank tuples that are few enough to be counted."""
    key = row_major(columns, extents)
    occurs = np.zeros(math.prod(extents), dtype=bool)
    occurs[key] = True
    distinct = np.flatnonzero(occurs)
    group = distinct // math.prod(extents[grouping:])
    first = np.searchsorted(group, group)
    rank = np.zeros(len(occurs), dtype=index_dtype((), len(key)))
    rank[distinct] = np.arange(len(distinct)) - first
    return rank[key]


def sizes(groups: Sequence[Array], count: int) -> Array:
    """Return for each of ``count`` members how many its group has."""
    columns, order = _sorted(groups, count)
    opens = starts(columns)
    return _in_place(_spread(_lengths(opens), opens), order)


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
    first = _spread(ordered[is_new], is_new)
    end = _spread(ordered[np.append(is_new[1:], True)] + 1, is_new) if len(keys) else first
    return _in_place(first, order), _in_place(end, order)


def stretches(groups: Sequence[Array], places: Array) -> tuple[Array, Array]:
    """Return for each member of a group where the group begins and ends, if they lie one after the other.

    ``places`` are those of the members in their groups.
    """
    columns, order = _sorted(groups, len(places))
    opens = starts(columns)
    lengths = np.maximum.reduceat(places[order], np.flatnonzero(opens)) + 1 if len(places) else places
    ends = np.cumsum(lengths, dtype=np.int64)
    first, end = (_in_place(_spread(each, opens), order) for each in (ends - lengths, ends))
    return first, end


def _sorted(vectors: Sequence[Array], count: int) -> tuple[Array, Array]:
    """Return the vectors as rows, their columns in lexicographic order, and where each column was."""
    if not vectors:
        return np.empty((0, count), dtype=np.int64), np.arange(count)
    columns = np.stack(_from_zero(vectors))
    return _ordered(columns, tuple(int(column.max(initial=0)) + 1 for column in columns), count)


def _ordered(columns: Array, extents: tuple[int, ...], count: int) -> tuple[Array, Array]:
    numbers = np.arange(count, dtype=index_dtype((), count))
    columns, order, _ = sorted_entries(columns, numbers, extents)
    return columns, order


def _from_zero(vectors: Sequence[Array]) -> list[Array]:
    """Return the vectors, each shifted so that its least element is 0, if one is negative."""
    least = [min(int(vector.min(initial=0)), 0) for vector in vectors]
    return [
        narrowed(vector - np.int64(low)) if low else vector
        for vector, low in zip(vectors, least, strict=True)
    ]


def _in_place(ordered: Array, order: Array) -> Array:
    """Return elements in the order that there was before."""
    if is_increasing(order):
        return ordered
    found = np.empty_like(ordered)
    found[order] = ordered
    return found


def _spread(elements: Array, first: Array) -> Array:
    """Return an element for each run of which these are the first ones, as often as the run is long."""
    return np.repeat(elements, _lengths(first))


def _lengths(first: Array) -> Array:
    """Return the lengths of runs of which these are the first ones."""
    return np.diff(np.flatnonzero(first), append=len(first))
