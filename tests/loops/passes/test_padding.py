"""Short rows with much padding are read without branches, and nothing is added for padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from strategies.loops import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    N,
    every_backend,
    index,
    integer,
    kernel,
    plus,
)

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
    If,
    Kernel,
    Load,
    Local,
    Role,
    Select,
    Statement,
    Unary,
    Update,
)
from storel.loops.passes.padding import FILLED, LONGEST, evaluate_padding
from storel.loops.walk import all_parts, evaluated, walk
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

ROWS, WIDTH, COLUMNS = 40, 3, 11
I, K, P = index("i"), index("k"), index("p")  # noqa: E741


def padded(
    value: Expression | None = None,
    of: ScalarType = FLOAT64,
    keys: ScalarType = INT32,
    width: int = WIDTH,
    nonzeros: int | None = 1,
    length: int = COLUMNS,
    condition: Expression | None = None,
    otherwise: tuple[Statement, ...] = (),
) -> tuple[Kernel, Kernel]:
    """Return the kernel of sums of rows before and after the pass; ``x`` has ``length`` elements."""
    idx, val, x = Buffer("idx", keys, Role.INDEX), Buffer("val", of), Buffer("x", of)
    result = Allocation(Buffer("y", of), 0, fill=0, is_output=True)
    chosen, zero = Local("chosen", of), Constant(of.dtype.type(0).item(), of)
    read: Expression = Load(idx, P)
    row = (
        Declare(K, read if keys is INT64 else Cast(INT64, read)),
        Declare(chosen, zero),
        If(
            condition or Binary("less_equal", integer(0), K),
            (Assign(chosen, value or Binary("multiply", Load(val, P), Load(x, K))),),
            otherwise,
        ),
        Update(result.buffer, I, "add", chosen),
    )
    low = Binary("multiply", integer(width), I)
    loop = For(P, low, Binary("multiply", integer(width), plus(I, integer(1))), row)
    before = kernel([idx, val, x], [(result, N)], [For(I, integer(0), N, (loop,))])
    known = {
        "idx": ArraySymbol("idx", keys, ROWS * width, -1, COLUMNS - 1),
        "val": ArraySymbol("val", of, ROWS * width, nonzeros=nonzeros),
        "x": ArraySymbol("x", of, length),
    }
    return before, evaluate_padding(before, known)


def is_branchless(made: Kernel) -> bool:
    statements = list(walk(made.compute.body))
    values = list(all_parts(each for statement in statements for each in evaluated(statement)))
    chosen = any(isinstance(each, Select) and each.branchless for each in values)
    assert chosen != any(isinstance(each, If) for each in statements)
    return chosen


VAL, X = Buffer("val", FLOAT64), Buffer("x", FLOAT64)
PRODUCT = Binary("multiply", Load(VAL, P), Load(X, K))
FULL = ROWS * WIDTH


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"keys": INT64}, True),
        ({"value": Load(VAL, P)}, True),
        ({"value": Binary("multiply", PRODUCT, Load(X, K))}, True),
        ({"width": LONGEST}, True),
        ({"width": LONGEST + 1}, False),
        ({"nonzeros": int(FILLED * FULL) - 1}, True),
        ({"nonzeros": FULL}, False),
        ({"nonzeros": None}, False),
        ({"value": Load(X, K)}, False),
        ({"length": 0}, False),
        ({"value": Binary("multiply", PRODUCT, Load(X, plus(K, integer(1))))}, False),
        ({"value": Binary("multiply", Load(VAL, P), Load(X, I))}, False),
        ({"value": Binary("divide", Load(VAL, P), Load(X, K))}, False),
        ({"value": Unary("exp", PRODUCT)}, False),
        ({"condition": Binary("less", K, integer(9))}, False),
        ({"condition": Binary("less_equal", integer(1), K)}, False),
        ({"condition": Binary("less_equal", integer(0), I)}, False),
        ({"otherwise": (Assign(Local("chosen", FLOAT64), Load(VAL, P)),)}, False),
    ],
)
def test_where_padding_is_evaluated(changed: dict[str, Any], expected: bool) -> None:
    before, made = padded(**changed)
    assert is_branchless(made) is expected
    assert (made == before) is not expected


@pytest.mark.parametrize("keys", [INT32, INT64])
@pytest.mark.parametrize("of", [FLOAT64, FLOAT32, INT64, INT32])
def test_nothing_is_added_for_padding(of: ScalarType, keys: ScalarType) -> None:
    before, made = padded(of=of, keys=keys)
    rng = np.random.default_rng(1)
    idx: NDArray[Any] = rng.integers(-1, COLUMNS, (ROWS, WIDTH)).astype(keys.dtype)
    idx[0], idx[1] = -1, 0
    val: NDArray[Any] = np.where(idx >= 0, rng.integers(1, 9, idx.shape), 7).astype(of.dtype)
    x: NDArray[Any] = rng.integers(1, 9, COLUMNS).astype(of.dtype)
    if of.is_real:
        x[0], x[1] = np.inf, np.nan
        val[0] = np.nan
    inputs = {"idx": idx.ravel(), "val": val.ravel(), "x": x}
    expected = np.where(idx >= 0, val * x[idx], 0).sum(1, dtype=of.dtype)
    for each in (before, made):
        for name, run in every_backend(each).items():
            np.testing.assert_array_equal(run({"n": ROWS}, inputs)["y"], expected, err_msg=name)
