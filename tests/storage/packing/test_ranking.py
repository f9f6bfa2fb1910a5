from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.storage.packing.ranking import ranks, runs, sizes


def test_a_rank_counts_the_lesser_tuples_of_the_group() -> None:
    groups = [np.array([1, 0, 1, 1, 0])]
    assert ranks(groups, [np.array([5, 9, 3, 5, 2])], 5).tolist() == [1, 1, 0, 1, 0]
    assert ranks([], [np.array([-4, 7, -4])], 3).tolist() == [0, 1, 0]


SMALL, LARGE = [-2, -1, 0, 1, 2], [-(2**31), -1, 0, 2**20, 2**31]


@settings(max_examples=50, deadline=None)
@given(st.data(), st.sampled_from([SMALL, LARGE]))
def test_ranks_are_the_same_by_table_by_sorting_and_where_tuples_repeat(
    data: st.DataObject, elements: list[int]
) -> None:
    element = st.sampled_from(elements)
    entries = data.draw(st.lists(st.tuples(element, element, element, st.integers(1, 4)), max_size=9))
    rows = [entry[:3] for entry in entries for _ in range(entry[3])]
    group, one, two = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    expected = [len({other for other in rows if other[0] == row[0] and other < row}) for row in rows]
    assert ranks([group], [one, two], len(rows)).tolist() == expected


def test_ranks_in_many_short_groups() -> None:
    random = np.random.default_rng(0)
    group, one = np.sort(random.integers(0, 300, 5000)), random.integers(0, 1000, 5000)
    expected = [np.searchsorted(np.unique(one[group == of]), key) for of, key in zip(group, one, strict=True)]
    assert ranks([group], [one], 5000).tolist() == expected


@pytest.mark.parametrize("is_last_in_order", [True, False], ids=["ascending", "but for two"])
def test_ranks_of_rows_that_are_divided_into_groups(is_last_in_order: bool) -> None:
    random = np.random.default_rng(0)
    row, one = np.divmod(np.sort(random.choice(40 * 500, 5000, replace=False)), 500)
    if not is_last_in_order:
        one[-2:] = one[-1], one[-2]
    bucket = one & 7
    expected = [
        np.count_nonzero(one[(row == r) & (bucket == b)] < key)
        for r, b, key in zip(row, bucket, one, strict=True)
    ]
    assert ranks([row, bucket], [one], 5000).tolist() == expected


def test_each_member_knows_the_size_of_its_group() -> None:
    assert sizes([np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0])], 4).tolist() == [2, 1, 2, 1]
    assert sizes([np.empty(0, dtype=np.int64)], 0).tolist() == []


def test_runs_end_at_gaps_other_groups_and_other_values() -> None:
    groups, keys = [np.array([0, 0, 0, 1, 1])], np.array([0, 1, 3, 4, 5])
    first, end = runs(groups, keys, None)
    assert (first.tolist(), end.tolist()) == ([0, 0, 3, 4, 4], [2, 2, 4, 6, 6])
    first, end = runs(groups, keys, np.array([1.0, 1.0, 1.0, 2.0, 3.0]))
    assert (first.tolist(), end.tolist()) == ([0, 0, 3, 4, 5], [2, 2, 4, 5, 6])
