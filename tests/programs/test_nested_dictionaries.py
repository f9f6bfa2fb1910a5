"""Dictionaries that programs make and look into, over all semirings: what backends give is what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel

RANDOM = np.random.default_rng(7)
OVER = "CREATE TENSOR R OVER {} AS {}"


def operand(shape: tuple[int, ...], stored: str, semiring: str = "plus_times", share: float = 0.5) -> Any:
    """Return a tensor of small numbers; with the zero of its semiring where there is no entry."""
    chosen = np.argwhere(RANDOM.random(shape) < share)
    values = RANDOM.integers(-3, 4, len(chosen)).astype(float)
    return storel.tensor((chosen.T, values), stored, shape=shape, semiring=semiring)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_plus"])
@pytest.mark.parametrize(
    "text",
    [
        "sum(<(i, j), u> in A, <(i, j), w> in A, <(k, j), v> in B) { i -> v }",
        "sum(<(i, k, j), v> in C, <(i, j), w> in (A * A)) { i -> C(j - i) }",
        "sum(<(i, j), v> in A, <(i, j), w> in B) { 3 * i + 1 -> (sum(<(k, l), x> in A) { k -> x })(0) }",
    ],
)
def test_what_is_missing_stays_missing_in_tables(text: str, semiring: str, backend: str) -> None:
    operands = {
        "A": operand((4, 4), "dense", semiring),
        "B": operand((4, 4), "coo", semiring, 0.1),
        "C": operand((4, 4, 4), "csf", semiring),
    }
    check(OVER.format(semiring, text), backend, operands)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "text",
    [
        "({ (0, 3) -> 1 })(3)",
        "({ (0, 1, 3) -> 1 })(3, 1)",
        "(sum(<k, _> in 1:0) { k -> v })(2)",
        "sum(<i, x> in v) { i -> ({ (1, 2) -> 5 })(i + 1)(2) }",
        "sum(<i, x> in v, <j, y> in ({ (1, 2) -> 5 })(2 * i)) { j -> y }",
    ],
)
def test_rows_beyond_the_last_are_empty(text: str, backend: str) -> None:
    check(f"CREATE TENSOR R AS {text}", backend, {"v": operand((4,), "coo")})


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "text",
    [
        "(A - B) * C",
        "sum(<(i, j), x> in (v(2) * A)) any(<k, y> in v, <k, z> in w) (y > z)",
        "sum(<i, x> in v, <(j, k), y> in A, <l, z> in w) if (x == y) then if (y == l) then z",
        "sum(<(i, j, k), x> in ((D - E) * (E - D)), <(l, k), y> in C) { (i, l) -> y * 0 }",
    ],
)
def test_dictionaries_are_not_taken_for_factors_or_keys(text: str, backend: str) -> None:
    matrices = {name: operand((5, 5), form) for name, form in zip("ABC", ("csc", "csr", "dcsr"), strict=True)}
    vectors = {"v": operand((5,), "coo"), "w": operand((5,), "dense")}
    cubes = {"D": operand((5, 5, 5), "csf"), "E": operand((5, 5, 5), "coo")}
    given = matrices | vectors | cubes
    check(f"CREATE TENSOR R AS {text}", backend, {name: given[name] for name in given if name in text})


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("semiring", ["plus_times", "max_plus"])
def test_a_loop_of_no_iterations_decides_nothing_else(semiring: str, backend: str) -> None:
    text = "(sum(<k, _> in 1:0) { k -> v(k) }) + (sum(<i, x> in A, <(i, j), y> in A) { 2 * i + 1 -> y })"
    operands = {"v": operand((3,), "dense", semiring), "A": operand((3, 3), "dcsr", semiring)}
    check(OVER.format(semiring, text), backend, operands)


def check(text: str, backend: str, operands: dict[str, Any]) -> None:
    """Compare with what the reference interpreter gives."""
    found, wanted = (storel.run(text, backend=each, **operands) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=1e-10)
