"""Which levels a result is assembled in, by the order of its keys and the format that is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.plans import ADD, csr_symbols, number, planned, real, row, upto, var

import storel
from storel.calculus.nodes import Symbol
from storel.optimizer.physical.destination import (
    Candidate,
    choose_destination,
    is_dense,
    separated,
)
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Enter,
    Gather,
    Guard,
    Levels,
    Loop,
    Place,
    Together,
    Unite,
)
from storel.scalars import ScalarType, index_type
from storel.storage.formats.signature import LevelKind

M, N = Symbol("m"), Symbol("n")
ONE = Accumulate(real(1.0))
DENSE, COMPRESSED = LevelKind.DENSE, LevelKind.COMPRESSED

ROWS = Loop(upto("m"), Enter(var(0), Loop(row(var(0)), Enter(var(0), ONE))))
REPEATED = Loop(upto("m"), Loop(upto("n"), Enter(var(2), Loop(row(var(2)), Enter(var(0), ONE)))))
COLUMNS = Loop(upto("m"), Loop(row(var(0)), Enter(var(0), Enter(var(2), ONE))))
BOTH = Loop(upto("m"), Enter(var(0), Together((Loop(row(var(0)), Enter(var(0), ONE)),) * 2)))
LISTED = Coordinates(2, ADD)
BITMAP, LIST = Gather(N, by_bitmap=True), Gather(N, by_bitmap=False)


def chosen(
    action: Action, *kinds: LevelKind, extents: tuple[int, int] = (3, 4), entries: float = 4.0
) -> Destination:
    candidate = Candidate(kinds) if kinds else None
    return choose_destination(action, candidate, ADD, (M, N), extents, entries, csr_symbols())


def levels(first: Place | Append, second: Place | Append | Gather) -> Levels:
    return Levels((first, second), ADD)


@pytest.mark.parametrize(
    ("action", "kinds", "destination"),
    [
        (ROWS, (), LISTED),
        (ROWS, (DENSE, DENSE), levels(Place(M, once=True), Place(N, once=True))),
        (BOTH, (DENSE, DENSE), levels(Place(M), Place(N))),
        (COLUMNS, (DENSE, DENSE), levels(Place(M), Place(N))),
        (ROWS, (DENSE, COMPRESSED), levels(Place(M), Append())),
        (ROWS, (COMPRESSED, COMPRESSED), levels(Append(), Append())),
        (ROWS, (COMPRESSED, DENSE), levels(Append(), Place(N, once=True))),
        (BOTH, (DENSE, COMPRESSED), levels(Place(M), BITMAP)),
        (BOTH, (COMPRESSED, COMPRESSED), levels(Append(), BITMAP)),
        (REPEATED, (DENSE, COMPRESSED), levels(Place(M, repeats=True), BITMAP)),
        (REPEATED, (COMPRESSED, COMPRESSED), levels(Append(repeats=True), BITMAP)),
        (COLUMNS, (DENSE, COMPRESSED), LISTED),
        (COLUMNS, (COMPRESSED, COMPRESSED), LISTED),
    ],
)
def test_candidates(action: Action, kinds: tuple[LevelKind, ...], destination: Destination) -> None:
    assert chosen(action, *kinds) == destination


@pytest.mark.parametrize(
    ("columns", "entries", "gather"),
    [(4096, 30.0, BITMAP), (4097, 30.0, LIST), (4097, 48.0, BITMAP), (10**6, 47.0, LIST)],
)
def test_wide_rows_are_gathered_by_how_full_they_are(columns: int, entries: float, gather: Gather) -> None:
    found = chosen(BOTH, DENSE, COMPRESSED, extents=(3, columns), entries=entries)
    assert found == levels(Place(M), gather)


def test_indices_are_as_small_as_the_extents_allow() -> None:
    assert index_type((3, 2**31 - 1)) is ScalarType.INT32
    assert index_type((3, 2**31)) is ScalarType.INT64
    assert is_dense(3.0, (2, 5)) and not is_dense(2.9, (2, 5))


def test_unions_are_separated_where_any_order_will_do() -> None:
    scan = Loop(row(number(0)), Enter(var(0), ONE))
    union, parts = Unite((scan, scan)), Together((scan, scan))
    assert separated(Guard(M, union)) == Guard(M, parts)
    assert separated(Bind(ADD, ONE, Loop(upto("m"), union))) == Bind(ADD, ONE, Loop(upto("m"), parts))
    assert separated(Enter(M, Together((union,)))) == Enter(M, Together((parts,)))


def test_a_candidate_in_another_order_compresses_what_has_few_entries() -> None:
    rows = Candidate((DENSE, COMPRESSED), (0, 1))
    assert rows.entered_in((0, 1), (10**9, 5), 4.0).kinds == (DENSE, COMPRESSED)
    assert rows.entered_in((1, 0), (10**9, 5), 4.0) == Candidate((DENSE, COMPRESSED), (1, 0))
    assert rows.entered_in((1, 0), (5, 10**9), 4.0) == Candidate((COMPRESSED, COMPRESSED), (1, 0))
    dense = Candidate((DENSE, DENSE), (1, 0))
    assert dense.entered_in((0, 1), (5, 10**9), 4.0) == Candidate((DENSE, DENSE), (0, 1))


MATRIX = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])

RESULTS = [
    ("A", "csr", "csr", (Place, Append)),
    ("A", "csr", "dcsr", (Append, Append)),
    ("A", "csr", "dense", (Place, Place)),
    ("A", "coo", "csr", (Place, Gather)),
    ("A", "csc", "csc", (Place, Append)),
    ("A", "csc", "csr", (Place, Append)),
    ("A", "csr", "csc", (Place, Append)),
    ("A", "csr", "levels(compressed, compressed; order=(1,0))", (Append, Append)),
    ("A", "csc", "levels(compressed, compressed; order=(1,0))", (Append, Append)),
    ("A", "csc", "levels(dense, dense; order=(1,0))", (Place, Place)),
    ("sum(<(i, j), a> in A) { (j, i) -> a }", "csr", "csc", (Place, Append)),
    ("sum(<(i, j), a> in A) { (j, i) -> a }", "coo", "csc", (Place, Gather)),
    ("sum(<(i, j), a> in A) { (i, j) -> a }", "csr", "coo", None),
]


@pytest.mark.parametrize(("text", "storage", "wanted", "kinds"), RESULTS)
def test_results_of_programs(
    text: str, storage: str, wanted: str, kinds: tuple[type[object], ...] | None
) -> None:
    made = planned(f"CREATE TENSOR r STORED AS {wanted} AS {text}", A=storel.tensor(MATRIX, storage))
    destination = made.compilation.plan.destination
    if kinds is not None:
        assert isinstance(destination, Levels)
        assert tuple(type(level) for level in destination.levels) == kinds
    answer = storel.run(f"CREATE TENSOR r STORED AS {wanted} AS {text}", A=storel.tensor(MATRIX, storage))
    assert isinstance(answer, storel.Tensor)
    transposed = "(j, i)" in text
    np.testing.assert_array_equal(answer.to_numpy(), MATRIX.T if transposed else MATRIX)
