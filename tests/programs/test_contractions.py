"""Dense contractions are computed as matrix products, whatever the order of their dimensions."""

from __future__ import annotations

import math
import re
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from strategies.products import dense, products

import storel

EXTENTS = {"a": 9, "b": 5, "c": 7, "d": 31, "e": 26, "f": 13, "k": 270, "m": 41, "n": 53}

CASES = [
    "mn-mk-kn", "nm-mk-kn", "mn-km-nk", "mn-kn-km", "amn-amk-akn", "man-mka-kan", "abmn-akm-bkn",
    "adce-afc-fde", "edca-cfa-dfe", "mn-amk-kna", "acde-akfd-kcfe", "mdn-mk-dkn",
]  # fmt: skip
"""Result, left and right operand, by the letters of their dimensions."""


def pattern(letters: str) -> str:
    return letters if len(letters) == 1 else f"({', '.join(letters)})"


def program(case: str, scale: str = "") -> str:
    result, left, right = case.split("-")
    sources = f"<{pattern(left)}, x> in A, <{pattern(right)}, y> in B"
    return f"CREATE TENSOR R AS sum({sources}) {{{pattern(result)} -> {scale}x * y}}"


def operands(case: str, dtype: str = "float64", seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    _, left, right = case.split("-")
    return {
        name: (rng.random([EXTENTS[letter] for letter in letters]) - 0.5).astype(dtype)
        for name, letters in (("A", left), ("B", right))
    }


def reference(case: str, given: dict[str, Any]) -> NDArray[Any]:
    result, left, right = case.split("-")
    return np.einsum(f"{left},{right}->{result}", given["A"], given["B"], optimize=True)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("case", CASES)
def test_contractions(case: str, backend: str) -> None:
    given = operands(case)
    kernel = storel.compile(program(case), backend=backend, **given)
    assert len(products(kernel)) == 1
    np.testing.assert_allclose(dense(kernel(**given)), reference(case, given), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("left", ["dke", "dek", "kde"])
@pytest.mark.parametrize("result", ["".join(each) for each in permutations("den")])
def test_dimensions_in_any_order(result: str, left: str) -> None:
    """What the search would rather store in tables is a product, too."""
    case = f"{result}-{left}-nk"
    given = operands(case)
    kernel = storel.compile(program(case), backend="c", **given)
    assert len(products(kernel)) == 1
    assert kernel.compilation.optimized.cost.nanoseconds < 1e6
    np.testing.assert_allclose(dense(kernel(**given)), reference(case, given), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("first", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31])
def test_runs_of_any_length(first: int, dtype: str) -> None:
    """Rows and columns alternate in the result, so that it is written in runs of its last dimension."""
    rng = np.random.default_rng(first)
    left, right = (rng.random(shape).astype(dtype) for shape in ((20, 40, first), (4, 40, 6, 7)))
    text = "CREATE TENSOR R AS sum(<(i, k, a), x> in A, <(c, k, b, j), y> in B) {(c, i, b, j, a) -> x * y}"
    kernel = storel.compile(text, backend="c", A=left, B=right)
    assert len(products(kernel)) == 1
    found = dense(kernel(A=left, B=right))
    np.testing.assert_allclose(found, np.einsum("ika,ckbj->cibja", left, right), rtol=1e-5)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_single_precision_by_several_threads(backend: str) -> None:
    case, given = CASES[0], operands(CASES[0], "float32")
    kernel = storel.compile(program(case), backend=backend, threads=3, **given)
    assert len(products(kernel)) == 1
    np.testing.assert_allclose(dense(kernel(**given)), reference(case, given), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_scalars(backend: str) -> None:
    case, given = CASES[1], operands(CASES[1])
    text = f"PARAMETER p: real = 2.0\n{program(case, '0.5 * p * ')}"
    kernel = storel.compile(text, backend=backend, **given)
    assert len(products(kernel)) == 1
    np.testing.assert_allclose(dense(kernel(**given, p=3.0)), 1.5 * reference(case, given), rtol=1e-9)


@settings(max_examples=15)
@given(st.integers(1, 30), st.integers(1, 60), st.integers(1, 300), st.integers(0, 2))
def test_any_size(rows: int, columns: int, depth: int, threads: int) -> None:
    rng = np.random.default_rng(rows)
    left, right = rng.random((rows, depth)), rng.random((depth, columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storel.plan.contraction.LEAST", 0)
        patch.setattr("storel.plan.contraction.LEAST_STEPS", 0)
        patch.setattr("storel.compilation.compiled.WORTH_THREADS", 0.0)
        result = storel.run(program(CASES[0]), backend="c", threads=threads + 1, A=left, B=right)
    np.testing.assert_allclose(dense(result), left @ right, rtol=1e-10)


def test_a_chain_is_two_products() -> None:
    rng = np.random.default_rng(1)
    given = {"A": rng.random((90, 80)), "B": rng.random((80, 120)), "C": rng.random((120, 60))}
    text = (
        "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C) {(i, l) -> a * b * c}"
    )
    kernel = storel.compile(text, **given)
    found = products(kernel)
    assert len(found) == 2
    best = min(90 * 80 * 120 + 90 * 120 * 60, 80 * 120 * 60 + 90 * 80 * 60)
    assert sum(math.prod(product.extents) for product in found) == best
    np.testing.assert_allclose(dense(kernel(**given)), given["A"] @ given["B"] @ given["C"], rtol=1e-10)


def test_a_chain_whose_table_does_not_fit_is_computed_row_by_row() -> None:
    rng = np.random.default_rng(1)
    given = {"A": rng.random((64, 512)), "B": rng.random((512, 300)), "C": rng.random((300, 80))}
    text = (
        "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C) {(i, l) -> a * b * c}"
    )
    assert len(products(storel.compile(text, **given))) == 2
    kernel = storel.compile(text, memory_limit=100_000, **given)
    assert products(kernel) == []
    np.testing.assert_allclose(dense(kernel(**given)), given["A"] @ given["B"] @ given["C"], rtol=1e-10)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("sum(<(m, k), x> in A, <(k, n), y> in B) {(m, n) -> x * y}", {"floating_point": "strict"}),
        ("sum(<(m, k), x> in A, <(k, n), y> in B) if (m <= n) then {(m, n) -> x * y}", {}),
        ("sum(<(m, k), x> in A, <(k, n), y> in B) {(m, n) -> max(x, y)}", {}),
        ("sum(<(m, k), x> in A, <k, y> in b) {m -> x * y}", {}),
    ],
    ids=["in order", "a half", "another operation", "a vector"],
)
def test_what_is_no_matrix_product(text: str, options: dict[str, Any]) -> None:
    given = operands(CASES[0])
    if " b)" in text:
        given = {"A": given["A"], "b": given["B"][:, 0].copy()}
    assert products(storel.compile(f"CREATE TENSOR R AS {text}", **given, **options)) == []


def test_a_zero_meets_infinity() -> None:
    given = operands(CASES[0])
    given["A"][3, 4] = np.inf
    given["B"][4, :] = 0.0
    kernel = storel.compile(program(CASES[0]), **given)
    assert products(kernel) == []
    assert np.isfinite(dense(kernel(**given))).all()


@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_a_zero_meets_a_scalar_that_is_not_finite(number: float, backend: str, threads: int) -> None:
    """What is multiplied by such a number in vain is zero, also where the kernel was made for another one."""
    given = operands(CASES[0])
    given["A"][3, :] = 0.0
    given["B"][:, 4] = 0.0
    text = program(CASES[0], "p * ")
    kernel = storel.compile(text, backend=backend, threads=threads, p=2.0, **given)
    assert len(products(kernel)) == 1
    for found in (kernel(p=number, **given), storel.run(text, backend=backend, p=number, **given)):
        assert (dense(found)[3] == 0).all()
        assert (dense(found)[:, 4] == 0).all()
    assert len(products(kernel)) == 1


def test_numbers_whose_product_is_not_finite_are_no_factor_of_a_matrix_product() -> None:
    given = {name: 1e-200 * array for name, array in operands(CASES[0]).items()}
    text = program(CASES[0], "1e200 * 1e200 * ")
    assert products(storel.compile(text, **given)) == []


def test_a_result_that_does_not_fit() -> None:
    given = operands(CASES[0])
    with pytest.raises(storel.StorelError, match="memory"):
        storel.run(program(CASES[0]), memory_limit=1000, **given)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_follows_adds_to_a_product(threads: int, backend: str) -> None:
    given = operands("mn-mk-kn")
    given["C"] = sp.random_array((41, 53), density=0.1, format="csr", rng=np.random.default_rng(1)).T.tocsr()
    text = f"{program('mn-mk-kn')} + sum(<(n, m), c> in C) {{(m, n) -> c}}"
    kernel = storel.compile(text, backend=backend, threads=threads, **given)
    assert len(products(kernel)) == 1 and kernel.compilation.phases[-1].continues
    want = reference("mn-mk-kn", given) + given["C"].toarray().T
    for _ in range(2):
        np.testing.assert_allclose(dense(kernel(**given)), want, rtol=1e-9, atol=1e-9)


PRODUCT = "sum(<(i, k), x> in A, <(k, j), y> in B) {(i, j) -> x * y}"
OTHER = "sum(<(l, i), x> in C, <(j, l), y> in D) {(i, j) -> x * y}"

WITH_MORE: dict[str, tuple[str, int]] = {
    "another matrix": (f"CREATE TENSOR R AS {PRODUCT} + N", 1),
    "less another matrix": (f"CREATE TENSOR R AS N - {PRODUCT}", 1),
    "a bias": (
        "CREATE TENSOR R AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(B, 1)) "
        "{(i, j) -> b(j) + sum(<k, x> in A(i)) x * B(k, j)}",
        1,
    ),
    "a bias, and a function of it": (
        f"CREATE TENSOR Q AS {PRODUCT} + N CREATE TENSOR R AS sum(<(i, j), q> in Q) {{(i, j) -> max(q, 0)}}",
        1,
    ),
    "a chain": (
        "CREATE TENSOR R AS N + "
        "sum(<(i, k), x> in A, <(k, l), y> in S, <(l, j), z> in B) {(i, j) -> x * y * z}",
        2,
    ),
    "a quotient": (f"CREATE TENSOR R AS {PRODUCT.replace('x * y', 'x * y / -3')} + N", 1),
    "a function without bounds": (
        f"CREATE TENSOR Q AS {PRODUCT} "
        "CREATE TENSOR R AS sum(<(i, j), q> in Q) {(i, j) -> exp(q) - N(i, j)}",
        1,
    ),
    "another product": (f"CREATE TENSOR R AS {PRODUCT} + {OTHER}", 2),
    "less another product": (f"CREATE TENSOR R AS N - {PRODUCT} - 2 * {OTHER}", 2),
    "another product, and a function of both": (
        f"CREATE TENSOR Q AS {PRODUCT} + {OTHER} + N "
        "CREATE TENSOR R AS sum(<(i, j), q> in Q) {(i, j) -> max(q, 0)}",
        2,
    ),
}
"""Programs of products with something added, and how many products."""


@pytest.mark.parametrize("name", WITH_MORE)
def test_what_is_added_follows_the_product(name: str) -> None:
    rng = np.random.default_rng(0)
    shapes = {
        "A": (70, 90),
        "B": (90, 60),
        "N": (70, 60),
        "S": (90, 90),
        "C": (50, 70),
        "D": (60, 50),
        "b": (60,),
    }
    text, number = WITH_MORE[name]
    read = {
        each: rng.random(shape) - 0.5 for each, shape in shapes.items() if re.search(rf"\b{each}\b", text)
    }
    kernel = storel.compile(text, **read)
    assert len(products(kernel)) == number
    wanted = storel.run(text, floating_point="strict", **read)
    np.testing.assert_allclose(dense(kernel(**read)), dense(wanted), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("rows", "columns"), [(37, 61), (64, 96), (61, 37)])
def test_a_product_is_added_to_another_one(
    rows: int, columns: int, dtype: str, threads: int, backend: str
) -> None:
    """Tiles are whole or not, the other product is of transposes, and each has several blocks of summands."""
    rng = np.random.default_rng(rows)
    shapes = {"A": (rows, 700), "B": (700, columns), "C": (600, rows), "D": (columns, 600)}
    read = {name: (rng.random(shape) - 0.5).astype(dtype) for name, shape in shapes.items()}
    kernel = storel.compile(
        f"CREATE TENSOR R AS {PRODUCT} + {OTHER}", backend=backend, threads=threads, **read
    )
    assert len(products(kernel)) == 2
    wanted = read["A"].astype(float) @ read["B"] + (read["D"].astype(float) @ read["C"]).T
    error = 1e-3 if dtype == "float32" else 1e-11
    for _ in range(2):
        np.testing.assert_allclose(dense(kernel(**read)), wanted, rtol=error, atol=error)


@pytest.mark.parametrize(("side", "is_product"), [(6, False), (24, False), (40, True)])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_small_products_of_a_batch_are_loops(side: int, is_product: bool, backend: str) -> None:
    rng = np.random.default_rng(side)
    given = {name: rng.random((2**18 // side**3 + 9, side, side)) for name in "AB"}
    text = "CREATE TENSOR R AS sum(<(b, i, j), x> in A, <(b, j, k), y> in B) { (b, i, k) -> x * y }"
    kernel = storel.compile(text, backend=backend, **given)
    assert bool(products(kernel)) == is_product
    np.testing.assert_allclose(dense(kernel(**given)), given["A"] @ given["B"], rtol=1e-10)
