"""Which rows of a dense result are cleared where they are filled, and that nothing else is left as it was."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import storel
from storel.calculus.nodes import Add, Literal, Lookup, Symbol, Term, Variable
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Guard,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    ScalarStore,
    Together,
)
from storel.plan.partition import LOW
from storel.plan.phases import phases
from storel.plan.sweep import LARGEST_ROW, MOST_ROWS, swept
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol

N, M, C, HUGE = Symbol("n"), Symbol("m"), Symbol("c"), Symbol("huge")
SYMBOLS = {
    "n": SizeSymbol("n", 9),
    "m": SizeSymbol("m", 4),
    "huge": SizeSymbol("huge", LARGEST_ROW // 8 + 1),
    "many": SizeSymbol("many", MOST_ROWS * 10 + 1),
    "one": ArraySymbol("one", ScalarType.INT32, 5, 0, 8, increasing=True),
    "other": ArraySymbol("other", ScalarType.INT32, 5, 0, 8, increasing=True),
    "c": ParameterSymbol("c", ScalarType.FLOAT64),
}
SUM = ScalarStore(ScalarType.FLOAT64, "add", 0.0)
ONE = Accumulate(C)
T = Variable


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


def loop(body: Action, high: Term = N, low: Term | None = None) -> Loop:
    return Loop(Positions(low or number(0), high), body)


def own(body: Action = ONE, high: Term = N) -> Loop:
    return loop(Enter(T(0), body), high)


def places(*extents: Term, leaf: ScalarStore = SUM) -> Levels:
    return Levels(tuple(map(Place, extents)), leaf)


INNER = loop(Enter(Lookup(Symbol("index"), T(0)), ONE), M)

CASES: dict[str, tuple[Destination, Action, int]] = {
    "each place": (places(N), own(), 1),
    "each place of a matrix": (places(N, M), own(own(high=M)), 2),
    "each row": (places(N, M), own(INNER), 1),
    "rows of rows": (places(N, M, N), own(own(INNER, high=M)), 2),
    "two in a row": (places(N, M), own(Together((INNER, INNER))), 1),
    "by the other variable": (places(N), loop(Enter(T(1), ONE)), 1),
    "under a scalar": (places(N), Bind(SUM, ONE, loop(Bind(SUM, ONE, Enter(T(1), ONE)))), 1),
    "another variable": (places(N, M), own(loop(Enter(T(2), ONE), M)), 1),
    "another place": (places(N), loop(Enter(Add(T(0), number(1)), ONE)), 0),
    "not all places": (places(N), own(high=M), 0),
    "not from the first": (places(N), loop(Enter(T(0), ONE), low=number(1)), 0),
    "a part": (places(N), loop(Enter(T(0), ONE), low=LOW), 0),
    "where a condition holds": (places(N), loop(Guard(C, Enter(T(0), ONE))), 0),
    "several times": (places(N), loop(loop(Enter(T(2), ONE), M)), 0),
    "one after the other": (places(N), Together((own(), own())), 0),
    "rows beyond the cache": (places(N, HUGE), own(loop(Enter(number(3), ONE), M)), 0),
    "a huge matrix, place by place": (places(N, HUGE), own(own(high=HUGE)), 2),
    "rows of unknown length": (places(N, Symbol("unknown")), own(INNER), 0),
    "no zero": (places(N, leaf=ScalarStore(ScalarType.FLOAT64, "maximum", None)), own(), 0),
    "a sparse result": (Levels((Place(N), Append()), SUM), own(own(high=M)), 0),
    "a list": (Coordinates(1, SUM), own(), 0),
    "a number": (places(), ONE, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_levels_whose_places_are_entered_in_turn(name: str) -> None:
    destination, action, count = CASES[name]
    assert swept(Plan(destination, action), SYMBOLS) == count


def listed(name: str, body: Action = ONE) -> Loop:
    return Loop(Elements(name, number(0), number(5)), Enter(T(0), body))


ROW = loop(Enter(T(0), ONE), M)
ROWS = Together((listed("one", ROW), listed("other", ROW)))
PLACES = Together((listed("one"), listed("other")))

IN_BLOCKS: dict[str, tuple[Destination, Action, int]] = {
    "rows of a matrix": (places(N, M), ROWS, LARGEST_ROW // (4 * 8)),
    "a vector": (places(N), PLACES, LARGEST_ROW // 8),
    "rows beyond the cache": (places(N, HUGE), ROWS, 0),
    "rows of unknown length": (places(N, Symbol("unknown")), ROWS, 0),
    "few of many rows": (places(Symbol("many"), M), ROWS, 0),
    "all keys, again and again": (places(N), Together((own(), own())), 0),
    "one list": (places(N, M), listed("one", ROW), 0),
    "a list beside all keys": (places(N), Together((own(), listed("one"))), 0),
    "no zero": (places(N, leaf=ScalarStore(ScalarType.FLOAT64, "maximum", None)), PLACES, 0),
}


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_keys_for_which_all_lists_are_gone_through_before_the_next_ones(name: str) -> None:
    destination, action, count = IN_BLOCKS[name]
    first, *others = phases(Plan(destination, action), SYMBOLS, reorders=True)
    assert first.block == count
    assert not any(phase.block for phase in others)


Matrix = NDArray[np.float64]

PROGRAMS: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    "S + B": lambda s, b: s + b,
    "sum(<(i, k), a> in S, <(k, j), b> in B) {(i, j) -> a * b}": lambda s, b: s @ b,
    "sum(<(i, j), a> in S) {(j, i) -> a * B(i, j)}": lambda s, b: (s * b).T,
    "B + sum(<(i, k), a> in S, <(k, j), b> in B) {(i, j) -> a * b}": lambda s, b: b + s @ b,
}


@pytest.mark.parametrize(
    ("form", "backend", "threads"),
    [
        *product(["dense", "csr", "csc"], ["c"], [1, 2]),
        *product(["dense", "csc"], ["numba"], [2]),
        *product(["csr", "csc"], ["interpret"], [1]),
    ],
)
@pytest.mark.parametrize("program", PROGRAMS)
def test_memory_that_is_used_again_shows_nothing_of_what_it_held(
    program: str, form: str, backend: str, threads: int
) -> None:
    size = 30 if backend == "interpret" else 800  # large enough for memory to be kept
    rng = np.random.default_rng(0)
    sparse = scipy.sparse.random_array((size, size), density=0.01, rng=rng).toarray()
    sparse[size // 4 : size // 2] = 0
    dense = rng.random((size, size))
    given: dict[str, Any] = {"S": storel.tensor(sparse, format=form), "B": storel.tensor(dense)}
    kernel = storel.compile(
        f"CREATE TENSOR R STORED AS dense AS {program}", backend=backend, threads=threads, **given
    )
    want = PROGRAMS[program](sparse, dense)
    for _ in range(3):
        tensor = kernel(**given)
        assert isinstance(tensor, storel.Tensor)
        result = tensor.arrays["val"]
        del tensor
        np.testing.assert_allclose(result.reshape(size, size), want, atol=1e-12)
        result.flags.writeable = True
        result.fill(np.nan)
        del result
