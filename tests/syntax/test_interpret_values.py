"""Properties on nasty data: zeros, duplicates, empty tensors, NaN and inf, every type and semiring."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.data import (
    Array,
    CoordinateList,
    Tensor,
    arrays,
    coordinate_lists,
    densified,
    entries_of,
    tensors,
)
from strategies.programs import run, run_over, run_program

from storel.semiring import SEMIRINGS, Semiring

SHAPES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
SEMIRING = st.sampled_from(sorted(SEMIRINGS))
few = settings(max_examples=40, deadline=None)


@few
@given(st.data(), SHAPES)
def test_finite_products_are_numpys(data: st.DataObject, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a = data.draw(arrays((m, k), ("float64", "int64", "int32"), finite=True))
    b = data.draw(arrays((k, n), ("float64", "int64"), finite=True))
    found = run("sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }", A=Tensor(a), B=Tensor(b))
    np.testing.assert_array_equal(densified(found, (m, n)), a @ b)


@few
@given(st.data(), SHAPES, SEMIRING)
def test_products_by_the_law(data: st.DataObject, shape: tuple[int, int, int], name: str) -> None:
    """On any data, over any semiring: the sum of the products of the entries, in order of the keys."""
    m, k, n = shape
    ring = SEMIRINGS[name]
    a = data.draw(arrays((m, k), ("float64",)))
    b = data.draw(arrays((k, n), ("float64",)))
    if name == "max_times":  # its numbers are not negative
        a, b = np.abs(a), np.abs(b)
    found = run_over(
        name,
        "sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
        A=Tensor(a, name),
        B=Tensor(b, name),
    )
    expected = np.full((m, n), ring.zero, dtype=np.float64)
    for i, j in np.ndindex(m, n):
        products = [ring.times(a[i, p].item(), b[p, j].item()) for p in range(k)]
        expected[i, j] = reduce(ring.plus, products, ring.zero)
    np.testing.assert_array_equal(densified(found, (m, n), name), expected)
    _assert_no_zeros(found, ring)


@few
@given(tensors(2), SEMIRING)
def test_a_tensor_is_its_entries(a: Array, name: str) -> None:
    """Named, rebuilt entry by entry or row by row, it has the same entries; none of them is zero."""
    expected = densified(entries_of(a, name), a.shape, name)
    if SEMIRINGS[name].has_truths:
        expected = expected.astype(bool)
    for text in ("A", "sum(<(i, j), x> in A) { (i, j) -> x }", "sum(<i, row> in A) { i -> row }"):
        found = run_over(name, text, A=Tensor(a, name))
        np.testing.assert_array_equal(densified(found, a.shape, name), expected.astype(np.float64))
        _assert_no_zeros(found, SEMIRINGS[name])


@few
@given(tensors(2), tensors(2))
def test_counts_are_of_entries(a: Array, x: Array) -> None:
    """-0.0 is zero, NaN is an entry; an array has every position."""
    assert run("sum(<(i, j), x> in A) 1", A=Tensor(a)) == np.count_nonzero(a)
    assert run("count(<(i, j), x> in A)", A=Tensor(a)) == np.count_nonzero(a)
    assert run("sum(<p, y> in x) 1", x=x.reshape(-1)) == x.size
    assert run("sum(<i, y> in sum(<p, y> in x) { p -> y }) 1", x=x.reshape(-1)) == np.count_nonzero(x)


@few
@given(st.data(), st.integers(0, 4))
def test_element_wise_operators(data: st.DataObject, size: int) -> None:
    a, b = (data.draw(arrays((size,), ("float64", "float32"))) for _ in range(2))
    inputs = {"a": Tensor(a), "b": Tensor(b)}
    with np.errstate(all="ignore"):
        product = np.where((a == 0) | (b == 0), 0, a * b)
        cases = {
            "a + b": a + b,
            "a - b": a - b,
            "a * b": product,
            "-a": -a,
            "2 * a": np.where(a == 0, 0, 2 * a),
        }
    for text, expected in cases.items():
        np.testing.assert_array_equal(densified(run(text, **inputs), (size,)), expected.astype(np.float64))


@few
@given(coordinate_lists(2))
def test_duplicates_are_added(entries: CoordinateList) -> None:
    row, col = entries.coordinates
    m, n = entries.shape
    program = f"CREATE TENSOR T: real[{m}, {n}] AS sum(<p, i> in row) {{ (i, col(p)) -> val(p) }}"
    found = run_program(program, row=row, col=col, val=entries.values)["T"]
    np.testing.assert_array_equal(densified(found, entries.shape), entries.dense())
    _assert_no_zeros(found, SEMIRINGS["plus_times"])


@few
@given(st.lists(st.integers(0, 6), max_size=5), st.lists(st.integers(0, 6), max_size=5))
def test_merge_is_a_guarded_double_sum(left: list[int], right: list[int]) -> None:
    """Of any arrays, increasing or not."""
    inputs = {"r": np.array(left, dtype=np.int64), "s": np.array(right, dtype=np.int64)}
    merged = run("merge(<p, q, k> in <r, s>) { (p, q) -> k + 1 }", **inputs)
    assert merged == run("sum(<p, k> in r) sum(<q, y> in s) if (k == y) then { (p, q) -> k + 1 }", **inputs)
    assert merged == entries_of(
        np.array([[k + 1 if k == y else 0 for y in right] for k in left]).reshape(len(left), len(right))
    )


@few
@given(tensors(1, ("float64", "int64", "int32", "bool")))
def test_extremes(a: Array) -> None:
    entries = a[a != 0]
    if len(entries):
        np.testing.assert_equal(run("min(<i, x> in A) x", A=Tensor(a)), _first_nan_or(entries, min))
        np.testing.assert_equal(run("max(<i, x> in A) x", A=Tensor(a)), _first_nan_or(entries, max))
    assert run("any(<i, x> in A) (x > 0)", A=Tensor(a)) == bool((entries > 0).any())
    assert run("all(<i, x> in A) (x > 0)", A=Tensor(a)) == bool((entries > 0).all())


def _first_nan_or(entries: Array, choose: Any) -> Any:
    return math.nan if np.isnan(entries.astype(np.float64)).any() else choose(entries.tolist())


def _assert_no_zeros(value: Any, ring: Semiring) -> None:
    assert isinstance(value, dict)
    for inner in value.values():
        if isinstance(inner, dict):
            assert inner
            _assert_no_zeros(inner, ring)
        else:
            assert not ring.is_zero(inner)


ANNIHILATION = [
    ("0 * inf", 0.0),
    ("inf * 0", 0.0),
    ("nan * 0", 0.0),
    ("inf - inf", math.nan),
    ("1 / 0", math.inf),
    ("-1 / 0", -math.inf),
    ("0 / 0", math.nan),
    ("1.0 // 0", math.inf),
    ("1.0 % 0", math.nan),
    ("log(0)", -math.inf),
    ("sqrt(-1)", math.nan),
    ("if (nan) then 1", 1),
    ("nan == nan", False),
    ("nan != nan", True),
    ("missing(0) // missing(1)", math.nan),  # the zeros of reals, not of integers
    ("(sum(<i, a> in missing) a) // sum(<i, a> in missing) a", math.nan),
]


@pytest.mark.parametrize(("text", "expected"), ANNIHILATION)
def test_zero_inf_and_nan(text: str, expected: Any) -> None:
    found = run(text, missing=Tensor(np.zeros(2)))
    np.testing.assert_equal(found, expected)


TYPES = [
    ("h(0) + h(1)", np.float32(0.1) + np.float32(0.2)),
    ("h(0) * h(1)", np.float32(0.1) * np.float32(0.2)),
    ("h(0) / h(1)", np.float32(0.1) / np.float32(0.2)),
    ("sum(<i, a> in h) a", (np.float32(0.1) + np.float32(0.2)) + np.float32(3e38)),
    ("h(2) * h(2)", np.float32(np.inf)),
    ("h(0) * 3", np.float32(0.1) * np.float32(3)),
    ("exp(h(0))", np.exp(np.float32(0.1))),
    ("h(0) + 0.1", np.float64(np.float32(0.1)) + 0.1),
    ("if (true) then h(0) else 0.5", np.float64(np.float32(0.1))),
    ("b(0) + b(0)", np.int64(2)),
    ("sum(<i, a> in b) { 0 -> a }", {0: 2}),
    ("{ 0 -> b(0) }", {0: True}),
    ("w(0) / w(1)", np.float64(1.5)),
    ("w(0) // w(1)", np.int32(1)),
]


@pytest.mark.parametrize(("text", "expected"), TYPES)
def test_types_of_results(text: str, expected: Any) -> None:
    """float32 is rounded after every operation, once; NumPy's promotion of int32 is not ours."""
    single = Tensor(np.array([0.1, 0.2, 3e38], dtype=np.float32))
    whole, truth = Tensor(np.array([3, 2], dtype=np.int32)), Tensor(np.array([True, False, True]))
    found = run(text, h=single, w=whole, b=truth)
    np.testing.assert_equal(found, expected if isinstance(expected, dict) else expected.item())


