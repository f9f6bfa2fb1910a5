"""Sums over suffixes go on from one another, where no iteration asks for another and order is free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
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
    Update,
)
from storel.loops.passes.suffixes import turn_over
from storel.scalars import ScalarType

A, Y, Z = (Buffer(name, ScalarType.FLOAT64) for name in "ayz")
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, K, P, R, N = (index(name) for name in "ijkprn")  # noqa: E741
SUM, OTHER = (Local(name, ScalarType.FLOAT64) for name in ("sum", "other"))
NOTHING = Constant(0.0, ScalarType.FLOAT64)
ZERO = Declare(SUM, NOTHING)


def times(left: Expression, right: Expression = N) -> Binary:
    return Binary("multiply", left, right)


def adding(
    low: Expression = I, high: Expression = N, value: Expression | None = None, operator: str = "add"
) -> For:
    value = Load(A, J) if value is None else value
    return For(J, low, high, (Assign(SUM, Binary(operator, SUM, value, Role.VALUE)),))


def cleared(row: Expression = I) -> For:
    return For(P, integer(0), N, (Store(Y, plus(times(row), P), NOTHING),))


def adding_rows(row: Expression = I, key: Expression = K, operator: str = "add") -> For:
    value = Load(A, plus(times(J), K))
    return For(J, I, N, (For(K, integer(0), N, (Update(Y, plus(times(row), key), operator, value),)),))


KEPT = Store(Y, I, SUM)
MADE_AT_ONCE = For(
    P, integer(0), N, (ZERO, adding(value=Load(A, plus(times(J), P))), Store(Y, plus(times(I), P), SUM))
)

CASES: list[tuple[tuple[Statement, ...], bool]] = [
    ((ZERO, adding(), KEPT), True),
    ((ZERO, adding(plus(I, integer(1))), KEPT), True),
    ((ZERO, adding(Binary("floor_divide", I, integer(2))), KEPT), True),
    ((ZERO, adding(Binary("maximum", I, integer(3))), KEPT), True),
    ((Declare(R, I), ZERO, adding(R), Store(Y, R, SUM)), True),
    ((ZERO, adding(operator="maximum"), KEPT), True),
    ((ZERO, adding(), Update(Y, I, "add", SUM)), True),
    ((ZERO, adding(), KEPT, Store(Z, I, SUM)), True),
    # beginnings that stay, fall, or are not known to grow; ends that change
    ((ZERO, adding(integer(0)), KEPT), False),
    ((ZERO, adding(Binary("subtract", N, I)), KEPT), False),
    ((ZERO, adding(Load(KEYS, I)), KEPT), False),
    ((ZERO, adding(high=plus(I, N)), KEPT), False),
    # what is added changes, or is not to be reordered
    ((ZERO, adding(value=Load(A, plus(I, J))), KEPT), False),
    ((ZERO, adding(value=SUM), KEPT), False),
    ((ZERO, adding(operator="subtract"), KEPT), False),
    ((ZERO, For(J, I, N, (Assign(SUM, Load(A, J)),)), KEPT), False),
    ((ZERO, For(J, I, N, (*adding().body, Store(Z, J, SUM))), KEPT), False),
    ((ZERO, For(J, I, N, (If(Binary("less", SUM, NOTHING), adding().body),)), KEPT), False),
    # iterations that ask for one another, write the same places, or end the kernel
    ((ZERO, adding(), KEPT, Store(Z, I, Load(Y, integer(0)))), False),
    ((ZERO, adding(), Store(Y, integer(0), SUM)), False),
    ((ZERO, adding(), Store(Y, Load(KEYS, I), SUM)), False),
    ((ZERO, adding(), KEPT, Store(Y, plus(I, integer(1)), SUM)), False),
    ((ZERO, adding(), KEPT, Assign(OTHER, SUM)), False),
    ((ZERO, adding(), KEPT, If(Binary("less", SUM, NOTHING), (Fail(0, I),))), False),
    # rows
    ((cleared(), adding_rows()), True),
    ((Declare(R, I), cleared(R), adding_rows(R)), True),
    ((cleared(), adding_rows(key=Load(KEYS, K))), True),
    ((MADE_AT_ONCE,), True),
    ((cleared(), adding_rows(operator="subtract")), False),
    ((cleared(), adding_rows(row=plus(I, integer(1)))), False),
    ((cleared(), adding_rows(), Store(Y, I, NOTHING)), False),
    ((cleared(), adding_rows(), Store(Z, I, Load(Y, I))), False),
]


@pytest.mark.parametrize(("body", "is_turned"), CASES)
def test_loops_are_turned_over_where_sums_over_suffixes_then_go_on(
    body: tuple[Statement, ...], is_turned: bool
) -> None:
    loop = For(I, integer(0), N, body)
    bound = Procedure("bound", (), (A, KEYS, SIZES), ())
    made = turn_over(Kernel(bound, Procedure("compute", (), (A, KEYS, Y, Z), (loop,)), ())).compute.body
    assert (made != (loop,)) == is_turned


def from_the_end(accumulate: Any, data: Array, axis: int = 0) -> Array:
    return np.flip(accumulate(np.flip(data, axis), axis), axis)


X = np.random.default_rng(0).integers(-9, 9, 50).astype(np.float64)
ROWS = np.random.default_rng(1).integers(-9, 9, (30, 20)).astype(np.float64)
SPARSE = np.where(np.random.default_rng(3).random(ROWS.shape) < 0.1, ROWS, 0.0)
OF_X = "sum(<i, _> in 0:extent(U, 0)) { i ->"
OF_ROWS = "sum(<i, _> in 0:extent(U, 0), <j, _> in 0:extent(U, 1)) { (i, j) ->"

PROGRAMS: dict[str, tuple[Any, str, Array]] = {
    "sums": (X, f"{OF_X} sum(<j, _> in i:extent(U, 0)) U(j) }}", from_the_end(np.cumsum, X)),
    "integers": (
        X.astype(np.int64),
        f"{OF_X} sum(<j, _> in i:extent(U, 0)) U(j) }}",
        from_the_end(np.cumsum, X.astype(np.int64)),
    ),
    "what comes after": (
        X,
        "sum(<i, _> in 0:extent(U, 0), <j, x> in U) if (j > i) then { i -> x }",
        from_the_end(np.cumsum, X) - X,
    ),
    "products of sums": (
        X,
        f"{OF_X} (sum(<j, _> in i:extent(U, 0)) U(j)) * sum(<j, _> in i:extent(U, 0)) U(j) * U(j) }}",
        from_the_end(np.cumsum, X) * from_the_end(np.cumsum, X * X),
    ),
    "every other": (
        X,
        "sum(<i, _> in 0:25, <j, _> in 2 * i:50) { i -> U(j) }",
        from_the_end(np.cumsum, X)[::2],
    ),
    "all but some": (
        X,
        "sum(<i, _> in 7:50, <j, _> in i:45) { i -> U(j) }",
        np.where(np.arange(50) < 7, 0, np.append(from_the_end(np.cumsum, X[:45]), np.zeros(5))),
    ),
    "along rows": (
        ROWS,
        "sum(<(i, k), x> in U, <j, _> in 0:extent(U, 1)) if (j <= k) then { (i, j) -> x }",
        from_the_end(np.cumsum, ROWS, 1),
    ),
    "along columns": (
        ROWS,
        f"{OF_ROWS} sum(<k, _> in i:extent(U, 0)) U(k, j) }}",
        from_the_end(np.cumsum, ROWS),
    ),
    "greatest along rows": (
        ROWS,
        f"{OF_ROWS} max(<k, _> in j:extent(U, 1)) U(i, k) }}",
        from_the_end(np.maximum.accumulate, ROWS, 1),
    ),
    "least along columns": (
        ROWS,
        f"{OF_ROWS} min(<k, _> in i:extent(U, 0)) U(k, j) }}",
        from_the_end(np.minimum.accumulate, ROWS),
    ),
    "sparse rows": (
        scipy.sparse.csr_array(SPARSE),
        "sum(<i, _> in 0:extent(U, 0), <(k, j), v> in U) if (k >= i) then { (i, j) -> v }",
        from_the_end(np.cumsum, SPARSE),
    ),
}


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_over_suffixes_take_a_step_for_each_element(name: str, backend: str) -> None:
    data, program, expected = PROGRAMS[name]
    kernel = storel.compile(f"CREATE TENSOR y STORED AS dense AS {program}", backend=backend, U=data)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= 4 * expected.size + len(expected)
    result = kernel(U=data)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), expected[: result.shape[0]])


def test_strict_sums_keep_their_order() -> None:
    data = np.random.default_rng(4).standard_normal(40)
    program = f"CREATE TENSOR y AS {OF_X} sum(<j, _> in i:extent(U, 0)) U(j) }}"
    strict, meant = (
        storel.run(program, U=data, floating_point="strict", backend=each) for each in ("c", "interpret")
    )
    assert isinstance(strict, storel.Tensor) and isinstance(meant, storel.Tensor)
    np.testing.assert_array_equal(strict.to_numpy(), meant.to_numpy())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("semiring", "ufunc"), [("plus_times", np.add), ("min_plus", np.minimum), ("max_plus", np.maximum)]
)
def test_each_thread_begins_at_its_own_end(semiring: str, ufunc: Any, threads: int) -> None:
    data = np.random.default_rng(5).random((700, 300))
    sums = f"{OF_ROWS} sum(<k, _> in i:extent(U, 0)) U(k, j) }}"
    program = f"CREATE TENSOR y OVER {semiring} STORED AS dense AS {sums}"
    result = storel.run(program, U=data, threads=threads)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), from_the_end(ufunc.accumulate, data))
