"""Programs in which a longer number decides the type have the plans of those without it, and its results."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies.terms import REAL, Surroundings, dictionary, surroundings, terms

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Add, Apply, Multiply, Term
from storel.calculus.verify import KEY, infer
from storel.calculus.walk import children
from storel.execution.run import measure
from storel.optimizer.terms.conversions import converted, plain
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Fact

N = 40
LARGE = 2**31 - 1
RANDOM = np.random.default_rng(4)
A = np.where(RANDOM.random((N, N)) < 0.1, RANDOM.integers(1, 9, (N, N)), 0)
GIVEN: dict[str, Any] = {
    "A": sp.csr_array(A), "u": RANDOM.integers(1, 9, N), "w": RANDOM.random(N),
    "f": RANDOM.random(N).astype(np.float32), "t": RANDOM.random(N) < 0.5,
}  # fmt: skip

WITH_REALS = [
    "sum(<(i, j), a> in A, <j, x> in u) { i -> 1.0 * a * x }",
    "sum(<j, x> in u, <(i, j), a> in A) { i -> x * a * 1.0 }",
    "sum(<(i, j), a> in A, <j, x> in u) { j -> a * x + 0.0 }",
    "sum(<(i, j), a> in A, <j, x> in u) { i -> if i >= 0 then a * x else w(i) }",
    "sum(<(i, j), a> in A, <j, x> in u) { i -> if j < extent(A, 1) then a * x else 0.5 }",
    "sum(<(i, j), a> in A, <j, b> in t) { i -> 1.0 * b * a }",
    "sum(<(i, j), a> in A, <j, x> in f) { i -> a * x }",
    "sum(<(i, j), a> in A, <(j, k), b> in A) { (i, k) -> 1.0 * a * b }",
    "sum(<(i, j), a> in A, <(j, k), b> in A, <(k, i), c> in A) 1.0 * a * b * c",
    "1.0 * A",
    "A + 0.5 * A",
    "sum(<i, x> in u) (x + (if (false) then 0.5))",
]


def operands(program: str) -> dict[str, Any]:
    words = re.findall(r"\w+", program)
    return {name: each for name, each in GIVEN.items() if name in words}


def compiled(program: str) -> storel.Kernel:
    return storel.compile(f"CREATE TENSOR R AS {program}", **operands(program))


@pytest.mark.parametrize("program", WITH_REALS)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_they_mean_the_same(program: str, backend: Any) -> None:
    given, script = operands(program), f"CREATE TENSOR R AS {program}"
    found, wanted = (storel.run(script, backend=each, **given) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    assert found.dtype == wanted.dtype
    error = 1e-6 if found.dtype.itemsize == 4 else 1e-12
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=error)


@pytest.mark.parametrize("program", WITH_REALS)
def test_terms_keep_their_type(program: str) -> None:
    compilation = compiled(program).compilation
    term, symbols = compilation.term, compilation.symbols
    for is_strict in (False, True):
        assert infer(converted(term, symbols, is_strict=is_strict), symbols) == infer(term, symbols)
    assert infer(compilation.optimized.term, symbols) == infer(term, symbols)
    assert compilation.optimized.considered[0].origin != "as written"


@pytest.mark.parametrize("program", WITH_REALS[:5])
def test_no_more_work_is_done_than_without_the_real(program: str) -> None:
    kernel = compiled(program)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= GIVEN["A"].nnz + 3 * N


def test_large_integers_do_not_wrap_around() -> None:
    """What was a real before it was multiplied stays one, grouped by key and added up by a loop."""
    large = np.full(50, 2**62)
    script = "CREATE TENSOR R: real[3] AS sum(<i, x> in u) { i % 3 -> 1.0 * x * x }"
    found = storel.run(script, u=large)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), np.bincount(np.arange(50) % 3) * 2.0**124)


SUMS = [
    "sum(<(i, j), a> in S) a * b(0)",
    "sum(<(i, j), a> in S, <j, c> in b) { i -> a * c }",
    "sum(<(i, j), a> in S, <i, c> in b) { i -> a * c }",
    "sum(<(i, j), a> in S, <k, c> in b) { i -> a * c }",
    "sum(<(i, j), a> in S) { i -> b(i) * (if (j < 2) then a) }",
    "sum(<(i, j), a> in S, <(k, j), d> in S, <k, c> in b) { i -> (if (d > 0) then a * c) }",
    "sum(<(i, j), a> in S) { i -> (a - 1) - b(j) }",
    "sum(<(i, j), a> in S, <j, c> in b) { i -> (if (i == j) then a else c) }",
]


@pytest.mark.parametrize("program", SUMS)
@pytest.mark.parametrize("storage", ["dense", "csr", "coo", "ell", "hash"])
@pytest.mark.parametrize("longer", [np.int64, np.float32, np.float64])
def test_short_integers_that_meet_longer_numbers_do_not_wrap_around(
    program: str, storage: str, longer: Any
) -> None:
    short = storel.tensor(np.full((4, 4), LARGE, dtype=np.int32)).to(storage)
    operands = {"S": short, "b": np.array([3, 1, 2, 5]).astype(longer)}
    script = f"CREATE TENSOR R AS {program}"
    found, wanted = (storel.run(script, backend=each, **operands) for each in ("c", "interpret"))
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    assert found.dtype == wanted.dtype == longer
    error = 1e-6 if longer is np.float32 else 1e-13
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=error)


def test_short_reals_do_not_overflow_where_they_meet_longer_ones() -> None:
    short = np.full(8, 3e38, dtype=np.float32)
    found: Any = storel.run("CREATE TENSOR R AS sum(<_, s> in S, <_, a> in A) s * a", S=short, A=np.ones(2))
    assert found.to_numpy() == pytest.approx(16 * 3e38, rel=1e-6)


def test_products_of_short_integers_are_still_put_in_another_order() -> None:
    """A product of two of them and a longer number takes no more steps than one of longer ones."""
    script = "CREATE TENSOR y AS sum(<(i, j), a> in A, <(j, k), b> in B, <k, c> in C) { i -> a * b * c }"
    short, longer = np.ones((30, 30), dtype=np.int32), np.ones(30)
    found: Any = storel.compile(script, A=short, B=short, C=longer)
    _, work = measure(found.compilation, found.environment)
    assert work.multiplications <= 2 * 30 * 30


def conversions(term: Term) -> int:
    is_conversion = isinstance(term, Apply) and term.function in ("int64", "float32", "float64")
    return is_conversion + sum(conversions(child) for child, _ in children(term))


@pytest.mark.parametrize("program", WITH_REALS[:3])
def test_plans_do_not_say_what_is_converted_anyway(program: str) -> None:
    compilation = compiled(program).compilation
    symbols = compilation.symbols
    term = converted(compilation.term, symbols, is_strict=False)
    assert conversions(term) > 0
    assert conversions(plain(term, symbols)) < conversions(term)
    assert infer(plain(term, symbols), symbols) == infer(term, symbols)


def shortened(symbols: dict[str, Fact]) -> dict[str, Fact]:
    """Return facts of data of which some arrays are of integers of 32 bits, and one of short reals."""
    short = {"A_idx": ScalarType.INT32, "C_row": ScalarType.INT32, "x": ScalarType.FLOAT32}
    return {
        name: replace(fact, type=short[name]) if isinstance(fact, ArraySymbol) and name in short else fact
        for name, fact in symbols.items()
    }


MIXED = st.builds(Multiply, terms(KEY), terms(REAL)) | st.builds(Add, terms(KEY), terms(REAL))


@given(surroundings(), MIXED | terms(REAL) | terms(dictionary(1)))
def test_the_value_and_the_type_stay(around: Surroundings, term: Term) -> None:
    symbols, values = shortened(around.symbols), around.values
    expected = evaluate(term, symbols, values)
    for is_strict in (False, True):
        long = converted(term, symbols, is_strict=is_strict)
        for made in (long, plain(long, symbols)):
            assert infer(made, symbols) == infer(term, symbols)
            assert evaluate(made, symbols, values) == expected
