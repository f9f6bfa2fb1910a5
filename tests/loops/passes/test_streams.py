"""What is read one element after the other is asked for early where that pays, and nowhere else."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np
import pytest
from strategies.loops import FLOAT64, INT64, N, index, integer, kernel, plus

import storel
from storel.codegen import c_source
from storel.loops.nodes import (
    Allocation,
    Binary,
    Buffer,
    Declare,
    Expression,
    For,
    If,
    Load,
    Role,
    Statement,
    Update,
)
from storel.loops.passes.reorder import reorder
from storel.loops.passes.streams import stream
from storel.loops.printer import kernel_text
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.symbols import ArraySymbol

POS, IDX = Buffer("pos", INT64, Role.INDEX), Buffer("idx", INT64, Role.INDEX)
X, VAL, Y = Buffer("x", FLOAT64), Buffer("val", FLOAT64), Buffer("y", FLOAT64)
I, J, K, P = index("i"), index("j"), index("k"), index("p")  # noqa: E741


def product(place: Expression) -> Update:
    return Update(Y, I, "add", Binary("multiply", Load(VAL, P), Load(X, place)))


def rows(*body: Statement, low: Expression | None = None) -> For:
    segment = For(P, low or Load(POS, I), Load(POS, plus(I, integer(1))), body)
    return For(I, integer(0), N, (segment,))


def streams(loop: Statement, length: int = 0) -> list[tuple[str, ...]]:
    """Return the names of what each loop streams, the outermost first; ``val`` has ``length`` elements.

    Blocks ask for them, and so does what is left after blocks; long sums come in lanes, which ask for
    four cache lines.
    """
    allocation = (Allocation(Y, 0, fill=0.0, is_output=True), N)
    known = {"val": ArraySymbol("val", FLOAT64, length)}
    made = stream(reorder(kernel([POS, IDX, X, VAL], [allocation], [loop])), known)
    verify(made)
    source = c_source.render(made)
    found = [each for each in walk(made.compute.body) if isinstance(each, For)]
    names = [tuple(load.buffer.name for load in each.streams) for each in found]
    assert all(f"streaming {each[0]}[" in kernel_text(made) for each in names if each)
    sums = [each for each in found if each.streams and each.reductions]
    in_lanes = sum(len(each.streams) for each in sums)
    assert source.count("__builtin_prefetch(") == 2 * (sum(map(len, names)) - in_lanes) + 4 * in_lanes
    assert len(re.findall(r"_lanes_of_\w+\[32\];", source)) == len(sums)
    return names


KEY = Declare(K, Load(IDX, P))


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        (rows(product(Load(IDX, P))), [(), ("val", "idx")]),
        (rows(KEY, product(K)), [(), ("idx", "val")]),
        (rows(KEY, If(Binary("less", K, N), (product(K),))), [(), ("idx", "val")]),
        (rows(KEY, product(P)), [(), ()]),
        (rows(KEY, product(K), low=Load(IDX, I)), [(), ()]),
        (rows(KEY, For(J, integer(0), N, (product(K),))), [(), (), ()]),
        (For(P, integer(0), N, (KEY, Update(Y, P, "add", Load(X, K)))), [()]),
    ],
    ids=["read", "declared", "guarded", "in order", "no segments", "around a loop", "one list"],
)
def test_streams(loop: Statement, found: list[tuple[str, ...]]) -> None:
    assert streams(loop) == found


LARGE = 1 << 20


def dense(place: Expression, count: Expression = N) -> For:
    """Return the sums of the products of ``val`` at a place for (i, j) with x(j)."""
    product = Binary("multiply", Load(VAL, place), Load(X, J))
    return For(I, integer(0), N, (For(J, integer(0), count, (Update(Y, I, "add", product),)),))


ROW = Binary("multiply", I, N)


@pytest.mark.parametrize(
    ("loop", "length", "found"),
    [
        (dense(plus(ROW, J)), LARGE, [(), ("val",)]),
        (dense(plus(ROW, J)), LARGE // 16, [(), ()]),
        (dense(plus(ROW, Binary("multiply", J, N))), LARGE, [(), ()]),
        (dense(plus(ROW, J), integer(4)), LARGE, [(), ()]),
        (dense(plus(ROW, J), integer(100)), LARGE, [(), ()]),
        (dense(plus(ROW, J), integer(200)), LARGE, [(), ("val",)]),
    ],
    ids=["large", "small", "a column", "a very short row", "a short row", "a longer row"],
)
def test_streams_of_sums(loop: Statement, length: int, found: list[tuple[str, ...]]) -> None:
    assert streams(loop, length) == found


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("columns", [1, 127, 128, 129, 160, 191, 700])
def test_sums_of_any_length(columns: int, dtype: str) -> None:
    """What vector code adds up block by block is added up for what is left of a row, too."""
    rows = LARGE // columns
    matrix = (np.arange(rows * columns) % 17 - 5).reshape(rows, columns).astype(dtype)
    x = (np.arange(columns) % 5 - 1).astype(dtype)
    script = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    y = storel.run(script, A=matrix, x=x, backend="c")
    assert isinstance(y, storel.Tensor)
    np.testing.assert_array_equal(y.to_numpy(), matrix @ x)


@pytest.mark.parametrize("floating_point", ["reassociate", "strict"])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_rows_of_any_length(
    backend: Literal["c", "numba"], floating_point: Literal["reassociate", "strict"]
) -> None:
    """What is asked for and added up block by block is computed for what is left of a row, too."""
    rows = np.arange(40)[:, None]
    matrix = np.where(np.arange(45) < rows, rows + np.arange(45) + 1.0, 0.0)
    x = np.arange(45) - 7.0
    script = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    operands = {"A": storel.tensor(matrix, "csr"), "x": x}
    y = storel.run(script, backend=backend, floating_point=floating_point, **operands)
    assert isinstance(y, storel.Tensor)
    np.testing.assert_array_equal(y.to_numpy(), matrix @ x)
