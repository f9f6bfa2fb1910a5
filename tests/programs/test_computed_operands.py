"""Operands of dense products that are computed: stored first, each element once."""

from __future__ import annotations

import re

import numpy as np
import pytest
from strategies.products import dense, products

import storel

COMPUTED = {
    "rows are scaled": "A(i, k) * B(k, j) * r(i)",
    "columns are scaled": "c(j) * A(i, k) * B(k, j)",
    "summands are scaled": "A(i, k) * s(k) * B(k, j) * s(k)",
    "all are scaled": "r(i) * A(i, k) * s(k) * B(k, j) * c(j) * 3 / 7",
    "a function": "tanh(A(i, k)) * B(k, j)",
    "a function of a transpose": "A(i, k) * tanh(T(j, k))",
    "two functions": "max(A(i, k), 0) * sigmoid(B(k, j))",
    "a sum": "(A(i, k) + E(i, k)) * B(k, j)",
    "two sums": "(A(i, k) - r(i)) * (B(k, j) + c(j) + s(k))",
    "places": "i * A(i, k) * B(k, j)",
    "a gather": "A(i, k) * B(k % 3, j)",
    "summands are divided": "A(i, k) * B(k, j) / s(k)",
    "quotients of both": "(A(i, k) / s(k)) * (B(k, j) / s(k))",
    "a function that may overflow": "exp(A(i, k)) * B(k, j) / sqrt(2 + r(i))",
    "a name of both": "let u = s(k) in (A(i, k) - u) * (B(k, j) - u)",
    "a condition": "if (s(k) > 0) then A(i, k) * B(k, j)",
    "conditions of both": "if (A(i, k) < s(k) and r(i) < 0.3) then B(k, j) * (if (c(j) < 0.1) then s(k))",
}
"""Products of what is computed from rows, columns and summands."""


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operands_that_are_computed(name: str, backend: str, threads: int, dtype: str) -> None:
    value = COMPUTED[name]
    rng = np.random.default_rng(len(name))
    shapes = {"A": (70, 60), "B": (60, 50), "T": (50, 60), "E": (70, 60), "r": (70,), "s": (60,), "c": (50,)}
    read = {
        each: (rng.random(shape) - 0.5).astype(dtype)
        for each, shape in shapes.items()
        if re.search(rf"\b{each}\(", value)
    }
    text = f"CREATE TENSOR R AS sum(<i, _> in 0:70, <k, _> in 0:60, <j, _> in 0:50) {{(i, j) -> {value}}}"
    kernel = storel.compile(text, backend=backend, threads=threads, **read)
    wanted = storel.run(text, floating_point="strict", **read)
    error = 1e-3 if dtype == "float32" else 1e-10
    for _ in range(2):
        np.testing.assert_allclose(dense(kernel(**read)), dense(wanted), rtol=error, atol=error)
    assert len(products(kernel)) == 1


@pytest.mark.parametrize(
    ("function", "number"), [("sigmoid(q)", 1), ("(q + 1)", 1), ("1", 1), ("tanh(q)", 2), ("q", 2)]
)
def test_what_is_not_there_adds_nothing(function: str, number: int) -> None:
    """A row of zeros has no entries: what a function makes of zero is not added up."""
    rng = np.random.default_rng(0)
    read = {"A": rng.random((70, 60)) - 0.5, "B": rng.random((60, 50)) - 0.5, "D": rng.random((50, 40)) - 0.5}
    read["A"][::3] = 0.0
    text = (
        "CREATE TENSOR R AS sum(<i, r> in A) {i -> let t = (sum(<k, a> in r, <(k, j), b> in B) {j -> a * b}) "
        f"in sum(<j, q> in t, <(j, l), d> in D) {{l -> {function} * d}}}}"
    )
    kernel = storel.compile(text, **read)
    wanted = storel.run(text, backend="interpret", **read)
    np.testing.assert_allclose(dense(kernel(**read)), dense(wanted), rtol=1e-10, atol=1e-12)
    assert len(products(kernel)) == number


