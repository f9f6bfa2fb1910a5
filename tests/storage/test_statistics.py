"""Statistics of stored tensors against NumPy on the dense array."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn
from numpy.typing import NDArray

from storel.storage.build import from_coordinates, from_numpy
from storel.storage.formats.known import Formats
from storel.storage.statistics import Statistics
from storel.storage.tensor import Tensor

FORMATS = Formats()
FORMATS_OF_RANK = {
    1: ("dense", "coo", "csf"),
    2: ("dense", "coo", "csr", "csc", "dcsr"),
    3: ("dense", "coo", "csf"),
}
ARRAYS = {
    rank: stn.arrays(
        np.float64, st.tuples(*[st.integers(0, 5)] * rank), elements=st.sampled_from([0.0, 0.0, 1.0, 2.0])
    )
    for rank in (1, 2, 3)
}


def compare(dense: NDArray[np.float64], tensor: Tensor) -> None:
    """Check every statistic of ``tensor`` against the array that it holds."""
    found = Statistics(tensor)
    keys = np.array(np.nonzero(dense)).reshape(dense.ndim, -1)
    assert found.nnz == keys.shape[1]
    for mode, (summary, vector) in enumerate(zip(found.modes, found.degrees, strict=True)):
        degrees = np.bincount(keys[mode], minlength=dense.shape[mode])
        assert vector is not None
        np.testing.assert_array_equal(vector.values, degrees)
        known = np.flatnonzero(degrees)
        assert summary.degrees.nonempty == len(known)
        assert (summary.first, summary.last) == ((known[0], known[-1]) if len(known) else (None, None))
    prefixes = [
        len({tuple(key[d] for d in found.order[: n + 1]) for key in keys.T}) for n in range(dense.ndim)
    ]
    assert list(found.prefixes) == prefixes
    if dense.ndim == 2:
        distance = keys[1] - keys[0]
        assert found.bandwidth == (max(0, -distance.min(initial=0)), max(0, distance.max(initial=0)))
        assert found.is_symmetric == (dense.shape[0] == dense.shape[1] and bool((dense == dense.T).all()))


@pytest.mark.parametrize(
    ("name", "rank"), [(name, rank) for rank, names in FORMATS_OF_RANK.items() for name in names]
)
def test_statistics_are_those_of_numpy(name: str, rank: int) -> None:
    @settings(max_examples=25)
    @given(ARRAYS[rank])
    def check(dense: NDArray[np.float64]) -> None:
        compare(dense, from_numpy(dense, FORMATS, FORMATS.find(name, rank)))

    check()


@pytest.mark.parametrize("name", ["csr", "csc", "dcsr", "coo"])
def test_stored_zeros_are_no_entries_and_duplicates_one(name: str) -> None:
    keys = np.array([[0, 0, 1, 2, 2], [1, 1, 0, 2, 2]])
    tensor = from_coordinates(
        keys, np.array([1.0, 2.0, 0.0, 3.0, -3.0]), (3, 3), FORMATS, FORMATS.find(name, 2)
    )
    compare(np.array([[0.0, 3, 0], [0, 0, 0], [0, 0, 0]]), tensor)


def test_a_symmetric_matrix_is_seen_to_be_one() -> None:
    dense = np.array([[1.0, 2, 0], [2, 0, 3], [0, 3, 4]])
    compare(dense, from_numpy(dense, FORMATS, FORMATS.find("csr", 2)))
    dense[0, 1] = 9.0
    compare(dense, from_numpy(dense, FORMATS, FORMATS.find("csr", 2)))


def test_another_semiring_has_other_zeros() -> None:
    dense = np.array([[np.inf, 1.0], [0.0, np.inf]])
    found = from_numpy(dense, FORMATS, FORMATS.find("dense", 2), "min_plus").statistics
    assert (found.nnz, found.prefixes) == (2, (2, 2))


def test_few_entries_among_many_keys_are_sorted() -> None:
    keys = np.array([[7, 10**12 - 1, 7], [1, 0, 2]])
    tensor = from_coordinates(keys, np.ones(3), (10**12, 3), FORMATS, FORMATS.find("dcsr", 2))
    first, second = tensor.statistics.modes
    assert tensor.statistics.degrees[0] is None
    assert (first.degrees.nonempty, first.degrees.largest, first.first, first.last) == (2, 2, 7, 10**12 - 1)
    assert second.degrees.nonempty == 3


def test_a_tensor_keeps_its_statistics() -> None:
    tensor = from_numpy(np.eye(3), FORMATS, FORMATS.find("csr", 2))
    assert tensor.statistics is tensor.statistics
    assert tensor.summary is tensor.summary


def test_a_scalar_has_no_dimensions() -> None:
    found = from_numpy(np.array(2.0), FORMATS).statistics
    assert (found.nnz, found.modes, found.prefixes, found.bandwidth) == (1, (), (), None)
