"""Products of dictionaries, which have the keys that both have, whatever a plan goes through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel

VECTOR = np.array([1.0, 2.0, 0.0, 4.0, 5.0])
SHORT = np.array([3.0, 0.5, 2.0])
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0]])
LEFT = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])

PRODUCTS = [
    "sum(<i, v> in b * sum(<k, _> in 0:2) { k -> 1.0 }) v",
    "sum(<i, v> in b * sum(<k, _> in 1:3) { k -> 2.0 }) { i -> v }",
    "sum(<i, v> in (sum(<k, _> in 0:2) { k -> 1.0 }) * b) v",
    "sum(<i, v> in b * sum(<k, x> in c) { k -> x }) v",
    "sum(<i, v> in b * sum(<k, x> in c) { k -> x } * sum(<k, _> in 0:1) { k -> 7.0 }) v",
    "sum(<i, v> in (sum(<k, x> in c) { k -> x }) * b) { i -> v * v }",
    "sum(<(i, j), v> in A * sum(<i, _> in 0:3, <k, _> in 0:1) { (i, k) -> 1.0 }) v",
    "let t = b * sum(<k, _> in 0:2) { k -> 1.0 } in sum(<i, v> in t) v",
    "let t = A * sum(<i, _> in 0:2, <k, _> in 0:1) { (i, k) -> 1.0 } in sum(<i, r> in t) sum(<j, v> in r) v",
    "sum(<i, _> in 0:2) let r = (A * sum(<k, _> in 0:2) { (k, 0) -> 1.0 })(i) in sum(<j, v> in r) v",
    "max(<i, v> in b * sum(<k, x> in c) { k -> x }) v",
]


@pytest.mark.parametrize("binders", ["named", "debruijn"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("program", PRODUCTS)
def test_keys_are_those_of_both(program: str, storage: str, binders: str) -> None:
    given = {
        name: storel.tensor(each, "dense" if storage == "dense" else sparse)
        for name, each, sparse in (("b", VECTOR, "coo"), ("c", SHORT, "coo"), ("A", MATRIX, "csr"))
        if f" {name}" in program.replace("(", " ").replace(")", " ")
    }
    script = f"CREATE TENSOR R AS {program}"
    for floating_point in ("reassociate", "strict"):
        assert_like_the_interpreter(script, given, binders=binders, floating_point=floating_point)


@pytest.mark.parametrize("rows", ["csf", "dcsr", "coo"])
@pytest.mark.parametrize(
    "program",
    [
        "CREATE TENSOR R AS sum(<l, _> in B) A(0) * A(l)",
        "CREATE TENSOR R OVER max_plus AS sum(<k, _> in B, <l, _> in B) A(1 - k) * A(l)",
    ],
)
def test_rows_are_no_factors_of_tables(program: str, rows: str) -> None:
    given = {"A": storel.tensor(MATRIX, rows), "B": storel.tensor(LEFT, "csc")}
    assert_like_the_interpreter(program, given)


@pytest.mark.parametrize("semiring", ["or_and", "max_times"])
def test_matrices_are_no_factors_of_chains(semiring: str) -> None:
    random = np.random.default_rng(0)
    one, other = (random.random((5, 5)) < 0.4 for _ in range(2))
    given = {
        "S": storel.tensor(one, "csr"),
        "T": storel.tensor(other, "csr"),
        "M": storel.tensor(np.ones((5, 5), bool)),
    }
    script = f"CREATE TENSOR R OVER {semiring} AS sum(<(i, j), a> in S, <(j, k), b> in T) M"
    assert_like_the_interpreter(script, given)


def assert_like_the_interpreter(script: str, given: dict[str, storel.Tensor], **options: Any) -> None:
    wanted, found = storel.run(script, backend="interpret", **given), storel.run(script, **options, **given)
    assert isinstance(wanted, storel.Tensor)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
