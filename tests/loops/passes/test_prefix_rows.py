"""Rows that are sums over prefixes go on from the row before, exactly where nothing but their end changes."""

from __future__ import annotations

from collections.abc import Callable
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
    For,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Statement,
    Store,
    Update,
)
from storel.loops.passes.prefix_rows import accumulate_rows
from storel.scalars import ScalarType

A, Y = Buffer("a", ScalarType.FLOAT64), Buffer("y", ScalarType.FLOAT64)
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, K, P, R, N = (index(name) for name in "ijkprn")  # noqa: E741
SUM = Local("sum", ScalarType.FLOAT64)
ZERO = Constant(0.0, ScalarType.FLOAT64)
NEXT = plus(I, integer(1))


def times(left: Expression, right: Expression = N) -> Binary:
    return Binary("multiply", left, right)


def cleared(row: Expression = I, length: Expression = N, value: Expression = ZERO) -> For:
    return For(P, integer(0), length, (Store(Y, plus(times(row), P), value),), Role.WORKSPACE)


def adding(
    high: Expression = NEXT,
    row: Expression = I,
    low: Expression | None = None,
    value: Expression | None = None,
    key: Expression = K,
) -> For:
    value = Load(A, plus(times(J), K)) if value is None else value
    inner = For(K, integer(0), N, (Update(Y, plus(times(row), key), "add", value),))
    return For(J, integer(0) if low is None else low, high, (inner,))


def summing(high: Expression = NEXT, low: Expression | None = None, value: Expression | None = None) -> For:
    value = Load(A, plus(times(J), P)) if value is None else value
    added = Assign(SUM, Binary("add", SUM, value, Role.VALUE))
    return For(J, integer(0) if low is None else low, high, (added,))


def each(*made: Statement, start: Expression = ZERO, row: Expression = I, length: Expression = N) -> For:
    return For(P, integer(0), length, (Declare(SUM, start), *made, Store(Y, plus(times(row), P), SUM)))


ROW = Declare(R, I)
CASES: list[tuple[tuple[Statement, ...], bool]] = [
    ((cleared(), adding()), True),
    ((ROW, cleared(R), adding(row=R)), True),
    ((cleared(), adding(Binary("floor_divide", I, integer(2)))), True),
    ((cleared(), adding(low=N)), True),
    ((cleared(), adding(key=Load(KEYS, K))), True),
    # ends that stay, fall, or are not known to grow
    ((cleared(), adding(N)), False),
    ((cleared(), adding(Binary("subtract", N, I))), False),
    ((cleared(), adding(Load(KEYS, I))), False),
    # a beginning, or what is added, or where, that changes
    ((cleared(), adding(low=I)), False),
    ((cleared(), adding(value=Load(A, plus(times(I), K)))), False),
    ((cleared(), adding(value=Load(Y, K))), False),
    ((cleared(), adding(key=Load(KEYS, I))), False),
    # rows that do not follow one another, or are not the one that was cleared
    ((Declare(R, times(I, integer(2))), cleared(R), adding(row=R)), False),
    ((Declare(R, Load(KEYS, I)), cleared(R), adding(row=R)), False),
    ((ROW, cleared(), adding(row=plus(R, integer(1)))), False),
    ((cleared(length=integer(3)), adding()), False),
    ((cleared(value=Load(A, P)), adding()), False),
    # more that is done to them
    ((cleared(), adding(), adding()), False),
    ((cleared(), adding(), Store(Y, times(I), ZERO)), False),
    ((cleared(), adding(), Store(A, I, Load(Y, times(I)))), False),
    # elements that are made one by one
    ((each(summing()),), True),
    ((each(summing(plus(times(Binary("floor_divide", I, integer(2)), integer(3)), N))),), True),
    ((each(Declare(K, Load(KEYS, P)), summing(value=Load(A, plus(times(J), K)))),), True),
    ((each(summing(N)),), False),
    ((each(summing(plus(I, P))),), False),
    ((each(summing(low=P)),), False),
    ((each(summing(value=Load(A, plus(I, P)))),), False),
    ((each(Declare(K, Load(KEYS, I)), summing(value=Load(A, plus(times(J), K)))),), False),
    ((each(summing(), start=Load(A, P)),), False),
    ((each(summing(), row=Load(KEYS, I)),), False),
    ((each(summing(), length=integer(3)),), False),
    ((each(summing()), Store(Y, times(I), ZERO)), False),
    ((each(summing()), Store(A, I, Load(Y, times(I)))), False),
]


