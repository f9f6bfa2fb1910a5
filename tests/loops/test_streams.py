"""Keys that are looked up are asked for early where segments follow each other, and nowhere else."""

from __future__ import annotations

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
from storel.loops.printer import kernel_text
from storel.loops.streams import stream
from storel.loops.verify import verify
from storel.loops.walk import walk

POS, IDX = Buffer("pos", INT64, Role.INDEX), Buffer("idx", INT64, Role.INDEX)
X, VAL, Y = Buffer("x", FLOAT64), Buffer("val", FLOAT64), Buffer("y", FLOAT64)
I, J, K, P = index("i"), index("j"), index("k"), index("p")  # noqa: E741


def product(place: Expression) -> Update:
    return Update(Y, I, "add", Binary("multiply", Load(VAL, P), Load(X, place)))


def rows(*body: Statement, low: Expression | None = None) -> For:
    segment = For(P, low or Load(POS, I), Load(POS, plus(I, integer(1))), body)
    return For(I, integer(0), N, (segment,))


def streams(loop: Statement) -> list[tuple[str, ...]]:
    """Return the names of what each loop streams, the outermost first."""
    allocation = (Allocation(Y, 0, fill=0.0, is_output=True), N)
    made = stream(kernel([POS, IDX, X, VAL], [allocation], [loop]))
    verify(made)
    c_source.render(made)
    found = [each for each in walk(made.compute.body) if isinstance(each, For)]
    names = [tuple(buffer.name for buffer in each.streams) for each in found]
    assert all(f"streaming {', '.join(each)}" in kernel_text(made) for each in names if each)
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


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_rows_of_any_length(backend: Literal["c", "numba"]) -> None:
    """What is asked for block by block is computed for what is left of a row, too."""
    rows = np.arange(40)[:, None]
    matrix = np.where(np.arange(45) < rows, rows + np.arange(45) + 1, 0)
    x = np.arange(45) - 7
    script = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    y = storel.run(script, A=storel.tensor(matrix, "csr"), x=x, backend=backend)
    assert isinstance(y, storel.Tensor)
    np.testing.assert_array_equal(y.to_numpy(), matrix @ x)
