"""Of data without entries no plan makes loops, and a kernel that was compiled for none is not run on some."""

from __future__ import annotations

import numpy as np
import pytest

import storel

SIZE = 12
FORMATS = ["coo", "csr", "csc", "dcsr", "bcsr_csr"]
GENERATOR = np.random.default_rng(0)
MATRIX = np.where(GENERATOR.random((SIZE, SIZE)) < 0.3, GENERATOR.integers(1, 9, (SIZE, SIZE)), 0)
NOTHING = np.zeros((SIZE, SIZE), dtype=np.int64)
PROGRAMS = {
    "sum": "CREATE TENSOR r AS sum(<(i, j), v> in A + B) { i -> v * x(j) }",
    "product": "CREATE TENSOR r AS sum(<(i, j), v> in A, <(j, k), w> in B) { (i, k) -> v * w }",
    "entries": "CREATE TENSOR r AS count(<_, _> in B) + sum(<(i, j), v> in A) B(i, j) * v",
    "shortest": "CREATE TENSOR r OVER min_plus AS sum(<(i, j), v> in A) { i -> v } + "
    "sum(<(i, j), v> in B) { i -> v }",
}


def answer(program: str, second: storel.Tensor, backend: str) -> np.ndarray:
    given = {"A": storel.tensor(MATRIX).to("csr"), "B": second, "x": np.arange(SIZE)}
    used = {name: given[name] for name in given if name in program.replace("AS", "")}
    result = storel.run(program, backend=backend, **used)
    return result.to_numpy() if isinstance(result, storel.Tensor) else np.asarray(result)


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_nothing_adds_nothing(name: str, layout: str, kind: type) -> None:
    second = storel.tensor(NOTHING.astype(kind)).to(layout)
    found, expected = (answer(PROGRAMS[name], second, backend) for backend in ("c", "interpret"))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("layout", FORMATS)
def test_there_is_no_loop_over_nothing(layout: str) -> None:
    given = {"A": storel.tensor(MATRIX).to("csr"), "x": np.arange(SIZE)}
    kernel = storel.compile(PROGRAMS["sum"], B=storel.tensor(NOTHING).to(layout), **given)
    assert "B_" not in kernel.plan
    filled = kernel(B=storel.tensor(MATRIX).to(layout), **given)
    assert isinstance(filled, storel.Tensor)
    np.testing.assert_array_equal(filled.to_numpy(), 2 * MATRIX @ np.arange(SIZE))


def test_there_is_no_loop_over_the_rest_of_a_band_that_holds_all() -> None:
    program = "CREATE TENSOR r AS sum(<(i, j), v> in A) { i -> v * x(j) }"
    band = np.diag(np.arange(1.0, SIZE + 1)) + np.diag(np.ones(SIZE - 1), 1)
    given = {"x": np.arange(SIZE)}
    kernel = storel.compile(program, A=storel.tensor(band).to("band_coo"), **given)
    assert "rest" not in kernel.plan
    assert (
        "rest"
        in storel.compile(program, A=storel.tensor(band + band.T).to("band_coo(lower=0)"), **given).plan
    )
