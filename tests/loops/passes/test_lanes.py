"""Sums of blocks are added up lane by lane, exactly where they are asked for behind the loop only."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import SIZES, index, integer, plus

import storel
from storel.loops.nodes import (
    Allocation,
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
    Update,
)
from storel.loops.passes.lanes import spread
from storel.loops.passes.reorder import reorder
from storel.loops.verify import verify
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

A, X, Y = (Buffer(name, ScalarType.FLOAT64) for name in "axy")
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
SEGMENTS = Buffer("segments", ScalarType.INT64, Role.INDEX)
LENGTHS = Buffer("lengths", ScalarType.INT64, Role.INDEX)
I, P, R, C, N = (index(name) for name in "iprcn")  # noqa: E741
SUM = Local("sum", ScalarType.FLOAT64)
ZERO = Constant(0.0, ScalarType.FLOAT64)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def over(variable: Local, high: Expression, *body: Statement) -> For:
    return For(variable, integer(0), high, body)


def kernel(*body: Statement) -> Kernel:
    bound = Procedure("bound", (N,), (A, X, KEYS, SEGMENTS, SIZES), ())
    compute = Procedure("compute", (N,), (A, X, KEYS, SEGMENTS, Y, LENGTHS), body)
    return Kernel(bound, compute, (Allocation(Y, 0),))


def block(height: int, width: int, place: Expression = R, step: int = 1) -> For:
    """Return a product of block p with a part of x, which is added to y."""
    row = plus(times(P, integer(height)), R)
    lane = C if step == 1 else times(C, integer(step))
    product = times(Load(A, plus(times(row, integer(width)), lane)), Load(X, plus(Load(KEYS, P), C)))
    summed = over(C, integer(width), Assign(SUM, Binary("add", SUM, product, Role.VALUE)))
    return over(R, integer(height), Declare(SUM, ZERO), summed, Update(Y, place, "add", SUM))


def is_spread(*body: Statement, entries: int = 0) -> bool:
    """Return whether sums are spread, where there are 100 segments of so many ``entries``, 0 if not known."""
    before = reorder(kernel(*body))
    known = (array("segments", 101), array("keys", entries)) if entries else ()
    after = spread(before, {each.name: each for each in known})
    assert (after is before) == (after == before)
    return after is not before


@pytest.mark.parametrize(("height", "width"), [(2, 4), (4, 4), (8, 8), (2, 32)])
def test_blocks_have_a_row_of_sums_for_each_of_their_rows(height: int, width: int) -> None:
    made = spread(reorder(kernel(over(P, N, block(height, width)))), {})
    assert len(made.allocations) == height + 1
    assert all(each.buffer in made.compute.buffers for each in made.allocations)
    assert len(made.bound.body) == height
    *zeros, loop, last = made.compute.body
    assert len(zeros) == height and isinstance(loop, For) and len(loop.body) == height
    assert isinstance(last, If) and len(last.body) == height
    verify(made)


def test_a_sum_in_a_local_is_spread() -> None:
    value = times(Load(A, plus(times(P, integer(8)), C)), Load(X, C))
    summed = over(C, integer(8), Assign(SUM, Binary("add", SUM, value, Role.VALUE)))
    assert is_spread(Declare(SUM, ZERO), over(P, N, summed), Update(Y, I, "add", SUM))
    asked = Update(Y, P, "add", SUM)
    assert not is_spread(Declare(SUM, ZERO), over(P, N, summed, asked))
    assert not is_spread(over(P, N, Declare(SUM, ZERO), summed, asked))
    assert not is_spread(Declare(SUM, ZERO), over(P, N, summed, Assign(SUM, ZERO)), Update(Y, I, "add", SUM))


@pytest.mark.parametrize(("entries", "pays"), [(0, True), (100, False), (150, False), (250, True)])
def test_segments_of_a_single_block_are_not_spread(entries: int, pays: bool) -> None:
    segment = For(P, Load(SEGMENTS, I), Load(SEGMENTS, plus(I, integer(1))), (block(4, 4),))
    assert is_spread(over(I, N, segment), entries=entries) is pays


def array(name: str, length: int) -> ArraySymbol:
    return ArraySymbol(name, ScalarType.INT64, length)


LEFT: dict[str, Statement] = {
    "too short for a vector": over(P, N, block(8, 2)),
    "too many for the registers": over(P, N, block(16, 8)),
    "a place that moves": over(P, N, block(4, 4, plus(R, P))),
    "not next to each other": over(P, N, block(4, 4, step=2)),
    "read in the loop": over(P, N, block(4, 4), Update(A, P, "add", Load(Y, P))),
    "a failure": over(P, N, block(4, 4), If(Binary("less", P, I), (Fail(0, P),))),
    "ends that move": over(P, Load(Y, I), block(4, 4)),
}


@pytest.mark.parametrize("name", LEFT)
def test_others_stay(name: str) -> None:
    assert not is_spread(LEFT[name])


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("storage", ["bcsr(r=4, c=4)", "bcsr(r=2, c=8)", "bcsr(r=1, c=4)", "bcsr(r=3, c=5)"])
def test_products_with_blocks_are_right(storage: str, backend: str) -> None:
    rng = np.random.default_rng(3)
    rows = np.where(rng.random((23, 31)) < 0.2, rng.standard_normal((23, 31)), 0.0)
    rows[8:16] = 0
    x = rng.standard_normal(31)
    operand = storel.tensor(rows, storage)
    for program, expected in (
        ("sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }", rows @ x),
        ("sum(<(i, j), a> in A, <j, v> in x) a * v", (rows @ x).sum()),
        ("sum(<(i, j), a> in A) { j -> a }", rows.sum(axis=0)),
    ):
        operands = {"A": operand, "x": x} if "in x" in program else {"A": operand}
        result = storel.run(f"CREATE TENSOR y AS {program}", backend=backend, threads=1, **operands)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(np.asarray(result), expected, atol=1e-12)
