"""One side of an intersection that loops repeat is stored densely and looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Merge, Term
from storel.calculus.walk import children
from storel.optimizer.optimize import optimize
from storel.optimizer.sharing import share
from storel.optimizer.sharing.marking import marked
from storel.symbols import Symbols

TRIANGLES = "CREATE TENSOR t AS sum(<(i, j), a> in A, <(j, k), b> in A, <(i, k), c> in A) {}"
A: Any = sp.csr_array(sp.random(50, 50, 0.2, rng=np.random.default_rng(5)))


def triangles(value: str, **options: Any) -> storel.Kernel:
    return storel.compile(TRIANGLES.format(value), A=A, **options)


def unmarked(term: Term, symbols: Symbols) -> tuple[Term, ...]:
    return ()


def merges(term: Term) -> int:
    return isinstance(term, Merge) + sum(merges(child) for child, _ in children(term))


@pytest.mark.parametrize("value", ["a * b * c", "a * c", "1"])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_triangles(value: str, backend: str) -> None:
    weights = {"a * b * c": (A, A, A), "a * c": (A, A != 0, A), "1": (A != 0, A != 0, A != 0)}
    a, b, c = (matrix.toarray().astype(float) for matrix in weights[value])
    found = triangles(value, backend=backend)(A=A)
    assert isinstance(found, storel.Tensor)
    assert np.isclose(found.to_numpy(), np.einsum("ij,jk,ik->", a, b, c))


def test_what_is_chosen_stores_a_row() -> None:
    chosen = triangles("a * b * c").compilation.optimized.term
    assert merges(chosen) == 0


@pytest.mark.parametrize(("value", "marks"), [("a * b * c", 1), ("a * b * c * c", 1), ("a * (b + c)", 0)])
def test_every_mark_keeps_the_value(value: str, marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows i and j one is the same for all j; a sum of what lies in both cannot be taken apart."""
    kernel = triangles(value, floating_point="strict")
    symbols = kernel.compilation.symbols
    monkeypatch.setattr(share, "marked", unmarked)
    term = optimize(kernel.compilation.optimized.normalized, symbols).term
    around = Surroundings(dict(symbols), kernel.environment.physical_arrays() | {"A_m": 50, "A_n": 50})
    expected = evaluate(term, around.symbols, around.values)
    found = list(marked(term, symbols))
    assert len(found) == marks
    for moved in found:
        assert merges(moved) == merges(term) - 1
        assert np.isclose(evaluate(moved, around.symbols, around.values), expected)
