from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from storel.errors import Cause, EvaluationError, MemoryLimitError
from storel.loops.interpret import Work, run
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
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
    Procedure,
    Role,
    Sort,
    Statement,
    Store,
    Update,
    While,
)
from storel.scalars import ScalarType

INT64, FLOAT64 = ScalarType.INT64, ScalarType.FLOAT64
N, INDEX, S = Local("n", INT64), Local("i", INT64), Local("s", FLOAT64)
X, Y, KEYS = Buffer("x", FLOAT64), Buffer("y", FLOAT64), Buffer("keys", INT64, Role.INDEX)
SIZES, LENGTHS = Buffer("sizes", INT64, Role.INDEX), Buffer("lengths", INT64, Role.INDEX)


def integer(value: int) -> Constant:
    return Constant(value, INT64)


def kernel(*body: Statement) -> Kernel:
    """x → y, with a cleared workspace of n keys."""
    sizes = (Store(SIZES, integer(0), N), Store(SIZES, integer(1), N))
    return Kernel(
        Procedure("bound", (N,), (X, SIZES), sizes),
        Procedure("compute", (N,), (X, Y, KEYS, LENGTHS), body),
        (Allocation(Y, 0, 0.0, is_output=True), Allocation(KEYS, 1, 0)),
        (Failure(Cause.KEY, "failed at {}"),),
    )


def multiply(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right, Role.VALUE)


SQUARES = Update(Y, integer(0), "add", multiply(Load(X, INDEX), Load(X, INDEX)))
CLEARED = 4  # the workspace of n = 4 keys
STEP = Assign(INDEX, Binary("add", INDEX, integer(1)))

WORK: list[tuple[tuple[Statement, ...], Work]] = [
    ((), Work()),
    (
        (For(INDEX, integer(0), N, (SQUARES,)),),
        Work(iterations=4, multiplications=4, additions=4, reads=8, writes=4),
    ),
    (
        (For(INDEX, integer(0), N, (If(Binary("less", INDEX, integer(1)), (SQUARES,)),)),),
        Work(iterations=4, multiplications=1, additions=1, index_operations=4, reads=2, writes=1),
    ),
    (
        (For(INDEX, integer(0), N, (Store(KEYS, INDEX, Binary("subtract", N, INDEX)),), Role.WORKSPACE),),
        Work(index_operations=4, workspace=4),
    ),
    (
        (Declare(INDEX, integer(0)), While(Binary("less", INDEX, N), (STEP,), Role.SEARCH)),
        Work(lookups=1, index_operations=5 + 4),
    ),
    ((Sort(KEYS, integer(0), N),), Work(workspace=4 * 2)),
    (
        (Store(Y, integer(0), Binary("maximum", Load(X, integer(0)), Load(X, integer(1)), Role.VALUE)),),
        Work(additions=1, reads=2, writes=1),
    ),
]


@pytest.mark.parametrize(("body", "work"), WORK)
def test_work(body: tuple[Statement, ...], work: Work) -> None:
    outputs, counted = run(kernel(*body), {"n": 4}, {"x": np.arange(4.0)})
    assert counted == work + Work(workspace=CLEARED)
    assert list(outputs) == ["y"]


DEFECTS: list[tuple[Statement, type[Exception]]] = [
    (Store(Y, N, Constant(0.0, FLOAT64)), IndexError),
    (Store(Y, integer(-1), Constant(0.0, FLOAT64)), IndexError),
    (Store(Y, integer(0), Load(X, integer(-1))), IndexError),
    (For(INDEX, integer(-1), N, (Store(Y, integer(0), Load(X, INDEX)),)), IndexError),
    (For(INDEX, integer(-1), N, (Update(Y, INDEX, "add", Constant(0.0, FLOAT64)),)), IndexError),
    (Store(Y, integer(0), S), UnboundLocalError),
    (Sort(KEYS, integer(0), integer(5)), IndexError),
]


@pytest.mark.parametrize(("statement", "exception"), DEFECTS)
def test_defects_are_no_user_errors(statement: Statement, exception: type[Exception]) -> None:
    never = If(Binary("less", N, integer(0)), (Declare(S, Constant(0.0, FLOAT64)),))
    with pytest.raises(exception):
        run(kernel(never, statement), {"n": 4}, {"x": np.arange(4.0)})


def test_failures_are_user_errors() -> None:
    with pytest.raises(EvaluationError, match=r"^failed at 4$"):
        run(kernel(Fail(0, N)), {"n": 4}, {"x": np.arange(4.0)})
    with pytest.raises(MemoryLimitError, match="limit"):
        run(kernel(), {"n": 4}, {"x": np.arange(4.0)}, memory_limit=63)
    assert run(kernel(), {"n": 4}, {"x": np.arange(4.0)}, memory_limit=64)[0]["y"].tolist() == [0] * 4


def test_integers_wrap_around() -> None:
    most = Constant(2**63 - 1, INT64)
    body = Store(KEYS, integer(0), Binary("add", most, N)), Fail(0, Load(KEYS, integer(0)))
    with pytest.raises(EvaluationError, match=f"^failed at {-(2**63) + 3}$"):
        run(kernel(*body), {"n": 4}, {"x": np.arange(4.0)})


def test_what_is_reserved_and_not_used_takes_no_memory() -> None:
    resource = pytest.importorskip("resource")
    reserved = Allocation(Y, 0, is_output=True, used=0, overflow=0)
    made = replace(kernel(Store(LENGTHS, integer(0), integer(1))), allocations=(reserved,))
    bound = replace(made.bound, body=made.bound.body[:1])
    made = replace(made, bound=bound, compute=replace(made.compute, buffers=(X, Y, LENGTHS)))
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outputs, _ = run(made, {"n": 2**28}, {"x": np.zeros(0)})
    assert outputs["y"].shape == (1,) and np.isnan(outputs["y"][0])
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert unit * taken < 2**29 < 8 * 2**28
