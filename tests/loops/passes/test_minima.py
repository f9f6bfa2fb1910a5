"""Minima and maxima look for NaN unless their second operand is known to be none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from strategies.loops import FLOAT32, FLOAT64, INT64, N, index, integer, kernel

import storel
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    For,
    Load,
    Local,
    Role,
    Select,
    Statement,
    Store,
    Unary,
    Update,
)
from storel.loops.passes.minima import simplify_minima
from storel.loops.verify import verify
from storel.symbols import ArraySymbol

I = index("i")  # noqa: E741
KEYS, A, B, Y = (
    Buffer("keys", INT64, Role.INDEX),
    Buffer("a", FLOAT64),
    Buffer("b", FLOAT64),
    Buffer("y", FLOAT64),
)
KEY, FINITE, UNKNOWN = Load(KEYS, I), Load(A, I), Load(B, I)
T = Local("t", FLOAT64)


def real(value: float) -> Constant:
    return Constant(value, FLOAT64)


def simplified(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return what becomes of the body of a loop where all elements of ``a`` are finite."""
    known = {name: ArraySymbol(name, FLOAT64, 8, finite=name == "a") for name in ("a", "b")}
    allocation = (Allocation(Y, 0, fill=0.0, is_output=True), N)
    made = simplify_minima(kernel([KEYS, A, B], [allocation], [For(I, integer(0), N, statements)]), known)
    verify(made)
    (loop,) = made.compute.body
    assert isinstance(loop, For)
    return loop.body


def add(left: Expression, right: Expression) -> Binary:
    return Binary("add", left, right)


SUM, PRODUCT = add(FINITE, FINITE), Binary("multiply", FINITE, FINITE)


@pytest.mark.parametrize(
    ("value", "is_number"),
    [
        (FINITE, True),
        (UNKNOWN, False),
        (real(math.inf), True),
        (real(math.nan), False),
        (Cast(FLOAT64, KEY), True),
        (SUM, True),
        (add(SUM, FINITE), True),
        (add(SUM, SUM), False),
        (Binary("subtract", SUM, real(math.inf)), False),
        (PRODUCT, True),
        (Binary("multiply", PRODUCT, FINITE), False),
        (Binary("divide", FINITE, FINITE), False),
        (add(FINITE, UNKNOWN), False),
        (Binary("minimum", SUM, PRODUCT), True),
        (Binary("maximum", SUM, UNKNOWN), False),
        (Unary("negate", SUM), True),
        (Unary("log", FINITE), False),
        (Select(Binary("less", KEY, N), SUM, FINITE), True),
        (Select(Binary("less", KEY, N), SUM, UNKNOWN), False),
        (Cast(FLOAT64, Cast(FLOAT32, FINITE)), True),
        (add(Cast(FLOAT64, Cast(FLOAT32, FINITE)), real(math.inf)), False),
    ],
    ids=str,
)
def test_what_is_no_nan(value: Expression, is_number: bool) -> None:
    (made,) = simplified((Update(Y, I, "minimum", value),))
    assert made == Update(Y, I, "lesser" if is_number else "minimum", value)


def test_operators_and_operands() -> None:
    for operator, plain in (("maximum", "larger"), ("minimum", "lesser"), ("add", "add")):
        assert simplified((Update(Y, I, operator, FINITE),)) == (Update(Y, I, plain, FINITE),)
    stored = Store(Y, I, Binary("minimum", UNKNOWN, FINITE))
    assert simplified((stored,)) == (Store(Y, I, Binary("lesser", UNKNOWN, FINITE)),)
    turned = Store(Y, I, Binary("minimum", FINITE, UNKNOWN))
    assert simplified((turned,)) == (turned,)


def test_locals_are_what_was_declared_unless_they_change() -> None:
    declared, taken = Declare(T, FINITE), Update(Y, I, "minimum", T)
    assert simplified((declared, taken)) == (declared, Update(Y, I, "lesser", T))
    changed = Assign(T, UNKNOWN)
    assert simplified((declared, changed, taken)) == (declared, changed, taken)


@pytest.mark.parametrize(("semiring", "infinity"), [("min_plus", -math.inf), ("max_plus", math.inf)])
@pytest.mark.parametrize("stored", ["csr", "csc", "coo", "dense"])
@pytest.mark.parametrize("odd", ["finite", "infinite", "nan"])
@pytest.mark.parametrize("place", ["A", "x"])
def test_every_nan_arrives(semiring: str, infinity: float, stored: str, odd: str, place: str) -> None:
    """Kernels for finite data and for any other give what NumPy does."""
    rng = np.random.default_rng(7)
    operands = {"A": rng.normal(size=(9, 8)), "x": rng.normal(size=8)}
    operands[place].flat[3] = {"finite": 0.0, "infinite": infinity, "nan": math.nan}[odd]
    script = f"CREATE TENSOR y OVER {semiring} AS sum(<(i, j), a> in A, <j, v> in x) {{ i -> a * v }}"
    given: dict[str, Any] = {
        name: storel.tensor(values, stored if name == "A" else "dense", semiring=semiring)
        for name, values in operands.items()
    }
    reduce = np.min if semiring == "min_plus" else np.max
    expected = reduce(operands["A"] + operands["x"], axis=1)
    for backend in ("c", "numba", "interpret"):
        y = storel.run(script, backend=backend, **given)
        assert isinstance(y, storel.Tensor)
        np.testing.assert_array_equal(y.to_numpy(), expected)
