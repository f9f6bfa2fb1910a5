"""What is read under conditions is right whatever a C compiler makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import FLOAT64, N, index, integer, plus

import storel
from storel.codegen.c_masks import may_be_confused
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Load,
    Local,
    Statement,
    Store,
)


@pytest.mark.parametrize(
    "program",
    [
        "if (Y(i, j) > 0.5) then X(i, j)",
        "if (C(i, j) == 1) then X(i, j)",
        "if (Y(i, j) > 0.5) then X(i, j) else Y(i, j)",
        "if (u(i) > 0.5 and Y(i, j) > 0.5) then X(i, j) * Y(i, j)",
    ],
)
@pytest.mark.parametrize("columns", [3, 6, 8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_are_read_under_conditions_of_their_own(program: str, columns: int, dtype: type) -> None:
    random, rows = np.random.default_rng(7), 45
    x, y = random.random((2, rows, columns)).astype(dtype)
    c, u = random.integers(0, 2, (rows, columns)), random.random(rows).astype(dtype)
    given = {name: value for name, value in {"X": x, "Y": y, "C": c, "u": u}.items() if f"{name}(" in program}
    kind = "float32" if dtype is np.float32 else "real"
    loops = f"sum(<i, _> in 0:{rows}, <j, _> in 0:{columns})"
    result = f"R: {kind}[{rows}, {columns}] STORED AS dense"
    script = f"CREATE TENSOR {result} AS {loops} {{ (i, j) -> {program} }}"
    computed, wanted = (storel.run(script, backend=backend, **given) for backend in ("c", "interpret"))
    assert isinstance(computed, storel.Tensor)
    assert isinstance(wanted, storel.Tensor)
    np.testing.assert_array_equal(computed.to_numpy(), wanted.to_numpy())


SOURCE, RESULT = Buffer("source", FLOAT64), Buffer("result", FLOAT64)
ROW, START, COLUMN, CHOSEN = index("row"), index("start"), index("column"), Local("chosen", FLOAT64)


def _reads_if(place: Expression) -> tuple[Statement, ...]:
    test = If(Binary("less", ROW, integer(5)), (Assign(CHOSEN, Load(SOURCE, place)),))
    return Declare(CHOSEN, Constant(0.0, FLOAT64)), test, Store(RESULT, place, CHOSEN)


def _reads_twice(place: Expression) -> tuple[Statement, ...]:
    test = If(Binary("less", Load(SOURCE, place), CHOSEN), (Store(RESULT, place, Load(SOURCE, place)),))
    return Declare(CHOSEN, Constant(0.0, FLOAT64)), test


def _reads_up_to(width: Expression) -> tuple[Statement, ...]:
    start = Declare(START, Binary("multiply", ROW, integer(3)))
    return start, For(COLUMN, START, plus(START, width), _reads_if(COLUMN))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (_reads_if(ROW), False),  # one place
        (_reads_if(ROW) + _reads_if(Binary("multiply", ROW, integer(2))), True),  # two of them, side by side
        (_reads_up_to(integer(3)), True),  # by a loop that is unrolled, wherever it begins
        (_reads_up_to(integer(17)), False),  # by one too long for that
        ((For(COLUMN, integer(0), integer(3), _reads_twice(COLUMN)),), False),  # in any case, and again
        (_reads_up_to(N), False),  # by one that stays a loop
    ],
)
def test_masks_are_confused_where_neighbours_are_read(body: tuple[Statement, ...], expected: bool) -> None:
    assert may_be_confused((For(ROW, integer(0), N, body),)) is expected
    assert not may_be_confused(body)  # nothing repeats it
