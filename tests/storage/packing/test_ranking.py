from __future__ import annotations

import numpy as np

from storel.storage.packing.ranking import ranks, runs, sizes


def test_a_rank_counts_the_lesser_tuples_of_the_group() -> None:
    groups = [np.array([1, 0, 1, 1, 0])]
    assert ranks(groups, [np.array([5, 9, 3, 5, 2])], 5).tolist() == [1, 1, 0, 1, 0]
    assert ranks([], [np.array([-4, 7, -4])], 3).tolist() == [0, 1, 0]


def test_each_member_knows_the_size_of_its_group() -> None:
    assert sizes([np.array([2, 0, 2, 2]), np.array([1, 1, 1, 0])], 4).tolist() == [2, 1, 2, 1]
    assert sizes([np.empty(0, dtype=np.int64)], 0).tolist() == []


def test_runs_end_at_gaps_other_groups_and_other_values() -> None:
    groups, keys = [np.array([0, 0, 0, 1, 1])], np.array([0, 1, 3, 4, 5])
    first, end = runs(groups, keys, None)
    assert (first.tolist(), end.tolist()) == ([0, 0, 3, 4, 4], [2, 2, 4, 6, 6])
    first, end = runs(groups, keys, np.array([1.0, 1.0, 1.0, 2.0, 3.0]))
    assert (first.tolist(), end.tolist()) == ([0, 0, 3, 4, 5], [2, 2, 4, 5, 6])
