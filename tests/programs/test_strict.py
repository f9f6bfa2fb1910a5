"""With strict floating point all backends and numbers of threads give the same numbers, bit by bit."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import storel

RNG = np.random.default_rng(11)
MATRIX = RNG.random((60, 50)) * (RNG.random((60, 50)) < 0.4)
VECTOR, ROWS = RNG.random(50), RNG.random((50, 7))

PROGRAMS = [
    "sum(<(i, j), a> in A) { i -> a * x(j) }",
    "sum(<i, row> in A) x(0) * row",
    "x(0) * sum(<i, row> in A) { i -> sum(<j, a> in row) a }",
    "sum(<i, row> in A) (x(1) * { i -> sum(<j, a> in row) a * x(j) })",
    "sum(<(i, j), a> in A, <k, y> in Y(j)) { (i, k) -> a * y }",
    "sum(<(i, j), a> in A) a * x(j) + 0.1",
    "0.1 + sum(<(i, j), a> in A) a * x(j)",
    "(sum(<(i, j), a> in A) a) + (sum(<i, v> in x) v) + sum(<(i, j), a> in A) a * a",
    "sum(<i, _> in 0:60) { i -> 0.7 + (sum(<j, v> in x) A(i, j) * v) }",
    "sum(<i, _> in 0:50) { i -> x(i) + (sum(<j, _> in 0:i) x(j)) }",
    "sum(<i, _> in 0:50) { i -> 0.5 * (x(i) + (sum(<j, _> in 0:i) x(j)) - (sum(<j, _> in i:50) x(j))) }",
    "x + (sum(<(i, j), a> in A) { j -> a * 0.3 })",
    "x + (sum(<(i, j), a> in A) { j -> a }) + (sum(<(i, j), a> in A) { j -> a * a })",
    "(sum(<(i, j), a> in A) { i -> a }) + sum(<i, _> in 0:60) { i -> sum(<j, v> in x) A(i, j) * v }",
    "sum(<i, row> in A) { i -> x(3) + (sum(<j, a> in row) a) + (sum(<j, a> in row) a * x(j)) }",
    "sum(<i, row> in A) { i -> sum(<_, a> in row) 0.1 }",
    "sum(<i, row> in A) { i -> sum(<_, a> in row) 0.1 * i }",
    "sum(<(i, j), a> in A) if (a > 0.3) then { i -> a * x(j) - 0.7 }",
]


@pytest.mark.parametrize("storage", ["csr", "dense"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_numbers_are_those_of_the_interpreter(program: str, storage: str) -> None:
    script = f"CREATE TENSOR R AS {program}"
    given = {"A": storel.tensor(MATRIX, storage)} if "A" in program else {}
    given |= {"x": storel.tensor(VECTOR)} if "x" in program else {}
    given |= {"Y": storel.tensor(ROWS)} if "Y(" in program else {}
    wanted = storel.run(script, backend="interpret", **given)
    assert isinstance(wanted, storel.Tensor)
    backends: list[tuple[Literal["c", "numba"], int]] = [("c", 1), ("c", 2), ("numba", 1)]
    for backend, threads in backends:
        found = storel.run(script, backend=backend, threads=threads, floating_point="strict", **given)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy(), err_msg=f"{backend} {threads}")


@pytest.mark.parametrize("body", [
    "x(i) * 3 + y(i)",
    "x(i) * 3 * y(i)",
    "y(i) - x(i) * x(i)",
    "(x(i) + x(i) * x(i)) + y(i)",
    "y(i) * (x(i) * k(i))",
    "x(i) * (k(i) * k(i))",
    "k(i) * k(i) * y(i)",
    "if y(i) > 0.5 then x(i) * x(i) else y(i)",
    "if x(i) * 3 - z(i) == 0 then 1.0",
])  # fmt: skip
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_products_of_short_reals_are_rounded_as_written(body: str, backend: Literal["c", "numba"]) -> None:
    """A product of 32 bits overflows, and is rounded, before it meets a number of 64."""
    x = np.append(RNG.random(30), [3e38, 0.1]).astype(np.float32)
    with np.errstate(over="ignore"):
        given = {"x": x, "y": RNG.random(32), "z": np.float64(x * np.float32(3)), "k": np.arange(32)}
    script = f"CREATE TENSOR R AS sum(<i, _> in 0:32) {{ i -> {body} }}"
    given = {name: value for name, value in given.items() if f"{name}(" in body}
    wanted = storel.run(script, backend="interpret", **given)
    found = storel.run(script, backend=backend, floating_point="strict", **given)
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())


@pytest.mark.parametrize(
    ("program", "is_reordered"),
    [
        ("sum(<(i, k), a> in A, <(j, k), b> in A) { (i, j) -> 1 }", True),
        ("sum(<(i, k), a> in A, <(j, k), b> in A) { (i, j) -> a * b }", False),
        ("sum(<(i, k), a> in A, <(j, k), b> in A) if (a < b) then { (i, j) -> i - j }", True),
        ("sum(<(i, k), a> in A, <(j, k), b> in A) if (a + 1.0 < b) then { (i, j) -> i - j }", False),
    ],
)
def test_what_computes_no_reals_is_planned_as_if_floating_point_were_not_strict(
    program: str, is_reordered: bool
) -> None:
    script = f"CREATE TENSOR R AS {program}"
    given = storel.tensor(MATRIX, "csr")
    kernel = storel.compile(script, floating_point="strict", A=given)
    free = storel.compile(script, A=given).compilation
    assert kernel.compilation.is_reordered == is_reordered
    assert (kernel.compilation.plan == free.plan) == is_reordered
    result, wanted = kernel(A=given), storel.run(script, backend="interpret", A=given)
    assert isinstance(result, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), wanted.to_numpy())
