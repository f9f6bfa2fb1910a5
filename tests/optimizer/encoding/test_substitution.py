"""Renaming a binder captures nothing, and substitutions that cannot be done let no e-graph grow."""

from __future__ import annotations

import numpy as np
import pytest

import storel

FACTOR = np.array([0.0, 3.0, 0.0])
MATRIX = np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 1.0]])


@pytest.mark.parametrize("binders", ["named", "debruijn"])
@pytest.mark.parametrize("product", ["M * (f(1) * M)", "(M * f(1)) * M", "f(1) * M * M"])
def test_a_matrix_meets_itself(product: str, binders: str) -> None:
    # Both are one class of the e-graph, with the same binders: what is looked up in the one has those of the
    # other free, so that they are renamed again and again.
    factor = storel.tensor(FACTOR, "coo")
    result = storel.run(f"CREATE TENSOR R AS {product}", M=MATRIX, f=factor, format="dense", binders=binders)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), 3.0 * MATRIX * MATRIX)
