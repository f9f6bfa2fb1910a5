"""Whether what is stored is an entry is asked where zeros are stored, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import storel
from storel.calculus.nodes import Apply, Term
from storel.calculus.walk import names_in, subterms
from storel.plan import printer

ROWS = np.array([[0, 2, 0, 3], [0, 0, 0, 0], [4, 0, 0, 5], [0, 0, -1, 0]], dtype=float)

COUNT = "CREATE TENSOR c AS sum(<i, row> in A) { i -> count(<_, _> in row) }"


def with_zero(scalar: str = "float64") -> storel.Tensor:
    """Return the same matrix with a zero stored in it."""
    stored = scipy.sparse.csr_array(ROWS.astype(scalar))
    stored.data[1] = 0
    return storel.tensor(stored)


def numpy_of(result: object) -> NDArray[Any]:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


def asks(term: Term) -> bool:
    """Return whether a term compares a value of A with a number."""
    return any(
        isinstance(part, Apply) and part.function in ("equal", "not_equal") and "A_val" in names_in(part)
        for part in subterms(term)
    )


@pytest.mark.parametrize("scalar", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_stored_entries_are_counted_by_where_rows_begin(scalar: str, backend: str) -> None:
    rows = scipy.sparse.csr_array(ROWS.astype(scalar))
    kernel = storel.compile(COUNT, A=rows)
    assert "A_val" not in printer.render(kernel.compilation.plan)
    np.testing.assert_array_equal(numpy_of(storel.run(COUNT, A=rows, backend=backend)), [2, 0, 2, 1])
    zeros = with_zero(scalar)
    np.testing.assert_array_equal(numpy_of(storel.run(COUNT, A=zeros, backend=backend)), [1, 0, 2, 1])


def test_a_kernel_compiled_without_zeros_is_not_run_on_some() -> None:
    kernel = storel.compile(COUNT, A=scipy.sparse.csr_array(ROWS))
    np.testing.assert_array_equal(numpy_of(kernel(A=with_zero())), [1, 0, 2, 1])
    np.testing.assert_array_equal(numpy_of(kernel(A=scipy.sparse.csr_array(ROWS))), [2, 0, 2, 1])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sum(<(i, j), a> in A) { i -> exp(a * 0) }", [2, 0, 2, 1]),
        ("sum(<i, row> in A) { i -> max(<_, a> in row) a }", [3, 0, 5, -1]),
        ("sum(<i, row> in A) { i -> min(<_, a> in row) -a }", [-3, 0, -5, 1]),
        ("sum(<(i, j), a> in A) if (a != 0) then { i -> 1 }", [2, 0, 2, 1]),
        ("sum(<(i, j), a> in A) if (a == 0) then { i -> 1 }", [0, 0, 0, 0]),
        ("sum(<i, row> in A) if (any(<_, _> in row) true) then { i -> 1 }", [1, 0, 1, 1]),
    ],
)
def test_what_is_computed_of_entries_needs_no_question(body: str, expected: list[float]) -> None:
    program = f"CREATE TENSOR y: real[4] AS {body}"
    kernel = storel.compile(program, A=scipy.sparse.csr_array(ROWS))
    assert not asks(kernel.compilation.optimized.term)
    np.testing.assert_array_equal(numpy_of(kernel(A=scipy.sparse.csr_array(ROWS))), expected)
    asked = storel.run(program, A=with_zero())
    np.testing.assert_array_equal(
        numpy_of(asked), numpy_of(storel.run(program, A=with_zero(), backend="interpret"))
    )


@pytest.mark.parametrize("layout", ["coo", "csc", "dcsr", "ell", "bcsr", "hash"])
def test_formats_that_pad_ask(layout: str) -> None:
    """A block has zeros where the matrix has none; what lists its entries only has not."""
    tensor = storel.tensor(ROWS, layout)
    kernel = storel.compile(COUNT, A=tensor)
    assert asks(kernel.compilation.optimized.term) == (layout in ("ell", "bcsr"))
    np.testing.assert_array_equal(numpy_of(kernel(A=tensor)), [2, 0, 2, 1])


def test_nothing_is_relied_on_of_arrays_in_memory() -> None:
    """Whoever gave them may write to them, and each call would have to look."""
    x = np.array([1.0, 2.0, 3.0])
    kernel = storel.compile("CREATE TENSOR s AS sum(<_, v> in x) exp(v * 0)", x=x)
    assert float(numpy_of(kernel(x=x))) == 3
    x[1] = 0
    assert float(numpy_of(kernel(x=x))) == 2
