"""What loops bring to a key is collected before a loop over what lies there."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.plans import normalized
from strategies.terms import Surroundings

import storel
from storel.calculus.binding import shift
from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Apply,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.execution.run import measure
from storel.optimizer.sharing.collecting import collected
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

RANDOM = np.random.default_rng(3)
Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""


def matrix() -> Matrix:
    return sp.csr_array(sp.random(40, 40, 0.3, rng=RANDOM))


P, Q, R, S = matrix(), matrix(), matrix(), matrix()
CYCLE = """CREATE TENSOR s AS
  sum(<(a, b), w> in P, <(b, c), x> in Q, <(c, d), y> in R, <(d, a), z> in S) w * x * y * z"""
ROWS: dict[str, Any] = {"P": P, "Q": Q, "R": R, "S": S}


def products(left: Matrix, right: Matrix) -> int:
    return int(np.diff(left.tocsc().indptr) @ np.diff(right.indptr))


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_a_cycle_of_four(backend: str) -> None:
    expected = (P @ Q @ R @ S).trace()
    found = storel.run(CYCLE, backend=backend, **ROWS)
    assert isinstance(found, storel.Tensor)
    assert np.isclose(found.to_numpy(), expected)


def test_two_edges_of_a_cycle_meet_before_the_third() -> None:
    kernel = storel.compile(CYCLE, **ROWS)
    _, work = measure(kernel.compilation, kernel.environment)
    paths = products(P, Q)
    pairs = products(sp.csr_array(P @ Q), R)
    assert work.multiplications <= paths + pairs + (P @ Q @ R).nnz


def kept(kernel: Any, term: Term) -> list[Term]:
    """Return the collections of a term, which have its value."""
    symbols, values = kernel.compilation.symbols, kernel.environment.physical_arrays()
    around = Surroundings(dict(symbols), values | {"P_m": 40})
    expected = evaluate(term, around.symbols, around.values)
    found = list(collected(term, symbols))
    for moved in found:
        made = evaluate(moved, around.symbols, around.values)
        np.testing.assert_equal(rounded(made), rounded(expected))
    return found


def rounded(value: Any) -> Any:
    return (
        {key: round(each, 9) for key, each in value.items()} if isinstance(value, dict) else round(value, 9)
    )


def test_every_collection_keeps_the_value() -> None:
    kernel = normalized(CYCLE, **{name: storel.tensor(each) for name, each in ROWS.items()})
    assert kept(kernel, kernel.compilation.optimized.normalized)


FOUND = "CREATE TENSOR y AS sum(<(i, l), a> in A, <(l, k), b> in B) { k -> a * b }"


def searched(**padded: Any) -> dict[str, Any]:
    """Return a matrix in no order that helps, and one whose few rows are searched for."""
    rows = sp.random(40, 40, 0.3, rng=RANDOM).toarray()
    rows[RANDOM.random(40) < 0.7] = 0
    return {"A": storel.tensor(matrix(), "coo"), "B": storel.tensor(rows, "csf")} | padded


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_what_is_searched_for_is_collected_first(backend: str) -> None:
    given = searched()
    found = storel.run(FOUND, backend=backend, **given)
    assert isinstance(found, storel.Tensor)
    left, right = (each.to_numpy() for each in given.values())
    np.testing.assert_allclose(found.to_numpy(), (left @ right).sum(axis=0))


def test_nothing_is_searched_for_in_the_plan() -> None:
    given = searched()
    kernel = storel.compile(FOUND, **given)
    assert "match" not in kernel.plan
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.multiplications <= len(given["B"].arrays["val"])


def moves_of(key: Term) -> list[Term]:
    """Return what is gone through once a sum of rows, which are searched for by ``key``, is collected."""
    kernel = storel.compile(FOUND, floating_point="strict", **searched())
    match kernel.compilation.optimized.normalized:
        case Sum(entries, Sum(rows, If(_, Sum(row, Singleton(column, Multiply(_, value)))))):
            scaled = Multiply(
                Lookup(Symbol("A_val"), Variable(2)), shift(Sum(row, Singleton(column, value)), -1)
            )
            term = Sum(entries, Find(rows, key, scaled))
        case _:
            raise AssertionError
    moves = kept(kernel, term)
    return [move.body.source for move in moves if isinstance(move, Let) and isinstance(move.body, Sum)]


COLUMN = Lookup(Symbol("A_col"), Variable(1))


def test_collections_by_what_is_searched_for_keep_the_value() -> None:
    assert [type(each) for each in moves_of(COLUMN)] == [Variable, Slice, Variable]


def test_what_may_be_negative_is_not_collected() -> None:
    moves = moves_of(Add(COLUMN, Literal(-1, ScalarType.INT64)))
    assert [type(each) for each in moves] == [Variable, Variable]


TEN = Literal(10, ScalarType.INT64)


@pytest.mark.parametrize(
    "found",
    [
        Sum(Symbol("k"), Apply("floor_divide", (TEN, Lookup(Symbol("d"), Variable(2))))),
        Multiply(
            Apply("floor_divide", (TEN, Lookup(Symbol("f"), Variable(2)))),
            Sum(Symbol("k"), Lookup(Symbol("d"), Variable(2))),
        ),
    ],
    ids=["part", "factor"],
)
def test_what_may_fail_is_not_made_where_nothing_is_found(found: Term) -> None:
    """Of 1, 2 and 4 the first is not found, and what it would be multiplied with is divided by zero."""
    symbols = {
        "k": ArraySymbol("k", ScalarType.INT64, 3, 0, 4),
        "e": ArraySymbol("e", ScalarType.INT64, 3, 0, 4, ascending=True, increasing=True, unique=True),
        "d": ArraySymbol("d", ScalarType.INT64, 3, 0, 5),
        "f": ArraySymbol("f", ScalarType.INT64, 3, 0, 5),
    }
    values = {
        "k": np.array([1, 2, 4]), "e": np.array([0, 2, 4]), "d": np.array([0, 2, 5]), "f": np.array([0, 2, 5])
    }  # fmt: skip
    term = Sum(Symbol("k"), Find(Symbol("e"), Variable(0), found))
    expected = evaluate(term, symbols, values)
    moves = [evaluate(move, symbols, values) for move in collected(term, symbols)]
    assert moves
    assert moves == [expected] * len(moves)
