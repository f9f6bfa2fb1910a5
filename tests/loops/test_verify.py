from __future__ import annotations

import pytest

from storel.loops.nodes import (
    Ahead,
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
    Constant,
    Declare,
    Fail,
    For,
    If,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Row,
    Select,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.verify import IllegalLoops, verify, verify_procedure
from storel.scalars import ScalarType

INT64, FLOAT64, BOOL = ScalarType.INT64, ScalarType.FLOAT64, ScalarType.BOOL
N, INDEX, X = Local("n", INT64), Local("i", INT64), Local("x", FLOAT64)
SOURCE, TARGET, OTHER = (Buffer(name, FLOAT64) for name in ("source", "target", "other"))
ZERO, ONE, HALF = Constant(0, INT64), Constant(1, INT64), Constant(0.5, FLOAT64)
TRUE = Constant(True, BOOL)
LANE, PLACE = Local("j", INT64), Cast(INT64, Load(TARGET, INDEX))
FILL = For(LANE, ZERO, Constant(8, INT64), (Store(TARGET, LANE, HALF),), in_lanes=True)

LEGAL: list[tuple[Statement, ...]] = [
    (
        For(
            INDEX,
            ZERO,
            N,
            (FILL,),
            tiles=(Row(TARGET, ZERO, 8),),
            ahead=Ahead((Row(SOURCE, INDEX, 8),), N, 8),
        ),
    ),
    (Declare(X, HALF), Assign(X, Binary("add", X, Load(SOURCE, N)))),
    (For(INDEX, ZERO, N, (Store(TARGET, INDEX, HALF),)), Fail(0, N)),
    (Update(TARGET, ZERO, "minimum", Cast(FLOAT64, N)),),
    (If(Unary("is_nan", HALF), (Declare(X, HALF),), (Fail(0, ZERO),)),),
    (While(TRUE, (), Role.SEARCH),),
    (Declare(X, Select(TRUE, HALF, HALF)),),
    (Declare(INDEX, Binary("shift_left", ONE, Constant(3, ScalarType.INT32))),),
]

ILLEGAL: list[tuple[tuple[Statement, ...], str]] = [
    ((Declare(N, ZERO),), "n is declared twice"),
    ((Declare(X, HALF), Declare(X, HALF)), "x is declared twice"),
    ((Assign(X, HALF),), "x is not declared here"),
    ((If(TRUE, (Declare(X, HALF),)), Assign(X, HALF)), "x is not declared here"),
    ((For(INDEX, ZERO, N, ()), Fail(0, INDEX)), "i is not declared here"),
    ((Declare(X, X),), "x is not declared here"),
    ((Assign(N, ZERO),), "n must not be assigned"),
    ((For(INDEX, ZERO, N, (Assign(INDEX, ZERO),)),), "i must not be assigned"),
    ((Declare(X, ZERO),), "x is float64, but its value is int64"),
    ((Store(SOURCE, ZERO, HALF),), "the input source is written"),
    ((Store(OTHER, ZERO, HALF),), "there is no buffer"),
    ((Store(TARGET, HALF, HALF),), "an index of target is float64"),
    ((Update(TARGET, ZERO, "less", HALF),), "less gives bool"),
    ((Update(TARGET, ZERO, "bit_or", HALF),), "bit_or of float64"),
    ((While(ONE, ()),), "a condition is bool, but its value is int64"),
    ((While(TRUE, (), Role.VALUE),), "no loop counts as VALUE"),
    ((Sort(TARGET, ZERO, N),), "target does not hold integers"),
    ((Fail(7, ZERO),), "failure 7 has no message"),
    ((Fail(0, HALF),), "a failure's detail is int64"),
    ((Declare(X, Binary("add", HALF, ONE)),), "add of float64 and int64"),
    ((Declare(X, Binary("plus", HALF, HALF)),), "there is no operator plus"),
    ((Declare(X, Binary("add", HALF, HALF, Role.LOOP)),), "no operation counts as LOOP"),
    ((Declare(INDEX, Binary("divide", ONE, ONE)),), "divide of int64"),
    ((Declare(INDEX, Constant(0.5, INT64)),), "0.5 is no int64"),
    ((Declare(X, Select(TRUE, HALF, ONE)),), "the other choice is float64"),
    ((For(INDEX, ZERO, N, (Store(TARGET, N, HALF),), in_lanes=True),), "i is not in lanes"),
    ((For(INDEX, ZERO, N, (FILL,), tiles=(Row(TARGET, ONE, 8),)),), "target is no tile"),
    ((For(INDEX, ZERO, N, (FILL,), tiles=(Row(TARGET, INDEX, 8),)),), "i is not declared here"),
    ((For(INDEX, ZERO, N, (FILL,), tiles=(Row(SOURCE, ZERO, 8),)),), "the input source is written"),
    (
        (For(INDEX, ZERO, N, (), ahead=Ahead((Row(SOURCE, PLACE, 8),), N, 8)),),
        "a row of source is changes",
    ),
    ((For(INDEX, ZERO, N, (), ahead=Ahead((Row(OTHER, INDEX, 8),), N, 8)),), "there is no buffer"),
    ((For(INDEX, ZERO, N, (), ahead=Ahead((Row(SOURCE, INDEX, 8),), HALF, 8)),), "end of i is int64"),
]


def procedure(body: tuple[Statement, ...]) -> Procedure:
    return Procedure("compute", (N,), (SOURCE, TARGET), body)


@pytest.mark.parametrize("body", LEGAL)
def test_legal(body: tuple[Statement, ...]) -> None:
    verify_procedure(procedure(body), frozenset({"source"}), 1)


@pytest.mark.parametrize(("body", "complaint"), ILLEGAL)
def test_illegal(body: tuple[Statement, ...], complaint: str) -> None:
    with pytest.raises(IllegalLoops, match=complaint):
        verify_procedure(procedure(body), frozenset({"source"}), 1)


def test_a_kernels_procedures_agree_on_the_parameters() -> None:
    sizes, lengths = Buffer("sizes", INT64), Buffer("lengths", INT64)
    bound = Procedure("bound", (N,), (SOURCE, sizes), ())
    compute = Procedure("compute", (N,), (SOURCE, TARGET, lengths), ())
    allocation = Allocation(TARGET, 0, is_output=True)
    verify(Kernel(bound, compute, (allocation,)))
    for broken in (
        Kernel(bound, Procedure("compute", (), compute.buffers, ()), (allocation,)),
        Kernel(bound, Procedure("compute", (N,), (TARGET, SOURCE, lengths), ()), (allocation,)),
        Kernel(bound, Procedure("compute", (N,), (SOURCE, TARGET, SOURCE), ()), (allocation,)),
        Kernel(bound, compute, (Allocation(TARGET, 1, is_output=True),)),
    ):
        with pytest.raises(IllegalLoops):
            verify(broken)
