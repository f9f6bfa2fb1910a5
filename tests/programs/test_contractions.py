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

import storel
from storel.plan.contraction import Contraction

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


def products(kernel: storel.Kernel) -> list[Contraction]:
    return [phase.contraction for phase in kernel.compilation.phases if phase.contraction is not None]


def dense(result: storel.Tensor | dict[str, storel.Tensor]) -> NDArray[Any]:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


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
