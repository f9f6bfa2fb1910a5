"""Sums whose terms are all divided by the same are divided as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.optimizer.sharing.dividing import divided

RANDOM = np.random.default_rng(5)
MATRIX = RANDOM.random((12, 10)) * (RANDOM.random((12, 10)) < 0.4)
MATRIX[3] = 0
OPERANDS: dict[str, Any] = {
    "A": MATRIX,
    "x": np.where(RANDOM.random(10) < 0.7, RANDOM.random(10), 0),
    "B": RANDOM.random((10, 6)),
    "s": MATRIX.sum(axis=1),  # which is 0 where a row is empty
    "n": RANDOM.integers(0, 3, 12),
}

PROGRAMS = [
    "sum(<(i, j), a> in A) { i -> a * x(j) / s(i) }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b / s(i) }",
    "sum(<(i, j), a> in A) { i -> (if (a > 0.2) then a / s(i)) }",
    "sum(<(i, j), a> in A, <j, v> in x) { i -> a * (v / sqrt(sum(<_, w> in x) w * w)) }",
    "sum(<(i, j), a> in A, <j, v> in x) { i -> a * (v / 5.5) + v / 5.5 }",
    "sum(<(i, j), a> in A) { j -> a / sqrt(2) / 3 }",
    "sum(<(i, j), a> in A) a / (1 + s(2))",
    "sum(<(i, j), a> in A) { i -> n(i) / 7 + a }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b / (1 + s(i) * x(k)) }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (k, i) -> a * b / sqrt(s(i) * s(i)) / (k + 1) }",
    "sum(<(i, j), a> in A) { j % 3 -> { i -> a / s(i) } }",
    "sum(<i, v> in n) v * (10 // v) * 0.5 / s(2)",
]


def operands(program: str, storage: str = "dense") -> dict[str, storel.Tensor]:
    names = {each: OPERANDS[each] for each in OPERANDS if f" {each})" in program or f"{each}(" in program}
    names |= {each: OPERANDS[each] for each in "ABnx" if f"in {each}" in program}
    return {each: storel.tensor(data, storage if each == "A" else None) for each, data in names.items()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_move_keeps_the_value(program: str) -> None:
    script = f"CREATE TENSOR R AS {program}"
    kernel = storel.compile(script, floating_point="strict", **operands(program))
    term, symbols = kernel.compilation.optimized.term, kernel.compilation.symbols
    around = Surroundings(dict(symbols), kernel.environment.physical_arrays())
    expected = evaluate(term, around.symbols, around.values)
    found = list(divided(term, symbols))
    assert found or "n(i)" in program  # a sum of integers may overflow where that of quotients does not
    for moved in found:
        _close(evaluate(moved, around.symbols, around.values), expected)


def _close(found: object, expected: object) -> None:
    if isinstance(found, dict) and isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in found.items():
            _close(value, expected[key])
    else:
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("storage", ["dense", "csr", "coo"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_answers_are_those_of_the_interpreter(program: str, storage: str, backend: Any) -> None:
    script = f"CREATE TENSOR R AS {program}"
    wanted = storel.run(script, backend="interpret", **operands(program))
    found = storel.run(script, backend=backend, **operands(program, storage))
    assert isinstance(wanted, storel.Tensor) and isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())


def test_a_dense_product_is_divided_row_by_row() -> None:
    weights, values = RANDOM.random((80, 70)), RANDOM.random((70, 60))
    script = "CREATE TENSOR R AS sum(<(i, j), e> in E, <(j, k), v> in V) { (i, k) -> e * v / z(i) }"
    given = {"E": weights, "V": values, "z": weights.sum(axis=1)}
    assert "guard E_val" not in storel.compile(script, **given).plan
    strict = storel.compile(script, floating_point="strict", **given)
    assert "guard E_val" in strict.plan
    found = storel.run(script, **given)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), weights @ values / weights.sum(axis=1)[:, None])


def test_sums_are_not_divided_where_their_terms_have_fewer_bits() -> None:
    """Of float32 by float64 the quotients are float64, and so is what adds them up."""
    weights = RANDOM.random((3, 5000)).astype(np.float32)
    given = {"E": weights, "z": np.array([3.0, 7.0, 11.0])}
    found = storel.run("CREATE TENSOR R AS sum(<(i, j), e> in E) { i -> e / z(i) }", **given)
    assert isinstance(found, storel.Tensor)
    expected = (weights.astype(np.float64) / given["z"][:, None]).sum(axis=1)
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_what_is_not_added_up_is_not_divided_as_a_whole(backend: Any) -> None:
    """Else a quotient of 0 by 0 would be left out, which saves the search for what it is divided by."""
    script = """CREATE TENSOR R AS
        sum(<i, _> in 0:5) { i -> v(i) / sum(<j, _> in 0:20) if (n(j) // 2 == k(i)) then max(s(j), t(j)) }"""
    given = {
        "v": np.array([2.0, 2.0, 2.0, -1.0, 0.0]),
        "n": 2**31 - 1 - np.arange(20),
        "k": 2**31 - np.arange(5),
        "s": np.zeros(20, dtype=int),
        "t": np.arange(20) % 3 - 1,
    }
    found = storel.run(script, backend=backend, **given)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_array_equal(found.to_numpy(), [np.inf, np.inf, np.inf, -np.inf, np.nan])
