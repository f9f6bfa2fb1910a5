"""Each law as (before, after)."""

from __future__ import annotations

import math

import pytest

from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Load,
    Local,
    Select,
    Statement,
    Store,
    Unary,
    While,
)
from storel.loops.passes.simplify import LAWS, X, block, expression
from storel.scalars import ScalarType

INT64, FLOAT64, BOOL = ScalarType.INT64, ScalarType.FLOAT64, ScalarType.BOOL
INDEX, R, B = Local("i", INT64), Local("r", FLOAT64), Local("b", BOOL)
A = Buffer("a", FLOAT64)


def integer(value: int) -> Constant:
    return Constant(value, INT64)


def real(value: float) -> Constant:
    return Constant(value, FLOAT64)


TRUE, FALSE = Constant(True, BOOL), Constant(False, BOOL)

EXPRESSIONS: list[tuple[Expression, Expression]] = [
    (Binary("add", INDEX, integer(0)), INDEX),
    (Binary("add", real(0), R), R),
    (Binary("subtract", INDEX, integer(0)), INDEX),
    (Binary("subtract", INDEX, INDEX), integer(0)),
    (Binary("subtract", R, R), Binary("subtract", R, R)),  # inf - inf is NaN
    (Binary("multiply", R, real(1.0)), R),
    (Binary("multiply", integer(1), INDEX), INDEX),
    (Binary("multiply", INDEX, integer(0)), integer(0)),
    (Binary("multiply", R, real(0.0)), Binary("multiply", R, real(0.0))),  # inf * 0 is NaN
    (Binary("divide", R, real(1.0)), R),
    (Binary("floor_divide", INDEX, integer(1)), INDEX),
    (Binary("modulo", INDEX, integer(1)), integer(0)),
    (Binary("shift_left", INDEX, integer(0)), INDEX),
    (Binary("bit_or", integer(0), INDEX), INDEX),
    (Binary("bit_and", INDEX, integer(0)), integer(0)),
    (Binary("minimum", R, R), R),
    (Binary("equal", INDEX, INDEX), TRUE),
    (Binary("equal", R, R), Binary("equal", R, R)),  # NaN != NaN
    (Binary("less", INDEX, INDEX), FALSE),
    (Binary("and", B, TRUE), B),
    (Binary("and", B, FALSE), FALSE),
    (Binary("or", FALSE, B), B),
    (Binary("or", B, TRUE), TRUE),
    (Binary("add", integer(2**63 - 1), integer(1)), integer(-(2**63))),
    (Binary("less", integer(1), integer(2)), TRUE),
    (Binary("divide", real(1), real(0)), real(math.inf)),
    (Unary("negate", integer(3)), integer(-3)),
    (Unary("not", Unary("not", B)), B),
    (Unary("trailing_zeros", integer(0)), Unary("trailing_zeros", integer(0))),
    (Cast(INT64, INDEX), INDEX),
    (Cast(FLOAT64, integer(3)), real(3.0)),
    (Cast(FLOAT64, INDEX), Cast(FLOAT64, INDEX)),
    (Select(TRUE, R, real(1)), R),
    (Select(B, R, R), R),
    (Load(A, Binary("add", Binary("multiply", INDEX, integer(1)), integer(0))), Load(A, INDEX)),
]

FAIL = Fail(0, INDEX)
STATEMENTS: list[tuple[Statement, tuple[Statement, ...]]] = [
    (If(TRUE, (FAIL,), ()), (FAIL,)),
    (If(FALSE, (), (FAIL,)), (FAIL,)),
    (If(FALSE, (FAIL,)), ()),
    (If(B, (), ()), ()),
    (If(B, (), (FAIL,)), (If(Unary("not", B), (FAIL,)),)),
    (For(INDEX, integer(3), integer(3), (FAIL,)), ()),
    (For(INDEX, Load(A, INDEX), Load(A, INDEX), (FAIL,)), ()),
    (For(INDEX, integer(0), integer(3), ()), ()),
    (For(INDEX, integer(0), integer(3), (If(FALSE, (FAIL,)),)), ()),
    (While(FALSE, (FAIL,)), ()),
    (While(B, ()), (While(B, ()),)),
    (Assign(INDEX, Binary("add", INDEX, integer(0))), ()),
    (Declare(INDEX, Binary("multiply", integer(2), integer(3))), (Declare(INDEX, integer(6)),)),
    (Store(A, Binary("add", INDEX, integer(0)), R), (Store(A, INDEX, R),)),
]


@pytest.mark.parametrize(("before", "after"), EXPRESSIONS)
def test_expression(before: Expression, after: Expression) -> None:
    assert expression(before) == after


@pytest.mark.parametrize(("before", "after"), STATEMENTS)
def test_statement(before: Statement, after: tuple[Statement, ...]) -> None:
    assert block((before,)) == after


@pytest.mark.parametrize("law", LAWS, ids=lambda law: " ".join(map(str, law[:4])))
def test_every_law_fires_for_each_of_its_types(
    law: tuple[str, object, object, object, frozenset[ScalarType]],
):
    operator, left, right, result, types = law
    for of in sorted(types, key=lambda member: member.value):
        logical = operator in ("and", "or")
        if (logical and of is not BOOL) or (operator == "divide" and not of.is_real):
            continue
        operands = [Local("x", of) if side == X else Constant(side, of) for side in (left, right)]  # pyright: ignore
        simple = expression(Binary(operator, operands[0], operands[1]))
        assert (
            simple == Local("x", of)
            if result == X
            else isinstance(simple, Constant) and simple.value == result
        )
