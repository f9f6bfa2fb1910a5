"""Loops of a few iterations, wherever they begin, are written out in C."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import FLOAT64, N, check, index, integer, kernel, plus

from storel.codegen import c_source
from storel.loops.nodes import Allocation, Binary, Buffer, Expression, For, Kernel, Load, Statement, Update

X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
I, P, Q = index("i"), index("p"), index("q")  # noqa: E741
ADDED = Update(Y, I, "add", Load(X, P))


def rows(low: Expression, high: Expression, *body: Statement) -> Kernel:
    """Return a kernel of loops from ``low`` to ``high`` in a loop over n rows."""
    loop = For(I, integer(0), N, (For(P, low, high, body or (ADDED,)),))
    return kernel([X], [(Allocation(Y, 0, fill=0.0, is_output=True), N)], [loop])


def times(factor: int, expression: Expression) -> Expression:
    return Binary("multiply", integer(factor), expression)


@pytest.mark.parametrize("width", [1, 2, 3, 8, 16, 17])
def test_rows_of_constant_width(width: int) -> None:
    made = rows(times(width, I), times(width, plus(I, integer(1))))
    assert (f"#pragma GCC unroll {width}\n" in c_source.render(made)) == (width <= 16)
    x = np.random.default_rng(width).random(5 * width)
    check(made, {"n": 5}, {"x": x}, {"y": x.reshape(5, width).sum(1)})


INNER = For(Q, integer(0), N, (ADDED,))


@pytest.mark.parametrize(
    "made",
    [
        rows(integer(0), integer(3)),
        rows(I, plus(I, N)),
        rows(plus(I, integer(3)), I),
        rows(times(2, I), times(3, I)),
        rows(I, plus(I, integer(3)), INNER),
    ],
    ids=[
        "whose bounds are constant",
        "of any length",
        "without iterations",
        "that grow",
        "with loops inside",
    ],
)
def test_loops_that_compilers_see_through_or_must_not_write_out(made: Kernel) -> None:
    assert "unroll" not in c_source.render(made)
