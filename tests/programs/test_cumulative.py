"""Least and greatest elements, and sums, of what comes before or after, as the interpreter computes them.

    { i, j -> max(<k, _> in 0:i + 1) U(k, j) }

along rows and columns, of data with NaN and inf, of any type and extent; ranges of nothing are errors on
every backend.
"""

from __future__ import annotations

from typing import Any, Literal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as arrays

import storel
from storel.arrays import Array
from storel.execution.run import measure

Backend = Literal["c", "numba"]

REDUCED = (
    "max(<k, _> in {ends}) {element}",
    "min(<k, _> in {ends}) {element}",
    "sum(<k, _> in {ends}) {element}",
)
SHAPES = (
    ("0:i + 1", "U(k, j)"),
    ("i:extent(U, 0)", "U(k, j)"),
    ("0:j + 1", "U(i, k)"),
    ("j:extent(U, 1)", "U(i, k)"),
    ("0:(i + 2) // 2", "U(k, j)"),
)
REALS = st.sampled_from([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
INTEGERS = st.integers(-(2**63), 2**63 - 1)


@st.composite
def matrices(draw: st.DrawFn) -> Array:
    shape = draw(st.tuples(st.integers(0, 5), st.integers(0, 4)))
    dtype: Any = draw(st.sampled_from(["float64", "int64", "bool"]))
    elements = {"float64": REALS, "int64": INTEGERS, "bool": st.booleans()}[dtype]
    return draw(arrays.arrays(dtype, shape, elements=elements))


@settings(deadline=None, max_examples=40)
@given(
    data=matrices(),
    reduced=st.sampled_from(REDUCED),
    shape=st.sampled_from(SHAPES),
    is_turned=st.booleans(),
    backend=st.sampled_from(["c", "numba"]),
    floating_point=st.sampled_from(["strict", "reassociate"]),
)
def test_each_backend_agrees_with_the_interpreter(
    data: Array,
    reduced: str,
    shape: tuple[str, str],
    is_turned: bool,
    backend: Backend,
    floating_point: Any,
) -> None:
    ends, element = shape
    key = "(j, i)" if is_turned else "(i, j)"
    generators = "sum(<i, _> in 0:extent(U, 0), <j, _> in 0:extent(U, 1))"
    value = reduced.format(ends=ends, element=element)
    program = f"CREATE TENSOR y STORED AS dense AS {generators} {{ {key} -> {value} }}"
    made, meant = (
        storel.run(program, U=data, backend=each, floating_point=floating_point)
        for each in (backend, "interpret")
    )
    assert isinstance(made, storel.Tensor) and isinstance(meant, storel.Tensor)
    np.testing.assert_array_equal(made.to_numpy(), meant.to_numpy())


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("ends", ["1:i + 1", "i + 1:extent(U, 0)", "3:2", "0:i // 3"])
def test_ranges_of_nothing_have_no_greatest_element(ends: str, backend: Any) -> None:
    data = np.random.default_rng(6).random((6, 4))
    generators = "sum(<i, _> in 0:extent(U, 0), <j, _> in 0:extent(U, 1))"
    program = f"CREATE TENSOR y AS {generators} {{ (i, j) -> max(<k, _> in {ends}) U(k, j) }}"
    with pytest.raises(storel.StorelError, match="the maximum of no entries"):
        storel.run(program, U=data, backend=backend)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ends", ["0:i + 1", "i:extent(U, 0)"])
def test_columns_take_two_steps_for_each_element_on_any_number_of_threads(ends: str, threads: int) -> None:
    data = np.random.default_rng(7).random((700, 300))
    generators = "sum(<i, _> in 0:extent(U, 0), <j, _> in 0:extent(U, 1))"
    program = f"CREATE TENSOR y STORED AS dense AS {generators} {{ (i, j) -> max(<k, _> in {ends}) U(k, j) }}"
    kernel = storel.compile(program, U=data, threads=threads)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations == 2 * data.size + 2 * len(data)
    result = kernel(U=data)
    assert isinstance(result, storel.Tensor)
    turned = np.maximum.accumulate(data[::-1])[::-1]
    expected = np.maximum.accumulate(data) if ends.startswith("0") else turned
    np.testing.assert_array_equal(result.to_numpy(), expected)
