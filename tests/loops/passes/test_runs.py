"""Entries of one key are worked on together exactly where that keeps what is at the key in registers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from strategies.loops import FLOAT64, INT32, INT64, N, check, index, integer, kernel, plus

import storel
from storel.errors import Cause
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Cast,
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
    Statement,
    Update,
    While,
)
from storel.loops.passes.runs import FEWEST, group
from storel.loops.verify import verify
from storel.loops.walk import walk
from storel.symbols import ArraySymbol

ROW, COLUMN = Buffer("row", INT32, Role.INDEX), Buffer("column", INT64, Role.INDEX)
VAL, Y = Buffer("val", FLOAT64), Buffer("y", FLOAT64)
J, K, P, R = index("j"), index("k"), index("p"), index("r")
WIDTH = integer(4)
KEY = Declare(K, Cast(INT64, Load(ROW, P)))
SORTED = ArraySymbol("row", INT32, 20 * FEWEST, ascending=True, distinct=20)
VALUE = Load(VAL, P)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right)


def grouped(*body: Statement, fact: ArraySymbol = SORTED, low: int = 0) -> Kernel:
    allocation = (Allocation(Y, 0, fill=0.0, is_output=True), times(N, WIDTH))
    loop = For(P, integer(low), N, body)
    made = group(
        kernel([ROW, COLUMN, VAL], [allocation], [loop], (Failure(Cause.KEY, "bad"),)), {"row": fact}
    )
    verify(made)
    return made


def added(place: Expression) -> Update:
    return Update(Y, place, "add", VALUE)


def lanes(place: Expression) -> For:
    return For(J, integer(0), WIDTH, (added(plus(times(place, WIDTH), J)),))


def lanes_into(total: Local) -> For:
    return For(J, integer(0), integer(2), (Assign(total, Binary("add", total, VALUE, Role.VALUE)),))


S = Local("s", FLOAT64)
SUM = Declare(S, Constant(0.0, FLOAT64))

TOGETHER: dict[str, tuple[Statement, ...]] = {
    "a place": (KEY, added(K)),
    "a place that the key tells": (KEY, added(plus(times(K, integer(3)), integer(1)))),
    "a row": (KEY, lanes(K)),
    "a row by another name": (KEY, Declare(R, K), lanes(R)),
    "under a condition": (KEY, If(Binary("less", Load(COLUMN, P), integer(2)), (added(K),))),
    "after a sum": (KEY, SUM, lanes_into(S), Update(Y, K, "add", S)),
    "beside another place": (KEY, added(K), added(Load(COLUMN, P))),
}

APART: dict[str, tuple[Statement, ...]] = {
    "another place": (KEY, added(Load(COLUMN, P))),
    "a place that the key tells in part": (KEY, added(plus(K, Load(COLUMN, P)))),
    "no key at all": (added(integer(0)),),
    "a scattered row": (KEY, For(J, integer(0), K, (added(plus(K, Load(COLUMN, J))),))),
    "a key that changes": (KEY, Assign(K, Cast(INT64, Load(COLUMN, P))), added(K)),
    "a place that changes": (KEY, Declare(R, K), Assign(R, Load(COLUMN, P)), added(R)),
    "a failure": (KEY, If(Binary("less", K, integer(0)), (Fail(0, K),)), added(K)),
    "a key of the next entry": (Declare(K, Cast(INT64, Load(ROW, plus(P, integer(1))))), added(K)),
}


@pytest.mark.parametrize("name", [*TOGETHER, *APART])
def test_loops_over_runs(name: str) -> None:
    made = grouped(*(TOGETHER | APART)[name])
    assert any(isinstance(each, While) for each in walk(made.compute.body)) == (name in TOGETHER)


@pytest.mark.parametrize(
    "fact",
    [
        replace(SORTED, ascending=False),
        replace(SORTED, distinct=21),
        replace(SORTED, distinct=None),
    ],
)
def test_only_keys_that_repeat_in_order(fact: ArraySymbol) -> None:
    made = grouped(KEY, added(K), fact=fact)
    assert not any(isinstance(each, While) for each in walk(made.compute.body))


@pytest.mark.parametrize("name", [name for name in TOGETHER if name != "beside another place"])
@pytest.mark.parametrize("low", [0, 3])
@pytest.mark.parametrize("keys", [[], [1] * 40, [0, 1, 2], [0] * 7 + [1] * 8 + [2] * 9 + [4] + [5] * 17])
def test_the_sums_are_the_same(name: str, low: int, keys: list[int]) -> None:
    count, rows = len(keys), np.array(keys, dtype=np.int32)
    given = {"row": rows, "column": np.arange(count) % 4, "val": np.arange(count) + 1.0}
    places = 3 * rows + 1 if "tells" in name else rows
    places = 4 * rows[:, None] + np.arange(4) if "row" in name else places
    is_met = (np.arange(count) >= low) & ((given["column"] < 2) | ("condition" not in name))
    want = np.zeros(4 * count)
    factor = 2 if "sum" in name else 1
    for place, value in zip(places[is_met], given["val"][is_met], strict=True):
        want[place] += factor * value
    check(grouped(*TOGETHER[name], low=low), {"n": count}, given, {"y": want})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_list_in_order_of_its_rows(backend: str, dtype: type, threads: int) -> None:
    rng = np.random.default_rng(0)
    matrix = scipy.sparse.random_array((60, 50), density=0.4, rng=rng).toarray() * 9
    matrix[[0, 7, 8, 59]] = 0
    matrix = matrix.astype(dtype)
    stored = storel.tensor(matrix, format="coo")
    others: dict[str, NDArray[np.generic]] = {
        "x": rng.integers(0, 9, 50).astype(dtype),
        "B": rng.integers(0, 9, (50, 16)).astype(dtype),
    }
    for program, want in (
        ("sum(<(i, j), a> in A) {i -> a * x(j)}", matrix @ others["x"]),
        ("sum(<(i, j), a> in A, <(j, k), b> in B) {(i, k) -> a * b}", matrix @ others["B"]),
        ("sum(<(i, j), a> in A) {i -> a}", matrix.sum(1)),
    ):
        given = {name: others[name] for name in others if name in program}
        kernel = storel.compile(
            f"CREATE TENSOR R AS {program}", backend=backend, threads=threads, A=stored, **given
        )
        result = kernel(A=stored, **given)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(result.to_numpy(), want, rtol=1e-5)
        assert kernel.source is not None and "while" in kernel.source
