"""What it costs to store dictionaries on the way."""

from __future__ import annotations

import numpy as np
import pytest

import storel


@pytest.mark.parametrize("storage", ["sell(c=8)", "sell(c=4)"])
@pytest.mark.parametrize(
    "both", ["{ (i, j) -> a } + { (j, i) -> a }", "{ (i, j) -> a } + { (j, i) -> 2 * a }"]
)
def test_no_table_of_two_keys_is_cleared_in_a_loop(storage: str, both: str) -> None:
    """How many entries a row has is only known in the loop, so that they cannot be hashed there."""
    band = np.tri(100, k=2) - np.tri(100, k=-3)
    matrix = storel.tensor(band, storage)
    kernel = storel.compile(f"CREATE TENSOR Y AS sum(<(i, j), a> in A) ({both})", format="dense", A=matrix)
    assert "table of" not in kernel.plan
    result = kernel(A=matrix)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), band * (3 if "2 * a" in both else 2))
