"""Reductions down columns go along rows, where they combine the same values in the same order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from strategies.loops import SIZES, index, integer, plus

import storel
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Statement,
    Store,
    Unary,
    Update,
)
from storel.loops.passes.interchange import interchange
from storel.loops.walk import walk
from storel.scalars import ScalarType

A, X, Y = (Buffer(name, ScalarType.FLOAT64) for name in "axy")
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, M, N = (index(name) for name in "ijmn")  # noqa: E741
BEST = Local("best", ScalarType.FLOAT64)
NOTHING = Constant(-math.inf, ScalarType.FLOAT64)
IN_COLUMN = Load(A, plus(Binary("multiply", J, N), I))
IN_ROW = Load(A, plus(Binary("multiply", I, N), J))
NONE = If(Unary("not", Binary("less", integer(0), M)), (Fail(0, integer(0)),))


def combining(value: Expression, *before: Statement, high: Expression = M) -> For:
    return For(J, integer(0), high, (*before, Assign(BEST, Binary("maximum", BEST, value, Role.VALUE))))


def columns(inner: For, *checks: Statement, place: Expression = I) -> For:
    return For(I, integer(0), N, (Declare(BEST, NOTHING), inner, *checks, Store(Y, place, BEST)))


def interchanged(loop: For) -> tuple[Statement, ...]:
    bound = Procedure("bound", (), (A, X, KEYS, SIZES), ())
    compute = Procedure("compute", (), (A, X, KEYS, Y), (loop,))
    return interchange(Kernel(bound, compute, ())).compute.body


def test_columns_are_combined_row_by_row() -> None:
    value = Binary("add", IN_COLUMN, Load(X, J), Role.VALUE)
    begun, rows = interchanged(columns(combining(value)))
    assert begun == For(I, integer(0), N, (Store(Y, I, NOTHING),))
    assert rows == For(J, integer(0), M, (For(I, integer(0), N, (Update(Y, I, "maximum", value),)),))


def test_what_all_columns_fail_by_is_asked_once_if_there_is_a_column() -> None:
    check, *_ = interchanged(columns(combining(IN_COLUMN), NONE))
    assert check == If(Binary("less", integer(0), N), (NONE,))


def test_what_is_declared_along_the_way_is_kept() -> None:
    place = index("place")
    declared = Declare(place, Load(KEYS, J))
    found = Load(A, plus(Binary("multiply", place, N), I))
    _, rows = interchanged(columns(combining(found, declared)))
    assert isinstance(rows, For)
    assert rows.body == (For(I, integer(0), N, (declared, Update(Y, I, "maximum", found))),)


KEPT: dict[str, For] = {
    "rows": columns(combining(IN_ROW)),
    "one array": columns(combining(Load(X, plus(I, J)))),
    "looked up": columns(combining(Load(X, Load(KEYS, IN_COLUMN.index)))),
    "as far as the column": columns(combining(IN_COLUMN, high=I)),
    "the result is read": columns(combining(Load(Y, IN_COLUMN.index))),
    "a failure of one column": columns(
        combining(IN_COLUMN), replace(NONE, condition=Binary("less", BEST, NOTHING))
    ),
    "what is no failure": columns(combining(IN_COLUMN), replace(NONE, body=(Store(X, I, NOTHING),))),
    "scattered": columns(combining(IN_COLUMN), place=Load(KEYS, I)),
    "what was found so far": columns(combining(Binary("add", BEST, IN_COLUMN, Role.VALUE))),
}


@pytest.mark.parametrize("loop", KEPT.values(), ids=KEPT)
def test_other_loops_stay(loop: For) -> None:
    assert interchanged(loop) == (loop,)


@pytest.mark.parametrize("floating_point", ["strict", "reassociate"])
@pytest.mark.parametrize("monoid", ["min", "max"])
def test_extremes_of_columns(monoid: str, floating_point: Any) -> None:
    """They are those of NumPy, NaN among them, and the inner loop goes along a row."""
    data = np.random.default_rng(3).integers(-3, 4, (40, 70)).astype(np.float64)
    data[5, 11], data[7, 12], data[8, 13], data[9, 14] = np.nan, np.inf, -np.inf, -0.0
    script = f"CREATE TENSOR r AS sum(<j, _> in 0:70) {{ j -> {monoid}(<i, _> in 0:40) X(i, j) }}"
    kernel = storel.compile(script, X=data, floating_point=floating_point, backend="c")
    result = kernel(X=data)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), getattr(data, monoid)(axis=0))
    compute = kernel.compilation.kernel.compute
    assert [type(each.body[-1]) for each in walk(compute.body) if isinstance(each, For)] == [
        Store,
        For,
        Update,
    ]