@pytest.mark.parametrize(("body", "is_carried"), CASES)
def test_rows_are_carried_on_where_only_their_end_changes(
    body: tuple[Statement, ...], is_carried: bool
) -> None:
    loop = For(I, integer(0), N, body)
    bound = Procedure("bound", (), (A, KEYS, SIZES), ())
    made = accumulate_rows(Kernel(bound, Procedure("compute", (), (A, KEYS, Y), (loop,)), ())).compute.body
    assert (made != (loop,)) == is_carried


ROWS = np.random.default_rng(1).integers(-9, 9, (30, 20)).astype(np.float64)
BLOCKS = np.random.default_rng(2).integers(-9, 9, (4, 25, 6))
SPARSE = np.where(np.random.default_rng(3).random(ROWS.shape) < 0.1, ROWS, 0.0)
OF_ROWS = "sum(<i, _> in 0:extent(U, 0), <j, _> in 0:extent(U, 1)) { (i, j) ->"

PROGRAMS: dict[str, tuple[Any, str, Array]] = {
    "sums": (ROWS, f"{OF_ROWS} sum(<k, _> in 0:i + 1) U(k, j) }}", np.cumsum(ROWS, axis=0)),
    "integers": (
        ROWS.astype(np.int32),
        f"{OF_ROWS} sum(<k, _> in 0:i + 1) U(k, j) }}",
        np.cumsum(ROWS.astype(np.int32), axis=0),
    ),
    "greatest": (ROWS, f"{OF_ROWS} max(<k, _> in 0:i + 1) U(k, j) }}", np.maximum.accumulate(ROWS, axis=0)),
    "least, transposed": (
        ROWS,
        "sum(<j, _> in 0:20, <i, _> in 0:30) { (j, i) -> min(<k, _> in 0:i + 1) U(k, j) }",
        np.minimum.accumulate(ROWS, axis=0).T,
    ),
    "all but the first": (
        ROWS,
        f"{OF_ROWS} sum(<k, _> in 1:i + 1) U(k, j) }}",
        np.cumsum(np.vstack([np.zeros((1, 20)), ROWS[1:]]), axis=0),
    ),
    "every other": (
        ROWS,
        f"{OF_ROWS} sum(<k, _> in 0:(i + 1) // 2) U(k, j) }}",
        np.vstack([ROWS[: (i + 1) // 2].sum(axis=0) for i in range(30)]),
    ),
    "sparse rows": (
        scipy.sparse.csr_array(SPARSE),
        "sum(<i, _> in 0:extent(U, 0), <(k, j), v> in U) if (k <= i) then { (i, j) -> v }",
        np.cumsum(SPARSE, axis=0),
    ),
    "both": (
        ROWS,
        f"{OF_ROWS} sum(<k, _> in 0:i + 1, <l, _> in 0:j + 1) U(k, l) }}",
        np.cumsum(np.cumsum(ROWS, axis=0), axis=1),
    ),
    "blocks": (
        BLOCKS,
        "sum(<a, _> in 0:4, <i, _> in 0:25, <j, _> in 0:6)"
        " { (a, i, j) -> sum(<k, _> in 0:i + 1) U(a, k, j) }",
        np.cumsum(BLOCKS, axis=1),
    ),
}


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_along_any_dimension_take_a_step_for_each_element(name: str, backend: str) -> None:
    data, program, expected = PROGRAMS[name]
    kernel = storel.compile(f"CREATE TENSOR y STORED AS dense AS {program}", backend=backend, U=data)
    _, work = measure(kernel.compilation, kernel.environment)
    assert work.iterations <= (expected.shape[-1] if name == "both" else 4) * expected.size
    result = kernel(U=data)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), expected)


EXTREMES: list[tuple[str, Callable[..., Array]]] = [("min_plus", np.minimum), ("max_plus", np.maximum)]


@pytest.mark.parametrize(("semiring", "ufunc"), EXTREMES)
@pytest.mark.parametrize("threads", [1, 2])
def test_each_thread_begins_its_rows_by_itself(semiring: str, ufunc: Any, threads: int) -> None:
    data = np.random.default_rng(4).random((700, 300))
    program = f"{OF_ROWS} sum(<k, _> in 0:i + 1) U(k, j) }}"
    source = f"CREATE TENSOR y OVER {semiring} STORED AS dense AS {program}"
    for text, expected in ((source, ufunc.accumulate(data)), (source.replace(f"OVER {semiring} ", ""), None)):
        result = storel.run(text, U=data, threads=threads)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(
            result.to_numpy(), np.cumsum(data, axis=0) if expected is None else expected
        )
