"""Sums over prefixes go on from one another, exactly where nothing in them changes but their end."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import SIZES, index, integer, plus

import storel
from storel.arrays import Array
from storel.execution.run import measure
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Statement,
    Store,
)
from storel.loops.passes.prefixes import accumulate
from storel.scalars import ScalarType

A, Y = Buffer("a", ScalarType.FLOAT64), Buffer("y", ScalarType.FLOAT64)
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, K, N = (index(name) for name in "ijkn")  # noqa: E741
SUM = Local("sum", ScalarType.FLOAT64)
ZERO = Declare(SUM, Constant(0.0, ScalarType.FLOAT64))
NEXT = plus(I, integer(1))


def adding(value: Expression, high: Expression = NEXT, low: Expression | None = None) -> For:
    added = Assign(SUM, Binary("add", SUM, value, Role.VALUE))
    return For(J, integer(0) if low is None else low, high, (added,))


def binary(operator: str, left: Expression, right: Expression) -> Binary:
    return Binary(operator, left, right)


READ, KEPT = Load(A, J), Store(Y, I, SUM)

CASES: list[tuple[tuple[Statement, ...], bool]] = [
    ((ZERO, adding(READ), KEPT), True),
    ((ZERO, adding(READ, binary("minimum", N, NEXT)), KEPT), True),
    ((ZERO, adding(READ, binary("floor_divide", I, integer(2))), KEPT), True),
    ((ZERO, adding(READ, binary("multiply", integer(3), I)), KEPT), True),
    ((ZERO, adding(READ, low=N), KEPT), True),
    ((ZERO, adding(Load(A, binary("multiply", N, J))), KEPT), True),
    # ends that stay, fall, or are not known to grow
    ((ZERO, adding(READ, N), KEPT), False),
    ((ZERO, adding(READ, binary("subtract", N, I)), KEPT), False),
    ((ZERO, adding(READ, binary("multiply", integer(-1), I)), KEPT), False),
    ((ZERO, adding(READ, Load(KEYS, I)), KEPT), False),
    # a beginning, or what is added, that changes
    ((ZERO, adding(READ, low=I), KEPT), False),
    ((ZERO, adding(Load(A, plus(I, J))), KEPT), False),
    ((ZERO, adding(Load(Y, J)), KEPT), False),
    ((Declare(K, Load(KEYS, I)), ZERO, adding(Load(A, K)), KEPT), False),
    # a sum that begins elsewhere, or is changed afterwards
    ((Declare(SUM, Load(A, I)), adding(READ), KEPT), False),
    ((ZERO, adding(READ), Assign(SUM, Binary("multiply", SUM, SUM, Role.VALUE)), KEPT), False),
]


@pytest.mark.parametrize(("body", "is_carried"), CASES)
def test_sums_are_carried_on_where_only_their_end_changes(
    body: tuple[Statement, ...], is_carried: bool
) -> None:
    loop = For(I, integer(0), N, body)
    bound = Procedure("bound", (), (A, KEYS, SIZES), ())
    made = accumulate(Kernel(bound, Procedure("compute", (), (A, KEYS, Y), (loop,)), ())).compute.body
    assert (made != (loop,)) == is_carried


X = np.random.default_rng(0).standard_normal(50) + 0.1
ROWS = np.random.default_rng(1).random((7, 20)) + 0.1

PROGRAMS: list[tuple[str, Array]] = [
    ("sum(<i, _> in 0:extent(X, 0), <j, x> in X) if (j <= i) then { i -> x }", np.cumsum(X)),
    ("sum(<i, _> in 0:extent(X, 0)) { i -> max(<j, _> in 0:i + 1) X(j) }", np.maximum.accumulate(X)),
    ("sum(<i, _> in 0:extent(X, 0)) { i -> min(<j, _> in 0:i + 1) X(j) }", np.minimum.accumulate(X)),
    ("sum(<i, _> in 0:25, <j, _> in 0:2 * i + 2) { i -> X(j) * X(j) }", np.cumsum(X * X)[1::2]),
    (
        "sum(<r, _> in 0:extent(R, 0), <i, _> in 0:extent(R, 1), <j, _> in 0:i + 1) { (r, i) -> R(r, j) }",
        np.cumsum(ROWS, axis=1),
    ),
]


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(("program", "expected"), PROGRAMS)
def test_cumulative_sums_take_a_step_for_each_element(program: str, expected: Array, backend: str) -> None:
    operands = {"R": ROWS} if "R(" in program else {"X": X}
    kernel = storel.compile(f"CREATE TENSOR y AS {program}", backend=backend, **operands)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= 3 * expected.size + len(ROWS)
    np.testing.assert_allclose(tensor_of(kernel(**operands)), expected)


def tensor_of(result: storel.Tensor | dict[str, storel.Tensor]) -> Array:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


def test_cumulative_sums_are_what_was_written_to_the_last_bit() -> None:
    program = "CREATE TENSOR y AS sum(<i, _> in 0:extent(X, 0), <j, x> in X) if (j <= i) then { i -> x }"
    strict = storel.run(program, X=X, floating_point="strict")
    np.testing.assert_array_equal(tensor_of(strict), tensor_of(storel.run(program, X=X, backend="interpret")))


@pytest.mark.parametrize("threads", [1, 2])
def test_each_thread_begins_a_sum_by_itself(threads: int) -> None:
    x = np.random.default_rng(2).random(20_000)
    program = "CREATE TENSOR y AS sum(<i, _> in 0:extent(x, 0), <j, v> in x) if (j <= i) then { i -> v }"
    np.testing.assert_allclose(tensor_of(storel.run(program, x=x, threads=threads)), np.cumsum(x))
