"""``prod``: a zero among the factors makes the product zero, whatever inf and NaN come before or after it."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import storel

FACTORS = (np.nan, 0.0, 2.0, np.inf)

PROGRAMS = (
    "prod(<k, _> in 0:4) A(k)",
    "sum(<i, _> in 0:2) { i -> prod(<k, _> in 0:4) A(k) }",
    "(prod(<k, _> in 0:4) A(k)) + (prod(<k, _> in 0:4) (2 * A(k)))",
)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("backend", ["interpret", "c", "numba"])
@pytest.mark.usefixtures("several_threads")
def test_zero_annihilates(program: str, backend: str) -> None:
    for order in itertools.permutations(FACTORS):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = storel.run(f"CREATE TENSOR T AS {program}", backend=backend, A=np.array(order))
        assert isinstance(found, storel.Tensor) and np.all(found.to_numpy() == 0.0), order


@pytest.mark.parametrize("backend", ["interpret", "c", "numba"])
def test_without_a_zero_what_is_no_number_stays(backend: str) -> None:
    program = "CREATE TENSOR T AS prod(<k, _> in 0:3) A(k)"
    found = storel.run(program, backend=backend, A=np.array([2.0, np.nan, 3.0]))
    assert isinstance(found, storel.Tensor) and np.isnan(found.to_numpy())
