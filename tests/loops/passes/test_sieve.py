"""Scans of marked rows are sifted exactly where what is not marked has no effect, and mean the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strategies.loops import FLOAT64, INT32, INT64, N, check, index, integer, kernel

from storel.arrays import Array
from storel.loops.bits import set_bit, words_of
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Role,
    Select,
    Statement,
    Store,
    Update,
)
from storel.loops.passes.sieve import sift
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.semiring import Scalar

IDX, PLACES = Buffer("idx", INT64, Role.INDEX), Buffer("places", INT64, Role.INDEX)
VAL, ROW, Y = Buffer("val", FLOAT64), Buffer("row", FLOAT64), Buffer("y", FLOAT64)
MARKS = Buffer("marks", INT32, Role.INDEX)
K, P, Q = index("k"), index("p"), index("q")
T = Local("t", FLOAT64)
VALUE, FOUND = Load(VAL, Q), Load(ROW, K)


def real(value: float) -> Constant:
    return Constant(value, FLOAT64)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right, Role.VALUE)


def scanning(body: tuple[Statement, ...], fill: Scalar = 0.0, start: float = 0.0, *, is_marked: bool = True):
    """Mark the first three places, then scan n elements into t."""
    place, size = Declare(P, Load(PLACES, index("i"))), Binary("maximum", N, integer(3))
    marked = (place, Store(ROW, P, real(2.0)), set_bit(MARKS, P))
    statements: list[Statement] = [
        Declare(T, real(start)),
        For(index("i"), integer(0), integer(3), marked),
        For(Q, integer(0), N, body),
        Store(Y, integer(0), T),
    ]
    allocations: list[tuple[Allocation, Expression]] = [
        (Allocation(ROW, 0, fill, marks=MARKS if is_marked else None), size),
        (Allocation(MARKS, 1, 0), words_of(size, INT32)),
        (Allocation(Y, 2, 0.0, is_output=True), integer(1)),
    ]
    return kernel([IDX, PLACES, VAL], allocations, statements)


def sifted(made: Kernel) -> bool:
    """Whether there is a choice between two ways to scan."""
    result = sift(made)
    verify(result)
    return any(isinstance(each, If) and each.otherwise for each in walk(result.compute.body))


def adding(value: Expression, operator: str = "add") -> tuple[Statement, ...]:
    return (Declare(K, Load(IDX, Q)), Assign(T, Binary(operator, T, value, Role.VALUE)))


UNLESS_ZERO = Select(
    Binary("or", Binary("equal", VALUE, real(0)), Binary("equal", FOUND, real(0))),
    real(0),
    times(VALUE, FOUND),
)
Case = tuple[str, tuple[Statement, ...], float, Callable[[Array, Array], Any]]
SIFTED: list[Case] = [
    ("a product", adding(times(VALUE, FOUND)), 0.0, lambda values, row: (values * row).sum()),
    ("two products", adding(times(times(FOUND, VALUE), VALUE)), 0.0, lambda v, row: (row * v * v).sum()),
    ("a product of infinities", adding(UNLESS_ZERO), 0.0, lambda values, row: (values * row).sum()),
    ("the row alone", adding(FOUND), 0.0, lambda _, row: row.sum()),
    (
        "the shortest path",
        adding(Binary("add", VALUE, FOUND, Role.VALUE), "minimum"),
        math.inf,
        lambda values, row: min([math.inf, *(values + row)]),
    ),
    (
        "the longest path",
        adding(Binary("add", FOUND, VALUE, Role.VALUE), "maximum"),
        -math.inf,
        lambda values, row: max([-math.inf, *(values + row)]),
    ),
]
NOT_SIFTED: list[tuple[str, tuple[Statement, ...], float]] = [
    ("a sum", adding(Binary("add", VALUE, FOUND, Role.VALUE)), 0.0),
    ("another zero", adding(times(VALUE, FOUND)), 1.0),
    ("a product taken for a sum", adding(times(VALUE, FOUND), "maximum"), 0.0),
    ("next to each other", (Assign(T, Binary("add", T, times(VALUE, Load(ROW, Q)), Role.VALUE)),), 0.0),
    ("an element of its own", adding(VALUE), 0.0),
    ("an earlier value", adding(times(T, FOUND)), 0.0),
]


@pytest.mark.parametrize(
    ("body", "fill", "meaning"), [pytest.param(*rest, id=name) for name, *rest in SIFTED]
)
@pytest.mark.parametrize("nearby", [3, 1000], ids=["often met", "seldom met"])
@pytest.mark.parametrize("length", [0, 1, 9, 203])
def test_scans_are_sifted_and_mean_the_same(
    body: tuple[Statement, ...], fill: float, meaning: Callable[[Array, Array], Any], nearby: int, length: int
):
    made = scanning(body, fill, start=fill)
    assert sifted(made)
    rng = np.random.default_rng(length)
    size = max(length, 3)
    places = np.minimum(rng.integers(0, nearby, length), size - 1)
    values = rng.normal(size=length)
    row = np.full(size, fill)
    row[:3] = 2.0
    inputs = {"idx": places, "places": np.array([0, 2, 1]), "val": values}
    check(sift(made), {"n": length}, inputs, {"y": np.array([meaning(values, row[places])])})


@pytest.mark.parametrize(("body", "fill"), [pytest.param(*rest, id=name) for name, *rest in NOT_SIFTED])
def test_what_is_not(body: tuple[Statement, ...], fill: float):
    assert not sifted(scanning(body, fill))


def test_a_row_without_marks_is_not_sifted():
    assert not sifted(scanning(adding(times(VALUE, FOUND)), is_marked=False))


def test_an_update_is_sifted_too():
    body = (Declare(K, Load(IDX, Q)), Update(Y, integer(0), "add", times(VALUE, FOUND)))
    made = scanning(body)
    assert sifted(made)