@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
def test_a_function_of_products_of_a_batch(backend: str, threads: int) -> None:
    rng = np.random.default_rng(0)
    read = {"A": rng.random((5, 40, 30)) - 0.5, "B": rng.random((5, 50, 30)) - 0.5}
    text = (
        "CREATE TENSOR Q AS sum(<(b, i, k), x> in A, <(b, j, k), y> in B) {(b, i, j) -> x * y / 8} "
        "CREATE TENSOR R AS sum(<(b, i, j), q> in Q) {(b, i, j) -> exp(q)}"
    )
    kernel = storel.compile(text, backend=backend, threads=threads, **read)
    assert len(products(kernel)) == 1
    wanted = np.exp(read["A"] @ read["B"].transpose(0, 2, 1) / 8)
    for _ in range(2):
        np.testing.assert_allclose(dense(kernel(**read)), wanted, rtol=1e-10)


@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "value", ["exp(1000 * A(i, k)) * B(k, j)", "A(i, k) * B(k, j) / s(k)", "s(k) / A(i, k) * B(k, j)"]
)
def test_zero_times_what_is_found_to_be_infinite(value: str, dtype: str, backend: str, threads: int) -> None:
    """What is not there must not be multiplied by what is infinite, which a matrix product would do."""
    text = f"CREATE TENSOR R AS sum(<i, _> in 0:70, <k, _> in 0:60, <j, _> in 0:50) {{(i, j) -> {value}}}"
    rng = np.random.default_rng(0)
    given = {"A": rng.random((70, 60)), "B": rng.random((60, 50)), "s": rng.random(60)}
    given = {name: array.astype(dtype) for name, array in given.items() if f"{name}(" in value}
    given["B"][:, 7] = 0
    kernel = storel.compile(text, backend=backend, threads=threads, **given)
    assert len(products(kernel)) == 1
    error = 1e-3 if dtype == "float32" else 1e-10
    for name, *place in (("B", 0, 0), ("A", 3, 4), ("s", 5)):
        if name in given:
            given[name][tuple(place)] = 0
        wanted = dense(storel.run(text, floating_point="strict", **given))
        found = dense(storel.run(text, backend=backend, threads=threads, **given))
        np.testing.assert_allclose(found, wanted, rtol=error, atol=error)


WHAT_ZEROS_DIVIDE = {
    "reciprocals": "1 / a * b",
    "signs": "a / abs(a) * b",
    "columns with a sum of 1": "a / w(k) * b",
    "rows with a sum of 1": "a / v(i) * b",
    "a condition that asks for more": "(if (w(k) > 0 and a != 0) then u(k)) / a * b",
}


@pytest.mark.parametrize("name", WHAT_ZEROS_DIVIDE)
@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("is_range", [False, True])
def test_what_is_not_there_divides_nothing(name: str, backend: str, is_range: bool) -> None:
    """Zero by zero is NaN, but a zero is no entry."""
    value = WHAT_ZEROS_DIVIDE[name]
    text = f"CREATE TENSOR R AS sum(<(i, k), a> in A, <(k, j), b> in B) {{(i, j) -> {value}}}"
    if is_range:
        text = f"""CREATE TENSOR R AS sum(<i, _> in 0:60, <k, _> in 0:50, <j, _> in 0:70)
            (let a = A(i, k) in let b = B(k, j) in if (a != 0) then {{(i, j) -> {value}}})"""
    rng = np.random.default_rng(0)
    whole = {"A": rng.random((60, 50)) + 1, "B": rng.random((50, 70)), "u": rng.random(50)}
    holes = {**whole, "A": whole["A"].copy()}
    holes["A"][3, 4] = 0
    holes["A"][:, 7] = 0
    holes["A"][9] = 0
    kernel: storel.Kernel | None = None
    for data in (whole, holes):
        sums = {"v": data["A"].sum(1), "w": data["A"].sum(0)}
        named = {**data, **sums}
        bound = {key: array for key, array in named.items() if key in "AB" or f"{key}(" in value}
        kernel = storel.compile(text, backend=backend, **bound) if kernel is None else kernel
        assert len(products(kernel)) == 1
        wanted = dense(storel.run(text, floating_point="strict", **bound))
        assert np.isfinite(wanted).all()
        for found in (kernel(**bound), storel.run(text, backend=backend, **bound)):
            np.testing.assert_allclose(dense(found), wanted, rtol=1e-9)
