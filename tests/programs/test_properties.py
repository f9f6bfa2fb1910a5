"""Whatever the program, data and formats: every backend gives what the reference interpreter gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray
from strategies.random_programs import Program, evaluate, programs


def assert_agree(got: NDArray[Any], want: NDArray[Any], program: Program) -> None:
    """Compare within the tolerance of the types; sums in another order may poison other entries alike."""
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    single = any(tensor.dtype == np.float32 for tensor in program.operands.values())
    tolerance = 1e-4 if single else 1e-9
    with np.errstate(all="ignore"):
        both_poisoned = ~np.isfinite(got) & ~np.isfinite(want)
        close = np.abs(got - want) <= tolerance * np.maximum(1.0, np.abs(want))
    assert (both_poisoned | close).all(), f"{got.tolist()} is not {want.tolist()}"


@pytest.mark.parametrize(("backend", "examples"), [("c", 40), ("numba", 4)])
def test_backends_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(backend, examples)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize(("backend", "examples"), [("c", 30), ("numba", 3)])
def test_several_threads_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(backend, examples)


def check_programs(backend: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
    @given(programs())
    def check(program: Program) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            assert_agree(evaluate(program, backend), evaluate(program, "interpret"), program)

    check()
