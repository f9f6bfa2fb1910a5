"""An entry whose value is zero is no entry, whatever its key is."""

from __future__ import annotations

import numpy as np
import pytest

import storel

BACKENDS = ["interpret", "numba", "c"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", ["x(i)", "i", "x(i) * i", "if (i > 0) then 1"])
def test_zeros_at_negative_keys_are_no_entries(value: str, backend: str) -> None:
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:3) {{ i - 1 -> {value} }}"
    given = {"x": np.array([0.0, 1.0, 2.0])} if "x" in value else {}
    result = storel.run(program, backend=backend, **given)
    assert isinstance(result, storel.Tensor)
    assert result.nnz == result.shape[0] == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_entries_at_negative_keys_are_errors(backend: str) -> None:
    with pytest.raises(storel.StorelError, match="-1"):
        storel.run("CREATE TENSOR y AS sum(<i, _> in 0:3) { i - 1 -> i + 1 }", backend=backend)
