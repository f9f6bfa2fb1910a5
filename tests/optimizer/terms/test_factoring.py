"""Factors are taken out of sums that ask something of what they add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from strategies.plans import csr_symbols, number, read, var
from strategies.terms import REAL, TRUTH, Surroundings, surroundings, terms

import storel
from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Add, Apply, Find, If, Let, Multiply, Range, Sum, Symbol, Term
from storel.calculus.verify import KEY
from storel.execution.run import measure
from storel.optimizer import optimize as search
from storel.optimizer.terms.factoring import factored
from storel.symbols import Symbols

BETA, TWO = Symbol("beta"), number(2)
UPTO = Range(number(0), Symbol("n"))
X = read("x", var(1))
FEW = Apply("less", (var(1), TWO))


def times(left: Term, right: Term, semiring: str = "plus_times") -> Multiply:
    return Multiply(left, right, semiring)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Sum(UPTO, If(FEW, times(BETA, X))), times(BETA, Sum(UPTO, If(FEW, X)))),
        (Sum(UPTO, If(FEW, times(X, BETA))), times(BETA, Sum(UPTO, If(FEW, X)))),
        (Sum(UPTO, If(FEW, times(times(TWO, X), BETA))), times(times(TWO, BETA), Sum(UPTO, If(FEW, X)))),
        (
            Sum(UPTO, Find(Symbol("A_idx"), var(1), times(BETA, read("A_val", var(0))))),
            times(BETA, Sum(UPTO, Find(Symbol("A_idx"), var(1), read("A_val", var(0))))),
        ),
        (
            Sum(UPTO, Let(X, If(Apply("less", (var(2), TWO)), times(BETA, var(0))))),
            times(BETA, Sum(UPTO, Let(X, If(Apply("less", (var(2), TWO)), var(0))))),
        ),
        (
            Add(Sum(UPTO, If(FEW, times(BETA, X))), times(BETA, TWO)),
            times(BETA, Add(Sum(UPTO, If(FEW, X)), TWO)),
        ),
        (
            Sum(UPTO, Sum(UPTO, If(FEW, times(read("x", var(3)), X)))),
            times(Sum(UPTO, If(FEW, X)), Sum(UPTO, X)),
        ),
    ],
)
def test_a_factor_goes_as_far_out_as_it_can(before: Term, after: Term) -> None:
    assert factored(before, csr_symbols()) == after


@pytest.mark.parametrize(
    "term",
    [
        Sum(UPTO, times(BETA, X)),
        Add(times(BETA, TWO), times(BETA, BETA)),
        Sum(UPTO, If(FEW, BETA)),
        Sum(UPTO, If(FEW, times(BETA, BETA))),
        Sum(UPTO, If(FEW, times(X, X))),
        Sum(UPTO, If(FEW, times(BETA, X, "min_plus"))),
        Sum(UPTO, If(FEW, times(BETA, X), "min_plus")),
        Sum(UPTO, If(Apply("less", (TWO, Symbol("n"))), times(read("x", TWO), X))),
        Add(If(Apply("less", (Symbol("n"), TWO)), times(BETA, TWO)), BETA),
    ],
    ids=["sum-factor", "factor", "alone", "nothing left", "bound", "product", "sum", "bounds", "one of two"],
)
def test_a_factor_stays(term: Term) -> None:
    assert factored(term, csr_symbols(columns=2)) == term


@given(surroundings(), terms(REAL), terms(TRUTH, (KEY, KEY)), terms(REAL, (KEY, KEY)))
def test_what_a_sum_is_stays(around: Surroundings, factor: Term, condition: Term, rest: Term) -> None:
    each = If(condition, times(shift(factor, 2), rest))
    for term in (Sum(UPTO, each), Add(Sum(UPTO, each), Sum(UPTO, Sum(UPTO, shift(each, 2))))):
        made = factored(term, around.symbols)
        assert evaluate(made, around.symbols, around.values) == evaluate(term, around.symbols, around.values)


CHAIN = "CREATE TENSOR y AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C) { i -> a * b * c }"


def operands(storage: str, size: int) -> dict[str, Any]:
    rng = np.random.default_rng(size)
    matrices = (sp.random(size, size, 0.1, rng=rng) for _ in range(3))
    return {name: storel.tensor(each).to(storage) for name, each in zip("ABC", matrices, strict=True)}


@pytest.mark.parametrize("storage", ["ell", "hyb", "coo"])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_chain_is_right(storage: str, backend: str) -> None:
    given = operands(storage, 20)
    found: Any = storel.run(CHAIN, backend=backend, **given)
    a, b, c = (each.to_numpy() for each in given.values())
    np.testing.assert_allclose(found.to_numpy(), (a @ b @ c).sum(axis=1))


@pytest.mark.parametrize(("storage", "often"), [("ell", 1.0), ("hyb", 1.3)])
def test_padded_rows_of_a_chain_are_hardly_read_again(storage: str, often: float) -> None:
    given = operands(storage, 200)
    kernel = storel.compile(CHAIN, **given)
    _, work = measure(kernel.compilation, kernel.environment)
    stored = sum(
        len(array) for each in given.values() for name, array in each.arrays.items() if "val" in name
    )
    assert work.multiplications <= often * stored


def as_it_is(term: Term, symbols: Symbols) -> Term:
    return term


def test_without_it_they_are_read_again_and_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path))  # no plan is remembered
    given = operands("ell", 200)
    found = storel.compile(CHAIN, **given).compilation.optimized
    monkeypatch.setattr(search, "factored", as_it_is)
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path / "without"))
    without = storel.compile(CHAIN, **given).compilation.optimized
    assert without.cost.nanoseconds > 5 * found.cost.nanoseconds


@pytest.mark.parametrize("storage", ["ell", "csr"])
@pytest.mark.parametrize("scale", [np.int64(3), 0.5], ids=["long", "real"])
def test_short_integers_are_not_added_up_without_what_makes_them_long(storage: str, scale: Any) -> None:
    script = "CREATE TENSOR y AS sum(<i, a> in A, <(i, j), b> in B) if (j < i) then { i -> a * b }"
    large = np.full((8, 8), 2**30, dtype=np.int32)
    given = {"A": np.full(8, scale), "B": storel.tensor(large).to(storage)}
    found: Any = storel.run(script, **given)
    np.testing.assert_array_equal(found.to_numpy(), np.arange(8) * (2**30 * scale))
