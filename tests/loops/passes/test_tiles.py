"""Rows stay in registers exactly where nothing else touches them, and every backend gives the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from strategies.loops import FLOAT32, FLOAT64, INT64, N, check, index, integer, kernel, plus

from storel.errors import Cause
from storel.loops import interpret
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
    Role,
    Row,
    Sort,
    Statement,
    Store,
    Update,
)
from storel.loops.passes.simplify import simplify
from storel.loops.passes.tiles import LONGEST, tile
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.scalars import ScalarType

POS, IDX = Buffer("pos", INT64, Role.INDEX), Buffer("idx", INT64, Role.INDEX)
D, Y = Buffer("d", FLOAT64), Buffer("y", FLOAT64)
I, J, K, P = index("i"), index("j"), index("k"), index("p")  # noqa: E741
WIDTH = integer(6)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def row(of: Expression, width: Expression = WIDTH) -> Binary:
    return plus(times(of, width), J)


def lanes(*body: Statement, width: Expression = WIDTH) -> For:
    return For(J, integer(0), width, body)


def segments(*body: Statement) -> For:
    return For(P, Load(POS, I), Load(POS, plus(I, integer(1))), body)


def rows(*body: Statement) -> For:
    return For(I, integer(0), N, body)


def added(operator: str = "add", of: ScalarType = FLOAT64, width: Expression = WIDTH) -> For:
    """y[i, :] += d[idx[p], :]"""
    table, result = replace(D, type=of), replace(Y, type=of)
    looked_up = Load(table, row(Load(IDX, P), width))
    return lanes(Update(result, row(I, width), operator, looked_up), width=width)


def tiled(*body: Statement, of: ScalarType = FLOAT64, fill: float = 0, width: Expression = WIDTH) -> Kernel:
    result = Allocation(replace(Y, type=of), 0, fill=of.dtype.type(fill).item(), is_output=True)
    inputs = [POS, IDX, replace(D, type=of)]
    plain = simplify(kernel(inputs, [(result, times(N, width))], list(body), (Failure(Cause.KEY, "full"),)))
    made = tile(plain)
    verify(made)
    return made


def tiles(made: Kernel) -> list[Row]:
    loops = [each for each in walk(made.compute.body) if isinstance(each, For)]
    return [each for loop in loops for each in loop.tiles]


def data(width: int, of: ScalarType) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(width)
    table = rng.integers(-9, 9, 5 * width).astype(of.dtype)
    return {"pos": np.array([0, 2, 2, 7]), "idx": np.array([4, 0, 1, 1, 3, 4, 2]), "d": table}


def test_a_row_is_held_over_the_segment() -> None:
    made = tiled(rows(segments(added())))
    (outer,) = made.compute.body
    assert isinstance(outer, For) and outer.tiles == ()
    (inner,) = outer.body
    assert isinstance(inner, For)
    assert inner.tiles == (Row(Y, times(I, WIDTH), 6),)
    (innermost,) = inner.body
    assert isinstance(innermost, For) and innermost.in_lanes


NEXT_ROW = plus(times(plus(I, integer(1)), WIDTH), K)
ELSEWHERE = For(K, integer(0), WIDTH, (Update(Y, NEXT_ROW, "add", Constant(1.0, FLOAT64)),))
TOTAL = Local("total", FLOAT64)
ENOUGH = Binary("less", Load(IDX, P), integer(3))
IS_ROW = Binary("less", I, Load(POS, I))
NEXT, NEXT_KEY = index("next"), plus(I, integer(1))
IS_NEXT = Binary("less", NEXT, Load(IDX, P))
KEPT: list[tuple[str, Statement]] = [
    ("its place is looked up in the loop", segments(lanes(Update(Y, row(Load(IDX, P)), "add", TOTAL)))),
    ("another row is written", segments(added(), ELSEWHERE)),
    ("an element is read", segments(added(), Assign(TOTAL, Load(Y, I)))),
    ("it is asked whether there is the row", segments(If(IS_ROW, (added(),)))),
    ("it is asked by what is known of it", segments(Declare(NEXT, NEXT_KEY), If(IS_NEXT, (added(),)))),
    ("it may fail before it", segments(If(ENOUGH, (Fail(0, I),)), added())),
    ("the width is not known", segments(added(width=N))),
    ("the row is long", segments(added(width=integer(LONGEST + 1)))),
    ("the sum runs on", segments(lanes(Update(Y, row(I), "add", TOTAL), Assign(TOTAL, Load(D, J))))),
    ("the row is read in steps of two", segments(lanes(Update(Y, row(I), "add", Load(D, plus(J, J)))))),
    ("the row is read shifted", segments(lanes(Update(Y, row(I), "add", Load(Y, plus(row(I), integer(1))))))),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in KEPT])
def test_what_is_not_held(body: Statement) -> None:
    start = Declare(TOTAL, Constant(0.5, FLOAT64))
    wide = Binary("add", N, integer(LONGEST + 1))
    assert tiles(tiled(start, rows(body), width=wide)) == []


def test_a_row_is_held_where_some_entries_are_left_out() -> None:
    """What is asked of each entry cannot be what keeps the row in bounds."""
    made = tiled(rows(segments(If(ENOUGH, (added(),)))))
    assert len(tiles(made)) == 1
    inputs = data(6, FLOAT64)
    table, pos = inputs["d"].reshape(5, 6)[inputs["idx"]] * (inputs["idx"] < 3)[:, None], inputs["pos"]
    sums = [table[low:high].sum(0) for low, high in pairwise(pos)]
    check(made, {"n": 3}, inputs, {"y": np.concatenate(sums)})


def test_a_sorted_buffer_is_not_held() -> None:
    assert len(tiles(tiled(rows(segments(added(of=INT64))), of=INT64))) == 1
    sorts = segments(added(of=INT64), Sort(replace(Y, type=INT64), integer(0), N))
    assert tiles(tiled(rows(sorts), of=INT64)) == []


def test_a_row_that_several_loops_use_is_held_once() -> None:
    """The outer loop clears, fills and reads a row of its own: two tiles, none inside of them."""
    scratch, column = Buffer("scratch", FLOAT64), index("c")
    clear = For(column, integer(0), WIDTH, (Store(scratch, column, Constant(0.0, FLOAT64)),))
    fill = segments(lanes(Update(scratch, J, "add", Load(D, row(Load(IDX, P))))))
    use = For(K, integer(0), WIDTH, (Update(Y, K, "add", Load(scratch, K)),))
    allocations: list[tuple[Allocation, Expression]] = [
        (Allocation(Y, 0, fill=0.0, is_output=True), WIDTH),
        (Allocation(scratch, 1), WIDTH),
    ]
    made = tile(kernel([POS, IDX, D], allocations, [rows(clear, fill, use)]))
    verify(made)
    assert tiles(made) == [Row(scratch, integer(0), 6), Row(Y, integer(0), 6)]
    inputs = data(6, FLOAT64)
    expected = inputs["d"].reshape(5, 6)[inputs["idx"]].sum(0)
    check(made, {"n": 3}, inputs, {"y": expected})


@pytest.mark.parametrize("of", [FLOAT64, FLOAT32, INT64, ScalarType.INT32])
@pytest.mark.parametrize("width", [2, 3, 8, 21, 64, LONGEST])
def test_sums_of_rows(width: int, of: ScalarType) -> None:
    """A row without entries stays as it is, at every width and type."""
    made = tiled(rows(segments(added(of=of, width=integer(width)))), of=of, fill=1, width=integer(width))
    assert len(tiles(made)) == 1
    inputs = data(width, of)
    table, pos = inputs["d"].reshape(5, width)[inputs["idx"]], inputs["pos"]
    sums = [1 + table[low:high].sum(0) for low, high in pairwise(pos)]
    check(made, {"n": 3}, inputs, {"y": np.concatenate(sums)})


def test_minima_of_rows() -> None:
    made = tiled(rows(segments(added("minimum"))), fill=np.inf)
    assert len(tiles(made)) == 1
    inputs = data(6, FLOAT64)
    table, pos = inputs["d"].reshape(5, 6)[inputs["idx"]], inputs["pos"]
    minima = [table[a:b].min(0, initial=np.inf) for a, b in pairwise(pos)]
    check(made, {"n": 3}, inputs, {"y": np.concatenate(minima)})


def test_the_work_is_the_same() -> None:
    made = tiled(rows(segments(added())))
    plain = kernel([POS, IDX, D], [(made.allocations[0], times(N, WIDTH))], [rows(segments(added()))])
    inputs = data(6, FLOAT64)
    assert interpret.run(made, {"n": 3}, inputs)[1] == interpret.run(plain, {"n": 3}, inputs)[1]
