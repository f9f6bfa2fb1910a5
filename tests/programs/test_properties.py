"""Whatever the program, data and formats: every backend gives what the reference interpreter gives.

With STOREL_EXAMPLES=N each property is tried on N random programs, others each time.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray
from strategies.nested_programs import nested_programs
from strategies.random_programs import WIDE, Program, evaluate, programs

from storel.errors import StorelError


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
    check_programs(programs(), backend, examples)


@pytest.mark.parametrize(("backend", "examples"), [("c", 20)])
def test_rows_as_long_as_vectors_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(programs(WIDE), backend, examples)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize(("backend", "examples"), [("c", 30), ("numba", 3)])
def test_several_threads_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(programs(), backend, examples)


@pytest.mark.usefixtures("order_of_statistics")
@pytest.mark.parametrize(("backend", "examples"), [("c", 30)])
def test_generators_in_the_order_of_statistics_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(programs(), backend, examples)


@pytest.mark.parametrize(("backend", "examples"), [("c", 30), ("numba", 2)])
def test_dictionaries_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(nested_programs(), backend, examples)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize(("backend", "examples"), [("c", 8)])
def test_dictionaries_in_several_threads_agree_with_the_reference(backend: str, examples: int) -> None:
    check_programs(nested_programs(), backend, examples)


def outcome(program: Program, backend: str) -> NDArray[Any] | type[StorelError]:
    """Return the result, or what it fails with."""
    try:
        return evaluate(program, backend)
    except StorelError as error:
        return type(error)


def check_programs(strategy: SearchStrategy[Program], backend: str, examples: int) -> None:
    wanted = int(os.environ.get("STOREL_EXAMPLES", "0"))

    @settings(
        max_examples=wanted or examples,
        derandomize=wanted == 0,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
    @given(strategy)
    def check(program: Program) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            got, want = outcome(program, backend), outcome(program, "interpret")
        if isinstance(got, type) or isinstance(want, type):
            assert got is want, f"{got} is not {want}"
        else:
            assert_agree(got, want, program)

    check()