DISTANCES = np.array([[0.0, 3.0, np.inf], [np.inf, 0.0, 1.0], [2.0, np.inf, 0.0]])
SQUARE = "sum(<(i, k), a> in D, <(k, j), b> in D) { (i, j) -> a * b }"
SEMIRING_PROGRAMS = [
    (
        "min_plus",
        "sum(<(i, k), a> in D, <(k, j), b> in D) { (i, j) -> a * b }",
        [[0, 3, 4], [3, 0, 1], [2, 5, 0]],
    ),
    ("min_plus", "sum(<(i, j), a> in D) { i + 1 -> a }", [np.inf, 0, 0, 0]),
    ("min_plus", "sum(<(i, j), a> in D) let k = i + j in { k -> a }", [0, 3, 0, 1, 0]),
    ("min_plus", "sum(<(i, j), a> in D) let k = 2 * i - j // 2 in { k -> k * a }", [0, 2, 2, 3, 6]),
    ("min_plus", "sum(<(i, j), a> in D) if (a + 0 < 1 + 1) then { i -> a }", [0, 0, 0]),
    ("min_plus", "{ 0 -> sum(<(i, j), a> in D) a * -1 }", [-1]),
    ("min_plus", "sum(<i, _> in 0:2) if (i == 5) then 1", np.inf),
    ("min_plus", "D(0, 2)", np.inf),
    ("min_plus", "{} + 1", 1),
    ("min_plus", "count(<(i, j), a> in D)", 6),
    ("max_plus", "sum(<(i, j), a> in D) { i -> a }", [3, 1, 2]),
    ("max_times", "sum(<(i, j), a> in D) { i -> a * a }", [9, 1, 4]),
    ("or_and", "sum(<(i, j), a> in D) { i -> true }", [True, True, True]),
    ("plus_times", "sum(<(i, j), a> in D) { i -> a }", [3, 1, 2]),
    ("plus_times", "sum(<(i, j), a> in D) { i -> 1 }", [2, 2, 2]),
]


@pytest.mark.parametrize(("name", "text", "expected"), SEMIRING_PROGRAMS)
def test_other_semirings(name: str, text: str, expected: Any) -> None:
    """Over min_plus a distance of 0 is an entry, whoever reads it; what the tensor lacks stays missing."""
    wanted = np.asarray(expected)
    found = run_over(name, text, D=Tensor(DISTANCES, "min_plus"))
    np.testing.assert_array_equal(densified(found, wanted.shape, name), wanted)
