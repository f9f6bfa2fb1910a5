"""What conditions, quotients by zero and truths forbid to move, to index or to make a matrix product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel


def dense(text: str, **options: Any) -> NDArray[Any]:
    found: Any = storel.run(text, **options)
    return np.asarray((found["R"] if isinstance(found, dict) else found).to_numpy())


def sparse(rows: int, columns: int, seed: int) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((rows, columns)) < 0.2, 0, rng.random((rows, columns)) + 0.1)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("value", ["c(i) * a(p(i)) / 2", "{ i -> (c(i) * a(p(i)) + c(i)) / a(3) }"])
def test_a_condition_guards_what_is_read(value: str, backend: str, tmp_path: Path) -> None:
    numbers = np.array([1.0, 2, 0, 3])
    np.savez(tmp_path / "o.npz", c=np.array([1.0, 0, 2]), a=numbers, p=np.array([0, 99, 1]))
    text = f"""LOAD ARRAYS FROM '{tmp_path / "o.npz"}'
        CREATE TENSOR R AS sum(<i, _> in 0:3) (if (c(i) != 0) then {value})"""
    np.testing.assert_allclose(dense(text, backend=backend), dense(text, backend="interpret"))


def test_a_truth_is_no_key() -> None:
    count, rng = 3000, np.random.default_rng(0)
    given = {"g": rng.integers(0, count, count), "c": rng.random(count), "a": rng.random(count)}
    given["g"][0] = 7
    c, a = given["c"][:, None], given["a"]
    for value, wanted in (("c(i) * a(j)", c * a), ("abs(c(i) - a(j))", abs(c - a))):
        text = f"""CREATE TENSOR R AS sum(<i, _> in 0:{count}, <j, _> in 0:{count})
            (if ((g(j) == 7) == g(i)) then {value})"""
        matches = (given["g"] == 7) == given["g"][:, None]
        found = dense(text, backend="c", **given)
        np.testing.assert_allclose(found, wanted[matches].sum())


PRODUCT = "sum(<(i, k), a> in A, <(k, j), b> in B) {(i, j) -> %s}"
RANGES = "sum(<i, _> in 0:70, <k, _> in 0:60, <j, _> in 0:50) {(i, j) -> %s}"
CHAINED = f"""CREATE TENSOR Q AS {PRODUCT}
    CREATE TENSOR R AS sum(<(i, k), q> in Q, <(k, j), c> in C) {{(i, j) -> %s}}"""
NORMALIZED = f"""CREATE TENSOR Q AS {PRODUCT % "a * b"}
    CREATE TENSOR Z AS sum(<(i, _), q> in Q) {{i -> exp(100 * q)}}
    CREATE TENSOR R AS sum(<(i, k), q> in Q, <(k, j), c> in C) {{(i, j) -> exp(100 * q) / Z(i) * c}}"""
PROGRAMS = {
    "zeros of the other operand": CHAINED % ("a / s(k) * b", "q * c / e(i)"),
    "zeros of the other operand, of a function": CHAINED % ("log(a) / s(k) * b", "tanh(q) * c"),
    "zero by zero in ranges": f"CREATE TENSOR R AS {RANGES % 'A(i, k) * B(k, j) / s(k)'}",
    "elements by elements in ranges": f"CREATE TENSOR R AS {RANGES % 'A(i, k) / B(k, j)'}",
    "infinite by infinite": NORMALIZED,
    "divisors whose reciprocals are infinite": f"CREATE TENSOR R AS {PRODUCT % 'a * 1e-305 / t(k) * b'}",
    "a count": f"CREATE TENSOR R AS {RANGES % '(if (A(i, k) > 0.5 and B(k, j) < 0.3) then 1)'}",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
def test_products_of_what_is_not_finite(name: str, backend: str, threads: int) -> None:
    """Tables of operands divide what the plan does not: where that is not finite there are loops."""
    rng, text = np.random.default_rng(0), PROGRAMS[name]
    s = np.where(np.arange(60) % 5, rng.random(60), 0)
    given = {
        "A": sparse(70, 60, 1),
        "B": sparse(60, 50, 2),
        "s": s,
        "t": np.full(60, 1e-310),
        "e": rng.random(70) + 1,
    }
    given = {each: given[each] for each in given if each in "AB" or f"{each}(" in text}
    if "in C" in text:
        given["C"] = sparse(50, 40, 3)
    wanted = dense(text, floating_point="strict", **given)
    found = dense(text, backend=backend, threads=threads, **given)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
