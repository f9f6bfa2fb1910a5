"""Conditions on values: what is a product outside of one is the same product in it."""

from __future__ import annotations

import numpy as np
import pytest

import storel

PROGRAMS = {
    "CREATE TENSOR y AS if x(0) * q < 1 then 1 else 2": 1,
    "CREATE TENSOR t AS x * q CREATE TENSOR y AS count(<_, _> in t)": 0,
    "CREATE TENSOR y AS sum(<i, _> in 0:3) if q * x(0) * i == 0 then i else 7": 3,
}


@pytest.mark.parametrize("q", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_zero_times_what_is_not_finite_is_zero(program: str, backend: str, q: float) -> None:
    x = storel.tensor(np.zeros(1), format="dense")
    result = storel.run(f"PARAMETER q: real {program}", x=x, q=q, backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy() == PROGRAMS[program]
