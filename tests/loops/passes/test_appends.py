"""Entries are appended at once where hardly any is zero, and one by one where some are after all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.loops import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    LENGTHS,
    N,
    every_backend,
    index,
    integer,
    kernel,
    next_to,
    plus,
)

from storel.errors import Cause, StorelError
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    Failure,
    For,
    If,
    Kernel,
    Load,
    Local,
    Statement,
    Store,
    Unary,
    While,
)
from storel.loops.passes.appends import FILLED, MANY, append_at_once
from storel.loops.walk import walk
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

ROWS, WIDTH = 12, 2 * MANY
I, P, CURSOR, CAPACITY = index("i"), index("p"), index("cursor"), index("capacity")  # noqa: E741
NO_ROOM = Failure(Cause.CAPACITY, "no room for {}")
"""The failure of a kernel whose result is larger than what was reserved."""

POS, IDX, OUT_IDX = Buffer("pos", INT64), Buffer("idx", INT32), Buffer("out_idx", INT32)
OUT_POS = Buffer("out_pos", INT64)
K, VALUE, X = index("k"), Local("value", FLOAT64), Buffer("x", FLOAT64)
READ = Load(Buffer("val", FLOAT64), P)
NEXT = Load(POS, plus(I, integer(1)))
TELL = (Store(OUT_POS, I, CURSOR),)


def appending(
    value: Expression = READ,
    of: ScalarType = FLOAT64,
    nonzeros: int | None = ROWS * WIDTH,
    width: int = WIDTH,
    room: Expression = N,
    extra: tuple[Statement, ...] = (),
    step: Expression | None = None,
    before: tuple[Statement, ...] = (),
    high: Expression | None = None,
    ascending: bool = True,
) -> tuple[Kernel, Kernel]:
    """Return the kernel that copies a compressed matrix without its zeros, before and after the pass.

    There is ``room`` for so many entries; where rows begin is told ``before`` them.
    """
    val, out, kept = Buffer("val", of), Buffer("out_val", of), Local("value", of)
    is_entry = Binary("not_equal", kept, Constant(of.dtype.type(0).item(), of))
    each = (
        Declare(K, Cast(INT64, Load(IDX, P))),
        Declare(kept, value),
        If(Unary("not", Binary("less", CURSOR, CAPACITY)), (Fail(0, CAPACITY),)),
        *extra,
        Store(OUT_IDX, CURSOR, Cast(INT32, K)),
        Store(out, CURSOR, kept),
        Assign(CURSOR, plus(CURSOR, step or Cast(INT64, is_entry))),
    )
    body: list[Statement] = [
        Declare(CURSOR, integer(0)),
        Declare(CAPACITY, Load(LENGTHS, integer(0))),
        For(I, integer(0), integer(ROWS), (*before, For(P, Load(POS, I), high or NEXT, each))),
        Store(LENGTHS, integer(0), CURSOR),
    ]
    outputs = [Allocation(b, n, is_output=True, used=0, overflow=0) for n, b in enumerate((OUT_IDX, out))]
    begins = Allocation(OUT_POS, 2, fill=0, is_output=True)
    sizes = [*((each, room) for each in outputs), (begins, integer(ROWS))]
    made = kernel([POS, IDX, X, val], sizes, body, (NO_ROOM,))
    known = {
        "pos": ArraySymbol("pos", INT64, ROWS + 1, 0, ROWS * WIDTH, ascending=ascending),
        "idx": ArraySymbol("idx", INT32, ROWS * width, 0, 99),
        "val": ArraySymbol("val", of, ROWS * width, nonzeros=nonzeros),
        "x": ArraySymbol("x", FLOAT64, ROWS, nonzeros=ROWS // 2),
    }
    return made, append_at_once(made, known)


def is_at_once(made: Kernel) -> bool:
    return any(isinstance(each, Assign) and each.local.name == "zeros" for each in walk(made.compute.body))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"of": INT32, "value": Load(Buffer("val", INT32), P)}, True),
        ({"value": Binary("multiply", READ, Constant(2.0, FLOAT64))}, True),
        ({"value": Unary("exp", Unary("negate", READ))}, True),
        ({"value": Binary("add", READ, Cast(FLOAT64, I))}, True),
        ({"nonzeros": int(FILLED * ROWS * WIDTH)}, False),
        ({"nonzeros": None}, False),
        ({"width": MANY // 2, "ascending": False}, False),
        ({"value": Unary("relu", READ)}, False),
        ({"value": Binary("minimum", READ, READ)}, False),
        ({"value": Binary("multiply", READ, Load(X, I))}, False),
        ({"value": Load(Buffer("val", FLOAT64), plus(P, integer(0))), "ascending": False}, False),
        ({"value": Cast(FLOAT64, CURSOR)}, False),
        ({"value": Load(Buffer("out_val", FLOAT64), integer(0))}, False),
        ({"extra": (next_to(CURSOR),)}, False),
        ({"extra": (Store(OUT_IDX, integer(0), Constant(0, INT32)),)}, False),
        ({"step": integer(1)}, False),
        ({"step": Cast(INT64, Binary("less", CURSOR, CAPACITY))}, False),
    ],
)
def test_where_entries_are_appended_at_once(changed: dict[str, Any], expected: bool) -> None:
    before, made = appending(**changed)
    assert is_at_once(made) is expected
    assert (made == before) is not expected


SHORT: dict[str, Any] = {"width": 2, "nonzeros": ROWS * 2, "before": TELL}
ROW = index("row")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"before": ()}, True),
        ({"before": (Declare(ROW, I), While(Binary("less", ROW, integer(0)), TELL))}, True),
        ({"value": Binary("multiply", READ, Constant(2.0, FLOAT64))}, True),
        ({"nonzeros": 2 * ROWS - 1}, False),
        ({"ascending": False}, False),
        ({"high": Load(POS, plus(I, integer(2)))}, False),
        ({"value": Binary("multiply", READ, Cast(FLOAT64, I))}, False),
        ({"value": Binary("multiply", READ, Cast(FLOAT64, ROW)), "before": (Declare(ROW, I),)}, False),
        ({"before": (If(Binary("less", NEXT, Load(POS, I)), (Fail(0, I),)),)}, False),
        ({"before": (next_to(CURSOR),)}, False),
        ({"before": (Store(OUT_IDX, integer(0), Constant(0, INT32)),)}, False),
        ({"before": (Declare(ROW, Cast(INT64, Load(OUT_IDX, integer(0)))),)}, False),
    ],
)
def test_where_segments_are_appended_at_once(changed: dict[str, Any], expected: bool) -> None:
    before, made = appending(**(SHORT | changed))
    assert is_at_once(made) is expected
    assert (made == before) is not expected


LENGTHS_OF_ROWS = [0, 1, 40, 0, 33, 2, 64, 0, 0, 17, 5, 0]


@pytest.mark.parametrize("of", [FLOAT64, FLOAT32, INT64, INT32])
@pytest.mark.parametrize("zeros", [(), (0,), (41,), (5, 6, 60), range(1, 41), range(162)])
@pytest.mark.parametrize("told", [{}, SHORT])
def test_no_zero_is_kept(of: ScalarType, zeros: tuple[int, ...], told: dict[str, Any]) -> None:
    before, made = appending(Load(Buffer("val", of), P), of, **told)
    pos = np.append(0, np.cumsum(LENGTHS_OF_ROWS))
    idx = np.random.default_rng(0).integers(0, 99, pos[-1]).astype(np.int32)
    val = np.arange(1, pos[-1] + 1).astype(of.dtype)
    val[list(zeros)] = 0
    if of.is_real:
        val[[3, 50]] = np.nan, -np.inf
    inputs = {"pos": pos, "idx": idx, "x": np.ones(ROWS), "val": val}
    for each in (before, made):
        for name, run in every_backend(each).items():
            found = run({"n": len(idx)}, inputs)
            np.testing.assert_array_equal(found["out_val"], val[val != 0], err_msg=name)
            np.testing.assert_array_equal(found["out_idx"], idx[val != 0], err_msg=name)
            begins = [np.count_nonzero(val[:begin]) if told else 0 for begin in pos[:-1]]
            np.testing.assert_array_equal(found["out_pos"], begins, err_msg=name)


@pytest.mark.parametrize("kept", [0, 1, 30, 40, 41, 161, 162])
@pytest.mark.parametrize("told", [{}, SHORT])
def test_there_need_be_room_for_entries_only(kept: int, told: dict[str, Any]) -> None:
    """Zeros take no room, though they are appended first, and what has no room fails as it did."""
    before, made = appending(**told)
    pos = np.append(0, np.cumsum(LENGTHS_OF_ROWS))
    idx = np.arange(pos[-1], dtype=np.int32)
    val = np.where(idx < kept, 1.5, 0.0)
    inputs = {"pos": pos, "idx": idx, "x": np.ones(ROWS), "val": val}
    for each in (before, made):
        for name, run in every_backend(each).items():
            # An entry that is zero is written, too, before it is known that it does not stay.
            found = run({"n": kept + 1}, inputs)
            np.testing.assert_array_equal(found["out_idx"], idx[:kept], err_msg=name)
            if kept > 1:
                with pytest.raises(StorelError, match=f"no room for {kept - 1}"):
                    run({"n": kept - 1}, inputs)
