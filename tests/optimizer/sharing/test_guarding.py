"""What may fail leaves the loops that repeat it, and still fails where it did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.terms import Surroundings

import storel
from storel.calculus.interpret import evaluate
from storel.errors import StorelError
from storel.execution.run import measure
from storel.optimizer.sharing.guarding import guarded

SPARSE: Any = sp.random_array((40, 300), density=0.2, format="csr", rng=np.random.default_rng(3))
SPARSE.data[SPARSE.indptr[3] : SPARSE.indptr[4]] = 0
SPARSE.eliminate_zeros()
FULL = SPARSE.toarray()

EXPONENTIALS = "CREATE TENSOR E AS sum(<(i, j), a> in A) { (i, j) -> exp(a - max(<_, b> in A(i)) b) }"
PLACES = (
    "CREATE TENSOR E: int[40] AS sum(<i, _> in 0:40) if (any(<_, _> in A(i)) true) then "
    "{ i -> min(<j, a> in A(i)) if (a == max(<_, b> in A(i)) b) then j else 999 }"
)
TWICE = (
    "CREATE TENSOR E AS sum(<(i, j), a> in A) if (a > 0.5) then "
    "{ (i, j) -> a / (max(<_, b> in A(i)) b) + (max(<_, b> in A(i)) b) }"
)


def expected(program: str) -> Any:
    greatest = FULL.max(axis=1, keepdims=True)
    match program:
        case _ if program == EXPONENTIALS:
            return np.where(FULL != 0, np.exp(FULL - greatest), 0)
        case _ if program == PLACES:
            return np.where(greatest[:, 0] > 0, FULL.argmax(axis=1), 0)
        case _:
            return np.where(FULL > 0.5, FULL / np.where(greatest > 0, greatest, 1) + greatest, 0)


@pytest.mark.parametrize(
    ("storage", "backend"),
    [
        *((each, "c") for each in ("csr", "csc", "coo", "dense", "ell")),
        ("csr", "numba"),
        ("dense", "interpret"),
    ],
)
@pytest.mark.parametrize("program", [EXPONENTIALS, PLACES, TWICE])
def test_greatest_elements_of_rows(program: str, storage: str, backend: Any) -> None:
    tensor = storel.tensor(FULL, storage)
    found = storel.compile(program, backend=backend, A=tensor)(A=tensor)
    assert isinstance(found, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected(program))


@pytest.mark.parametrize("program", [EXPONENTIALS, PLACES, TWICE])
@pytest.mark.parametrize("storage", ["csr", "dense"])
def test_rows_are_gone_through_a_few_times(program: str, storage: str) -> None:
    kernel = storel.compile(program, A=storel.tensor(FULL, storage))
    work = measure(kernel.compilation, kernel.environment)[1]
    entries = SPARSE.nnz if storage == "csr" else FULL.size
    assert work.iterations < 10 * (entries + 40)


@pytest.mark.parametrize("program", [EXPONENTIALS, PLACES, TWICE])
def test_every_move_keeps_the_value(program: str) -> None:
    kernel = storel.compile(program, A=SPARSE)
    term, symbols = kernel.compilation.optimized.normalized, kernel.compilation.symbols
    around = Surroundings(
        dict(symbols), kernel.environment.physical_arrays() | {"A_m": 40, "A_n": 300, "A_nnz": SPARSE.nnz}
    )
    value = evaluate(term, around.symbols, around.values)
    moves = list(guarded(term, symbols))
    assert moves
    assert all(evaluate(moved, around.symbols, around.values) == value for moved in moves)


OF_ANOTHER = "CREATE TENSOR s AS sum(<i, v> in x) if (v > {}) then v * (max(<_, w> in y) w)"


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("limit", [0.5, 2.0])
def test_what_is_not_come_to_does_not_fail(limit: float, backend: Any) -> None:
    x, nothing = np.linspace(0.1, 1.0, 50), np.zeros(50)
    program = OF_ANOTHER.format(limit)
    if limit > 1:
        assert float(storel.run(program, backend=backend, x=x, y=nothing)) == 0.0  # pyright: ignore[reportArgumentType]
    else:
        with pytest.raises(StorelError, match="of no entries"):
            storel.run(program, backend=backend, x=x, y=nothing)
    found = storel.run(program, backend=backend, x=x, y=x)
    assert float(found) == pytest.approx(x[x > limit].sum())  # pyright: ignore[reportArgumentType]


def test_what_may_end_early_keeps_what_it_may_not_come_to() -> None:
    kernel = storel.compile(
        "CREATE TENSOR s AS any(<i, v> in x) (v == max(<_, w> in y) w)", x=FULL[0], y=FULL[1]
    )
    assert not list(guarded(kernel.compilation.optimized.normalized, kernel.compilation.symbols))
