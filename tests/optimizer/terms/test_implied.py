"""Conditions that the bounds of the loops around them imply are left out, and no others."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.calculus.nodes import If, Term
from storel.calculus.walk import children
from storel.optimizer.terms.implied import without_implied

X = np.ones((8, 8))


def conditions(term: Term) -> int:
    return isinstance(term, If) + sum(conditions(child) for child, _ in children(term))


@pytest.mark.parametrize(
    ("condition", "is_implied"),
    [
        ("j - i < 3", True),
        ("i <= j + 2", True),
        ("j < 2 * i + 3", True),
        ("j < 8", False),
        ("j > i + 2", False),
        ("j - i < 2", False),
        ("i + j < 14", False),
        ("X(i, j) < 8", False),
        ("j < 8 and i <= j + 2", True),
        ("j < 8 and i <= j + 1", False),
    ],
)
def test_what_loops_imply_is_not_asked(condition: str, is_implied: bool) -> None:
    """What intervals tell, j < 8, is for rules to decide."""
    script = f"""CREATE TENSOR y AS sum(<i, _> in 0:8, <j, _> in max(0, i - 2):min(8, i + 3))
      if ({condition}) then {{ i -> X(i, j) }}"""
    found = storel.compile(script, X=X).compilation
    assert conditions(found.term) == 1
    assert conditions(without_implied(found.term, found.symbols)) == (0 if is_implied else 1)


def test_elements_of_arrays_are_not_bound_as_their_positions_are() -> None:
    script = "CREATE TENSOR y AS sum(<(i, j), x> in A) if (j < 4) then { i -> x }"
    tensor = storel.tensor(X, "csr")
    found = storel.compile(script, A=tensor).compilation
    kept = without_implied(found.term, found.symbols)
    assert kept == found.term
    result = storel.run(script, A=tensor)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), np.full(8, 4.0))


def test_a_term_without_such_conditions_is_the_same() -> None:
    found = storel.compile("CREATE TENSOR y AS sum(<(i, j), x> in X) if (x > 0) then { i -> x }", X=X)
    term = found.compilation.term
    assert without_implied(term, found.compilation.symbols) is term


@pytest.mark.parametrize(("inner", "is_implied"), [("0 <= j", True), ("-1 <= j", True), ("1 <= j", False)])
def test_what_was_asked_is_not_asked_again(inner: str, is_implied: bool) -> None:
    script = f"""CREATE TENSOR y AS sum(<i, j> in p) if (0 <= j) then
      sum(<k, _> in 0:8) if ({inner}) then {{ i -> X(i, k) }}"""
    found = storel.compile(script, X=X, p=np.array([3, -1, 0, 2])).compilation
    assert conditions(found.optimized.normalized) == (2 if is_implied else 3)


FRACTIONS = np.array([1.0, 2.5, 2.0, 3.5, -0.5, 0.5, np.nan])


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "body",
    [
        "if v < 3 then sum(<j, b> in w) if v <= 2 then { j -> b }",
        "if v > 0 then sum(<j, b> in w) if v >= 1 then { j -> b }",
        "let u = abs(v) in if u > 0 then sum(<j, b> in w) if u >= 1 then { j -> b }",
        "let u = min(max(v, 0), 1) in if u > 0 then sum(<j, b> in w) if u == 1 then { j -> b }",
        "let u = (sum(<_, b> in w) b * v) in if u < 3 then sum(<j, b> in w) if u <= 2 then { j -> b }",
        "if max(v, 0) >= 0 then { i -> 1.0 }",
        "if v % 2 > 1 then { i -> v }",
    ],
)
def test_reals_between_two_integers_are_asked_for_both(body: str, backend: str) -> None:
    script = f"CREATE TENSOR y: real[7] AS sum(<i, v> in x) {body}"
    data = {name: value for name, value in {"x": FRACTIONS, "w": np.arange(7) / 8}.items() if name in script}
    found, expected = (storel.run(script, backend=each, **data) for each in (backend, "interpret"))
    assert isinstance(found, storel.Tensor)
    assert isinstance(expected, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy())
