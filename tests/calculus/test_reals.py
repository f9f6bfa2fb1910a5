"""What computes with reals, so that the order of its sums and products may show, and what does not."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Find, Literal, Lookup, Symbol, Term, Variable
from storel.calculus.reals import computes_reals
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

MATRIX = np.array([[0.5, 0.0, 2.0], [0.0, 1.5, 0.0], [3.0, 0.0, 0.25]])


@pytest.mark.parametrize("storage", ["dense", "csr", "csc"])
@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("count(<(i, j), a> in A)", False),
        ("sum(<(i, j), a> in A, <(k, j), b> in A) { (i, k) -> 1 }", False),
        ("sum(<(i, j), a> in A) if (a > 1.0) then { i -> j }", False),
        ("sum(<(i, j), a> in A) { (2 * i + 1, j) -> a }", False),
        ("sum(<(i, j), a> in A) { (i // 2, j) -> a }", True),
        ("sum(<(i, j), a> in A) { (j, i) -> a }", False),
        ("sum(<(i, j), a> in A) if (A(j, i) > a) then 1", False),
        ("sum(<(i, j), a> in A) { i -> a }", True),
        ("sum(<(i, j), a> in A) { (i, i + j) -> 2 * a }", True),
        ("sum(<(i, j), a> in A) if (a * a > 1.0) then 1", True),
        ("sum(<(i, j), a> in A) if (sum(<k, b> in A(j)) b > a) then 1", True),
        ("sum(<(i, j), a> in A) int(a + 0.5)", True),
        ("max(<(i, j), a> in A) a", True),
    ],
)
def test_sums_and_products_of_reals_are_found(program: str, storage: str, expected: bool) -> None:
    kernel = storel.compile(f"CREATE TENSOR R AS {program}", A=storel.tensor(MATRIX, storage))
    compilation = kernel.compilation
    assert computes_reals(compilation.optimized.normalized, compilation.symbols) == expected


def test_entries_of_pairs_that_do_not_repeat_are_not_added() -> None:
    operand = storel.tensor(MATRIX, "coo")
    kernel = storel.compile("CREATE TENSOR R AS sum(<(i, j), a> in A) { (i, j) -> a }", A=operand)
    compilation = kernel.compilation
    assert not computes_reals(compilation.optimized.normalized, compilation.symbols)


SYMBOLS: Symbols = {
    "increasing": ArraySymbol("increasing", ScalarType.INT64, 9, increasing=True),
    "ascending": ArraySymbol("ascending", ScalarType.INT64, 9, ascending=True),
    "val": ArraySymbol("val", ScalarType.FLOAT64, 9),
}


@pytest.mark.parametrize(("array", "expected"), [("increasing", False), ("ascending", True)])
def test_a_search_adds_up_what_it_finds_several_times(array: str, expected: bool) -> None:
    read: Term = Lookup(Symbol("val"), Variable(0))
    found = Find(Symbol(array), Literal(3, ScalarType.INT64), read)
    assert computes_reals(found, SYMBOLS) == expected
