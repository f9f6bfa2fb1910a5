"""Loops over the digits of a number become one loop over it, exactly where nothing else asks for a digit."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import SIZES, index, integer, plus

import storel
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Declare,
    Expression,
    For,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Statement,
    Update,
)
from storel.loops.passes.coalesce import coalesce
from storel.loops.walk import walk
from storel.scalars import ScalarType
from storel.storage.tensor import Tensor

A, Y = Buffer("a", ScalarType.FLOAT64), Buffer("y", ScalarType.FLOAT64)
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, K, L, N = (index(name) for name in "ijkln")  # noqa: E741
SUM = Local("sum", ScalarType.FLOAT64)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def read(place: Expression) -> Assign:
    return Assign(SUM, Binary("add", SUM, Load(A, place), Role.VALUE))


def over(variable: Local, high: Expression, *body: Statement, low: Expression | None = None) -> For:
    return For(variable, integer(0) if low is None else low, high, body)


def coalesced(*body: Statement) -> tuple[Statement, ...]:
    bound = Procedure("bound", (), (A, KEYS, SIZES), ())
    return coalesce(Kernel(bound, Procedure("compute", (), (A, KEYS, Y), body), ())).compute.body


FOUR = integer(4)
ROW = plus(times(I, FOUR), J)

CASES: list[tuple[Statement, int]] = [
    (over(I, N, over(J, FOUR, read(ROW))), 1),
    (over(I, N, over(J, FOUR, read(plus(times(ROW, integer(3)), L)))), 1),
    (over(I, N, over(J, N, read(plus(times(I, N), J)))), 1),
    (over(I, N, over(J, FOUR, over(K, integer(2), read(plus(times(ROW, integer(2)), K))))), 1),
    # what is only declared, and writes in the order of the reads
    (over(I, N, Declare(K, Load(KEYS, I)), over(J, FOUR, read(ROW))), 1),
    (over(I, N, over(J, FOUR, Update(Y, ROW, "add", Load(A, ROW)))), 1),
    # another name of the outer variable, and of what is counted from it
    (over(I, N, Declare(K, I), over(J, FOUR, Update(Y, plus(times(K, FOUR), J), "add", Load(A, ROW)))), 1),
    (over(I, N, Declare(K, times(I, FOUR)), Declare(L, K), over(J, FOUR, read(plus(L, J)))), 1),
    # another factor, a digit of its own, a square
    (over(I, N, over(J, FOUR, read(plus(times(I, integer(5)), J)))), 2),
    (over(I, N, over(J, FOUR, read(I))), 2),
    (over(I, N, over(J, FOUR, Update(Y, I, "add", Load(A, ROW)))), 2),
    (over(I, N, over(J, FOUR, read(plus(times(I, I), J)))), 2),
    (over(I, N, over(J, FOUR, read(plus(ROW, Load(KEYS, J))))), 2),
    # ends that change, a beginning that is not 0, and something else to do
    (over(I, N, over(J, I, read(plus(times(I, I), J)))), 2),
    (over(I, N, over(J, FOUR, read(ROW), low=integer(1))), 2),
    (over(I, N, over(J, FOUR, read(ROW)), read(I)), 2),
    (over(I, N, Declare(K, Load(KEYS, I)), over(J, FOUR, read(plus(ROW, K)))), 2),
    # a name that does not stand for the same throughout, or for something else
    (over(I, N, Declare(K, I), over(J, FOUR, read(plus(times(K, FOUR), J)), Assign(K, J))), 2),
    (over(I, N, Declare(K, plus(times(I, FOUR), L)), over(J, FOUR, read(plus(K, J)), Assign(L, N))), 2),
    (over(I, N, Declare(K, Load(KEYS, I)), Declare(L, K), over(J, FOUR, read(plus(ROW, L)))), 2),
    (over(I, N, Declare(K, plus(I, integer(1))), over(J, FOUR, read(plus(times(K, I), J)))), 2),
]


@pytest.mark.parametrize(("loops", "left"), CASES)
def test_loops_are_coalesced_where_their_variables_are_digits(loops: Statement, left: int) -> None:
    assert sum(isinstance(each, For) for each in walk(coalesced(loops))) == left


def test_what_is_read_is_the_same_number() -> None:
    (loop,) = coalesced(over(I, N, over(J, FOUR, read(ROW)), low=L))
    assert loop == For(J, times(L, FOUR), times(N, FOUR), (read(J),))


SHAPES = [(8, 12), (0, 4), (4, 0), (1, 1), (7, 9), (200, 300)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("text", ["bcsr", "bcsr(r=2, c=3)", "tiled", "dense", "ragged", "csr", "dcsr"])
def test_entries_of_blocks_are_counted_in_a_stream(text: str, shape: tuple[int, int]) -> None:
    array = np.random.default_rng(shape).integers(-1, 2, shape) * 1.5
    tensor = storel.tensor(array).to(text)
    for backend in ("c", "numba") if shape == (8, 12) else ("c",):
        count = storel.run("CREATE TENSOR n AS count(<(i, j), _> in A)", A=tensor, backend=backend)
        total = storel.run("CREATE TENSOR t AS sum(<(i, j), a> in A) a * a", A=tensor, backend=backend)
        assert isinstance(count, Tensor) and isinstance(total, Tensor)
        assert (count.item(), total.item()) == (np.count_nonzero(array), (array**2).sum())
