"""Dictionaries that programs make and look into, over all semirings: what backends give is what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.reading import read_by

import storel

RANDOM = np.random.default_rng(7)
OVER = "CREATE TENSOR R OVER {} AS {}"


def operand(shape: tuple[int, ...], stored: str, semiring: str = "plus_times", share: float = 0.5) -> Any:
    """Return a tensor of small numbers; with the zero of its semiring where there is no entry."""
    chosen = np.argwhere(RANDOM.random(shape) < share)
    values = RANDOM.integers(-3, 4, len(chosen)).astype(float)
    return storel.tensor((chosen.T, values), stored, shape=shape, semiring=semiring)


@pytest.mark.parametrize(
    ("semiring", "backend"),
    [("plus_times", "c"), ("min_plus", "c"), ("max_plus", "c"), ("min_plus", "numba")],
)
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


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus"])
@pytest.mark.parametrize("stored", ["dense", "csr", "coo", "dcsr"])
@pytest.mark.parametrize(
    "text",
    [
        "(sum(<(i, j), u> in A, <(j, k), w> in B) { (i, j + k) -> u * w }) * A",
        "(sum(<(i, j), u> in A) { (2 * i, j) -> u }) * (sum(<(i, j), w> in B) { i -> v })",
        "(sum(<(i, j), u> in A) { 3 * i -> (sum(<(k, l), w> in B) { (k + l) // 2 -> w }) }) * (A + B)",
    ],
)
def test_zeros_may_arrive_beyond_the_extent_of_a_result(text: str, stored: str, semiring: str) -> None:
    operands = {
        "A": operand((4, 4), "coo", semiring, 0.9),
        "B": operand((4, 4), "csr", semiring, 0.9),
        "v": operand((4,), "dense", semiring, 0.9),
    }
    given = {name: operands[name] for name in operands if name in text}
    check(OVER.format(semiring, text), "c", given, stored)


@pytest.mark.parametrize(
    "text",
    [
        "sum(<(i, j), x> in A, <j, y> in ({ (i, j) -> x }), <(j, i), z> in B) { (i, i) -> i }",
        "sum(<(i, j), x> in C, <(l, j), y> in ({ (i, j) -> v(i) } + (A * B))) A(l + i, i)",
        "sum(<(i, j), x> in A, <(k, l, m), y> in (sum(<(r, s), z> in A) { (s % 2, s % 3, j) -> z })) j",
        "let d = sum(<(k, l), y> in B) { (k | l, k << 1) -> y } in sum(<(i, j), x> in A) d(j, i) * d(i, j)",
    ],
)
def test_keys_of_stored_rows_are_bounded(text: str) -> None:
    operands = {
        "A": operand((4, 4), "coo"),
        "B": operand((4, 4), "dcsr"),
        "C": operand((4, 4, 4), "coo"),
        "v": operand((4,), "dense"),
    }
    check(f"CREATE TENSOR R AS {text}", "c", operands)


@pytest.mark.parametrize("stored", ["csr", "hyb", "band_coo", "bcsr_csr"])
def test_a_row_is_looked_up_where_there_is_one(stored: str) -> None:
    operands = {"A": operand((2, 1), stored, share=1), "B": operand((2, 2), "mask", share=1)}
    check("CREATE TENSOR R AS sum(<i, _> in 0:7, <(i, j), x> in A) { j -> B(i, i) }", "c", operands)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_what_a_bit_stands_for_is_read_where_it_is_set(backend: str) -> None:
    entries = {(0, 1): 1.0, (0, 2): 1.0, (2, 1): 1.0, (2, 2): 1.0}
    operands = {"A": storel.tensor(entries, "bitmap", shape=(4, 4)), "v": np.array([0.0, 1.0, 0.0, 0.0])}
    added = "sum(<k, u> in v, <(i, j), x> in A, <l, _> in 0:3) { l -> u } + sum(<i, row> in A) { i -> v(i) }"
    check(f"CREATE TENSOR R AS {added}", backend, operands)


def check(text: str, backend: str, operands: dict[str, Any], stored: str | None = None) -> None:
    """Compare with what the reference interpreter gives."""
    used = read_by(text, operands)
    found = storel.run(text, backend=backend, format=stored, **used)
    wanted = storel.run(text, backend="interpret", **used)
    assert isinstance(found, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=1e-10)
