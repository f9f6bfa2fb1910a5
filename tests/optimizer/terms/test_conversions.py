"""Programs of integers in which a real decides the type have the plans of those without it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.calculus.verify import infer
from storel.execution.run import measure
from storel.optimizer.terms.conversions import converted

N = 40
RANDOM = np.random.default_rng(4)
A = np.where(RANDOM.random((N, N)) < 0.1, RANDOM.integers(1, 9, (N, N)), 0)
GIVEN: dict[str, Any] = {
    "A": sp.csr_array(A), "u": RANDOM.integers(1, 9, N), "w": RANDOM.random(N),
    "f": RANDOM.random(N).astype(np.float32), "t": RANDOM.random(N) < 0.5,
}  # fmt: skip

WITH_REALS = [
    "sum(<(i, j), a> in A, <j, x> in u) { i -> 1.0 * a * x }",
    "sum(<j, x> in u, <(i, j), a> in A) { i -> x * a * 1.0 }",
    "sum(<(i, j), a> in A, <j, x> in u) { j -> a * x + 0.0 }",
    "sum(<(i, j), a> in A, <j, x> in u) { i -> if i >= 0 then a * x else w(i) }",
    "sum(<(i, j), a> in A, <j, x> in u) { i -> if j < extent(A, 1) then a * x else 0.5 }",
    "sum(<(i, j), a> in A, <j, b> in t) { i -> 1.0 * b * a }",
    "sum(<(i, j), a> in A, <j, x> in f) { i -> a * x }",
    "sum(<(i, j), a> in A, <(j, k), b> in A) { (i, k) -> 1.0 * a * b }",
    "sum(<(i, j), a> in A, <(j, k), b> in A, <(k, i), c> in A) 1.0 * a * b * c",
    "1.0 * A",
    "A + 0.5 * A",
    "sum(<i, x> in u) (x + (if (false) then 0.5))",
]


def operands(program: str) -> dict[str, Any]:
    words = re.findall(r"\w+", program)
    return {name: each for name, each in GIVEN.items() if name in words}


def compiled(program: str) -> storel.Kernel:
    return storel.compile(f"CREATE TENSOR R AS {program}", **operands(program))


@pytest.mark.parametrize("program", WITH_REALS)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_they_mean_the_same(program: str, backend: Any) -> None:
    given, script = operands(program), f"CREATE TENSOR R AS {program}"
    found, wanted = (storel.run(script, backend=each, **given) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    assert found.dtype == wanted.dtype
    error = 1e-6 if found.dtype.itemsize == 4 else 1e-12
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=error)


@pytest.mark.parametrize("program", WITH_REALS)
def test_terms_keep_their_type(program: str) -> None:
    compilation = compiled(program).compilation
    term, symbols = compilation.term, compilation.symbols
    assert infer(converted(term, symbols), symbols) == infer(term, symbols)
    assert infer(compilation.optimized.term, symbols) == infer(term, symbols)
    assert compilation.optimized.considered[0].origin != "as written"


@pytest.mark.parametrize("program", WITH_REALS[:5])
def test_no_more_work_is_done_than_without_the_real(program: str) -> None:
    kernel = compiled(program)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= GIVEN["A"].nnz + 3 * N


def test_large_integers_do_not_wrap_around() -> None:
    """What was a real before it was multiplied stays one, grouped by key and added up by a loop."""
    large = np.full(50, 2**62)
    script = "CREATE TENSOR R: real[3] AS sum(<i, x> in u) { i % 3 -> 1.0 * x * x }"
    found = storel.run(script, u=large)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.bincount(np.arange(50) % 3) * 2.0**124)
