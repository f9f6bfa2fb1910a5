"""``int(a)``: reals without their fractions, as values and as keys; what is no integer is an error."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import storel
from storel.errors import EvaluationError

BACKENDS = ("interpret", "c", "numba")
PROGRAMS = {
    "bins": "CREATE TENSOR r: real[9] AS sum(<_, v> in x) if (abs(v) < 4) then { int(floor(v)) + 4 -> v }",
    "counts": "CREATE TENSOR r: int[40] AS sum(<_, v> in x) { abs(int(v * 2)) % 40 -> 1 }",
    "entries": "CREATE TENSOR r STORED AS coo AS sum(<i, v> in x) { i -> int(v) }",
    "a lookup": "CREATE TENSOR r AS sum(<i, v> in x) { i -> x(int(abs(v))) * v }",
    "a condition": "CREATE TENSOR r AS sum(<i, v> in x) if (int(v) % 2 == 0) then { i -> v }",
}
REALS = st.floats(-20, 20, width=32) | st.sampled_from([0.0, -0.0, 0.5, -1.0, 1e18, -(2.0**63)])
BEYOND = st.sampled_from([np.nan, np.inf, -np.inf, 2.0**63, -1e300])


@cache
def kernel(name: str, backend: str) -> storel.Kernel:
    return storel.compile(PROGRAMS[name], backend=backend, x=np.ones(7))


def expected(name: str, x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x).astype(np.int64)
    match name:
        case "bins":
            near = np.abs(x) < 4
            return np.bincount(np.floor(x[near]).astype(int) + 4, x[near], 9)
        case "counts":
            doubled = np.trunc(x * 2).astype(np.int64)
            return np.bincount(np.abs(doubled[x != 0]) % 40, minlength=40)
        case "entries":
            return whole
        case "a lookup":
            return np.where(np.abs(x) < len(x), x[np.minimum(np.abs(whole), len(x) - 1)], 0) * x
        case _:
            return np.where(whole % 2 == 0, x, 0)


@pytest.mark.parametrize("name", PROGRAMS)
@given(x=st.lists(REALS, min_size=7, max_size=7).map(np.array))
@settings(max_examples=25, deadline=None)
def test_integers_of_reals(name: str, x: np.ndarray) -> None:
    if name in ("counts", "a lookup"):  # -2^63 has no absolute value
        x = np.clip(x, -1e17, 1e17)
    for backend in BACKENDS:
        result = kernel(name, backend)(x=x)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(result.to_numpy(), expected(name, x), err_msg=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["counts", "entries", "a condition"])
@given(beyond=BEYOND, place=st.integers(0, 6))
@settings(max_examples=10, deadline=None)
def test_what_is_no_integer_is_an_error(name: str, backend: str, beyond: float, place: int) -> None:
    x = np.ones(7)
    x[place] = beyond
    with pytest.raises(EvaluationError, match="no integers") as raised:
        kernel(name, backend)(x=x)
    assert raised.value.span is not None


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_a_condition_leaves_out_is_no_error(backend: str) -> None:
    program = "CREATE TENSOR r AS sum(<i, v> in x) { i -> if (v == v and v < 1000) then int(v) else -1 }"
    result = storel.run(program, backend=backend, x=np.array([np.nan, 2.5, np.inf]))
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), [-1, 2, -1])
