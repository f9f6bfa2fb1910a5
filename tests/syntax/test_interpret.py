"""Every construct against NumPy, on data without inf and NaN; what is not NumPy's is in the other files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strategies.data import Tensor, densified
from strategies.programs import run, run_program

A = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [-3.0, 4.0, 0.0]])
B = np.array([[0.0, 5.0, 1.0], [2.0, 0.0, 0.0], [0.0, 0.0, -2.0]])
V = np.array([1.0, 0.0, -2.0])
W = np.array([3, 0, 2])
X = np.array([0.5, 0.0, 4.0, 0.25, 8.0])
I = np.array([2, 0, 2, 1])  # noqa: E741
P = np.array([0, 2, 2, 4])
T = np.arange(24.0).reshape(2, 3, 4) % 5
BITS = np.array([True, False, True])
INPUTS: dict[str, Any] = {
    "A": Tensor(A), "B": Tensor(B), "v": Tensor(V), "w": Tensor(W), "T": Tensor(T), "b": Tensor(BITS),
    "x": X, "idx": I, "pos": P, "n": 3, "beta": np.float64(0.5),
}  # fmt: skip

PROGRAMS: list[tuple[str, Any]] = [
    # sums over entries, positions and ranges
    ("sum(<i, a> in v) a", V.sum()),
    ("sum(<i, a> in v) 1", 2),
    ("sum(<p, a> in x) 1", 5),
    ("sum(<p, a> in x) { p -> a }", X),
    ("sum(<i, a> in b) a", 2),
    ("sum(<i, _> in 0:n) { i -> i }", np.arange(3)),
    ("sum(<i, j> in 2:5) i * j", 4 + 9 + 16),
    ("sum(<i, _> in 3:1) 1", 0),
    ("sum(<_, row> in A) sum(<_, a> in row) a", A.sum()),
    ("sum(<(i, j), a> in A) { j -> a }", A.sum(axis=0)),
    ("sum(<i, row> in A) { i -> sum(<j, a> in row) a }", A.sum(axis=1)),
    ("sum(<i, row> in A) { i -> row }", A),
    ("sum(<(i, j, k), t> in T) { (k, i) -> t }", T.sum(axis=1).T),
    ("sum(<(i, j), fiber> in T) { i -> fiber(0) }", T[:, :, 0].sum(axis=1)),
    # several sources and joins
    ("sum(<(i, k), a> in A, <(k, j), c> in B) { (i, j) -> a * c }", A @ B),
    ("sum(<i, row> in A, <j, a> in row) { j -> a }", A.sum(axis=0)),
    ("sum(<i, a> in v, <i, c> in w) a * c", V @ W),
    ("sum(<i, a> in v, <i, c> in w) 1", 2),
    ("sum(<(i, i), a> in A) a", np.trace(A)),
    ("sum(<(i, j), a> in A, <(j, i), c> in B) { i -> a * c }", np.diag(A @ B)),
    ("sum(<i, a> in v, <(i, j), c> in A) { (i, j) -> a * c }", V[:, None] * A),
    ("sum(<i, a> in v) { i -> sum(<i, c> in w) c }", np.where(V != 0, W.sum(), 0)),
    ("sum(<p, i> in idx, <i, a> in v) { p -> a }", "bound twice"),
    ("sum(<p, i> in idx) { i -> 1 }", np.bincount(I)),
    ("sum(<i, _> in 0:n, <i, a> in x) { i -> a }", X[:3]),
    # dictionaries, lookups, arrays
    ("{ 1 -> 5 }", np.array([0, 5])),
    ("{ (1, 0) -> 5 }", np.array([[0, 0], [5, 0]])),
    ("{ 1 -> { 0 -> 5 } }", np.array([[0, 0], [5, 0]])),
    ("A + {}", A),
    ("A(2)", A[2]),
    ("A(2, 1)", 4.0),
    ("A(2)(1)", 4.0),
    ("A(99)(1) + v(-5)", 0.0),
    ("x(2)", 4.0),
    ("sum(<p, a> in x(1:4)) { p -> a }", np.array([0, 0, 4.0, 0.25])),
    ("sum(<p, a> in x(1:4)(2:3)) p * a", 8.0),
    ("sum(<p, a> in x(4:2)) 1", 0),
    ("x(1:4)(3)", 0.25),
    ("(2:5)(3)", 3),
    ("sum(<r, _> in 0:n) { r -> sum(<p, i> in idx(pos(r):pos(r + 1))) x(p) }", np.array([0.5, 0.0, 4.25])),
    ("sum(<i, _> in _, <k, a> in v) { i -> a * x(i + k) }", np.correlate(X, V)),
    ("sum(<i, _> in _, <k, _> in _ where k in 0:2) { i -> x(2 * i + k) }", X[:4].reshape(2, 2).sum(axis=1)),
    ("extent(A, 1) + extent(x, 0)", 8),
    # let, if
    ("let y = v in sum(<i, a> in y) a * y(i)", V @ V),
    ("let y = 2 in let z = y + 1 in y * z", 6),
    ("let _ = 1 in 2", 2),
    ("sum(<(i, j), a> in A) if (i >= j) then { (i, j) -> a }", np.tril(A)),
    ("sum(<(i, j), a> in A) if (i == j) then a else -a", 2 * np.trace(A) - A.sum()),
    ("if (false) then 3", 0),
    ("if (n > 2) then v else {}", V),
    ("if (n > 5) then v", 0 * V),
    # operators of dictionaries
    ("A + B", A + B), ("A - B", A - B), ("A * B", A * B), ("-A", -A), ("2 * A", 2 * A), ("A * beta", A / 2),
    ("A - A", 0 * A), ("v * A", "ranks"), ("v + 1", "ranks"), ("A * (v(0) - 1)", 0 * A),
    # operators of scalars
    ("7 / 2", 3.5), ("7 // 2", 3), ("-7 // 2", -4), ("-7 % 3", 2), ("7 % -3", -2), ("7.5 // 2", 3.0),
    ("beta + n", 3.5), ("1 - true", 0), ("true + true", 2), ("true * true", True), ("-true", -1),
    ("1 < 2 and not 2 < 1 or false", True), ("1 != 1.0", False), ("2 >= 2", True), ("2 <= 1", False),
    ("12 & 10", 8), ("12 | 3", 15), ("12 ^ 10", 6), ("1 << 5", 32), ("-16 >> 2", -4),
    # functions
    ("exp(0)", 1.0), ("log(1)", 0.0), ("sqrt(16)", 4.0), ("abs(-3)", 3), ("sigmoid(0)", 0.5),
    ("tanh(0)", 0.0),
    ("relu(-2.0) + relu(3.0)", 3.0), ("pow(2, 10)", 1024), ("pow(2.0, -1)", 0.5), ("floor(-1.5)", -2.0),
    ("ceil(1.2)", 2.0), ("int(-1.7)", -1), ("int(7) + int(true)", 8),
    ("min(2, 3)", 2), ("max(2, 3.0)", 3.0), ("sign(-4)", -1),
    ("bit(5, 2)", 1), ("bits(5)", 3), ("popcount(255)", 8), ("interleave(3, 1)", 11),
    ("-9223372036854775808", -(2**63)), ("1 + -9223372036854775808 // 2", 1 - 2**62),
    ("gather(11, 0)", 3), ("gather(11, 1)", 1),
    ("sum(<i, a> in v) { i -> max(a, 0) }", np.maximum(V, 0)),
    # comprehensions
    ("min(<i, a> in v) a", -2.0), ("max(<(i, j), a> in A) a", 4.0), ("prod(<i, a> in v) a", -2.0),
    ("any(<i, a> in v) (a < 0)", True), ("all(<i, a> in v) (a < 0)", False), ("count(<(i, j), a> in A)", 4),
    ("count(<p, a> in x)", 5), ("prod(<_, a> in x(0:0)) a", 1.0), ("any(<_, a> in x(0:0)) true", False),
    ("all(<_, a> in x(0:0)) false", True), ("count(<i, a> in v, <i, c> in w)", 2),
    ("min(<i, row> in A) sum(<_, a> in row) a", 1.0),
    # merge, unique
    (
        "merge(<p, q, k> in <0:4, idx(1:4)>) { (p, q) -> k }",
        np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]]),
    ),
    ("merge(<p, q, k> in <pos(0:2), 0:3>) (p * 10 + q)", 12),
    ("sum(<p, _> in 0:n) { unique(p) -> x(p) }", X[:3]),
    ("sum(<r, _> in 0:2) { r -> sum(<p, _> in 0:2) { unique(p) -> 1 } }", np.ones((2, 2))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [p for p in PROGRAMS if not isinstance(p[1], str)])
def test_agrees_with_numpy(text: str, expected: Any) -> None:
    wanted = np.asarray(expected)
    found = run(text, **INPUTS)
    dense = densified(found, wanted.shape, dtype=wanted.dtype)
    np.testing.assert_array_equal(dense, wanted)
    assert _has_no_zero(found) or wanted.ndim == 0
    if wanted.ndim == 0:
        assert type(found) is type(wanted.item())


def _has_no_zero(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_has_no_zero(inner) and inner != {} for inner in value.values())
    return value != 0


@pytest.mark.parametrize(("text", "message"), [p for p in PROGRAMS if isinstance(p[1], str)])
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        run(text, **INPUTS)


PRECEDENCE = [
    ("sum(<i, a> in v) a * a - 1", 4.0),
    ("sum(<i, a> in v) a * a", 5.0),
    ("2 * sum(<i, a> in v) a * 3 + 1", -5.0),
    ("-sum(<i, a> in v) a", 1.0),
    ("sum(<i, a> in v) -a", 1.0),
    ("count(<i, a> in v) + 1", 3),
    ("count(<i, a> in v) < 1", False),
    ("if (true) then 1 + 1 else 5 + 5", 2),
    ("1 + if (false) then 1 else 5 + 5", 11),
    ("let y = 2 in y * y + 1", 5),
    ("1 + 2 * 3 - 4 // 2", 5),
    ("2 - 3 - 4", -5),
    ("2 - -3", 5),
    ("8 // 2 // 2", 2),
    ("1 << 2 + 1", 8),
    ("1 | 2 ^ 3 & 5", 3),
    ("6 & 3 << 1", 6),
    ("1 + 1 == 2", True),
    ("5 & 4 == 4", True),
    ("not 1 == 2 and true", True),
    ("true or false and false", True),
    ("sum(<i, _> in 1:1 + 2) 1", 2),
    ("SUM(<i, a> IN v) a", -1.0),
    ("if true then if false then 1 else 2 else 3", 2),
]


@pytest.mark.parametrize(("text", "expected"), PRECEDENCE)
def test_precedence(text: str, expected: Any) -> None:
    found = run(text, **INPUTS)
    assert (found, type(found)) == (expected, type(expected))


def test_storage_by_hand() -> None:
    """The compressed rows of the paper's first figure, and a product with them."""
    arrays = {
        "C_len1": 3, "C_pos2": np.array([0, 3, 3, 5]), "C_idx2": np.array([0, 2, 3, 0, 3]),
        "C_val": np.array([6.0, 9, 8, 5, 7]),
    }  # fmt: skip
    program = """
    CREATE TENSOR C: real[3, 4] AS
      sum(<row, _> in 0:C_len1)
        { row -> sum(<off, col> in C_idx2(C_pos2(row):C_pos2(row + 1))) { col -> C_val(off) } }
    CREATE TENSOR y AS sum(<(i, j), v> in C) { i -> v * extent(C, 1) }
    """
    dense = np.array([[6, 0, 9, 8], [0, 0, 0, 0], [5, 0, 0, 7.0]])
    np.testing.assert_array_equal(densified(run_program(program, **arrays)["y"], (3,)), 4 * dense.sum(axis=1))


def test_several_results_see_each_other() -> None:
    program = """
    CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }
    CREATE TENSOR s AS sum(<i, a> in y) a
    SAVE y TO 'y.npy' SAVE s TO 's.npy'
    """
    results = run_program(program, A=Tensor(A))
    assert results == {"y": {0: 3.0, 2: 1.0}, "s": 4.0}


UFUNCS: list[tuple[str, Callable[..., Any]]] = [
    ("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("tanh", np.tanh), ("sin", np.sin), ("cos", np.cos),
    ("abs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("sign", np.sign),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function"), UFUNCS)
def test_functions_of_reals(name: str, function: Callable[..., Any]) -> None:
    points = np.array([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 7.25, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        expected = function(points)
    found = densified(run(f"sum(<p, a> in points) {{ p -> {name}(a) }}", points=points), points.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
