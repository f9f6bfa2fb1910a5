"""How many threads compute: as many as are asked for, in reason."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.errors import EvaluationError
from storel.host.threads import MOST_THREADS, OWN, SHARED, count

SUMS = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }"


@pytest.mark.parametrize(
    ("wanted", "used"),
    [(1, 1), (3, 3), (MOST_THREADS, MOST_THREADS), (10**9, MOST_THREADS), (2**70, MOST_THREADS)],
)
def test_as_many_as_are_asked_for(wanted: int, used: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count(wanted) == used
    for name in (OWN, SHARED):
        monkeypatch.setenv(name, str(wanted))
        assert count() == used
        monkeypatch.delenv(name)


@pytest.mark.parametrize("wanted", [0, -1])
def test_less_than_one_is_an_error(wanted: int) -> None:
    with pytest.raises(EvaluationError, match="no threads to compute with"):
        count(wanted)


def test_more_threads_than_there_can_be_are_no_reason_to_fail() -> None:
    matrix = np.ones((2000, 1000))
    result = storel.run(SUMS, A=storel.tensor(matrix, "csr"), threads=10**12)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), matrix.sum(axis=1))
