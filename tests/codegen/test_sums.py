"""What is added up in order is right whatever order a C compiler finds it in."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import FLOAT64, N, index, integer, plus

import storel
from storel.codegen.c_sums import may_count_twice
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    Load,
    Local,
    Statement,
    Update,
)

ROWS = 45


@pytest.mark.parametrize("columns", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize(
    ("floating_point", "program"),
    [
        ("strict", "sum(<i, _> in 0:45, <j, _> in 0:{n}) X(i, {n} - 1 - j) * X(i, {n} - 1 - j)"),
        ("reassociate", "sum(<i, _> in 0:45, <j, _> in 0:{n}) X(i, {n} - 1 - j) * X(i, {n} - 1 - j)"),
        ("reassociate", "sum(<i, _> in 0:45, <j, _> in 0:{n}) relu(X(i, {n} - 1 - j))"),
        ("strict", "sum(<i, _> in 0:45) (sum(<j, _> in 0:{n}) X(i, {n} - 1 - j) * Y(i, {n} - 1 - j)) * x(i)"),
        ("strict", "sum(<i, _> in 0:45) sum(<j, _> in 0:{n}) X(i, (j ^ 1)) * X(i, (j ^ 1))"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_elements_are_added_once(floating_point: str, program: str, columns: int, dtype: type) -> None:
    random = np.random.default_rng(columns)
    given = {
        "X": random.integers(-5, 6, (ROWS, columns)).astype(dtype),
        "Y": random.integers(-5, 6, (ROWS, columns)).astype(dtype),
        "x": random.integers(-5, 6, ROWS).astype(dtype),
    }
    script = f"CREATE TENSOR s AS {program.format(n=columns)}"
    given = {name: value for name, value in given.items() if f"{name}(" in script}
    computed, wanted = (
        storel.run(script, backend=backend, floating_point=floating_point, **given)
        for backend in ("c", "interpret")
    )
    assert isinstance(computed, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    assert float(computed) == float(wanted)


SOURCE, RESULT, OTHER = Buffer("source", FLOAT64), Buffer("result", FLOAT64), Buffer("other", FLOAT64)
ROW, INNER, OUTER, TOTAL = index("row"), index("inner"), index("outer"), Local("total", FLOAT64)


def times(by: int, local: Local) -> Expression:
    return Binary("multiply", local, integer(by))


def adds(*places: Expression) -> tuple[Statement, ...]:
    return tuple(Assign(TOTAL, Binary("add", TOTAL, Load(SOURCE, place))) for place in places)


def inner(count: Expression, *statements: Statement) -> tuple[Statement, ...]:
    return (For(INNER, integer(0), count, statements),)


BACKWARD = plus(times(4, ROW), Binary("subtract", integer(3), INNER))
FORWARD = plus(times(4, ROW), INNER)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (adds(ROW), False),
        (adds(times(2, ROW), plus(times(2, ROW), integer(1))), False),
        (adds(plus(times(2, ROW), integer(1)), times(2, ROW)), True),  # the last one first
        (inner(integer(4), *adds(FORWARD)), False),
        (inner(integer(4), *adds(BACKWARD)), True),
        (inner(integer(4), *adds(times(3, INNER))), False),
        (inner(integer(17), *adds(BACKWARD)), False),  # too long to be unrolled
        (inner(N, *adds(BACKWARD)), False),
        (inner(integer(4), *adds(Binary("bit_xor", FORWARD, integer(1)))), True),  # in an order unknown
        (inner(integer(4), *adds(Load(OTHER, FORWARD))), False),  # looked up
        (inner(integer(4), *adds(plus(FORWARD, integer(1)))) + adds(times(4, ROW)), True),
        (inner(integer(4), Update(RESULT, integer(0), "add", Load(SOURCE, BACKWARD))), True),
        (
            inner(integer(4), Update(RESULT, ROW, "add", Load(SOURCE, BACKWARD))),
            False,
        ),  # one for each row
        (
            (For(OUTER, integer(0), integer(3), inner(integer(4), *adds(plus(OUTER, times(3, INNER))))),),
            True,  # by columns
        ),
        ((Declare(TOTAL, Constant(0.0, FLOAT64)), *inner(integer(4), *adds(BACKWARD))), False),  # its own sum
    ],
)
def test_sums_are_counted_twice_where_elements_are_out_of_order(
    body: tuple[Statement, ...], expected: bool
) -> None:
    assert may_count_twice((For(ROW, integer(0), N, body),)) is expected


def test_what_may_be_added_in_any_order_is_left_to_the_compiler() -> None:
    body = inner(integer(4), *adds(BACKWARD))
    assert not may_count_twice((For(ROW, integer(0), N, body, reductions=((TOTAL, "add"),)),))
