"""Stored rows: each is gathered, sorted, appended without zeros, and scanned; one outside has no entries."""

from __future__ import annotations

import pytest
from strategies.lowered import FLOAT64, M, N, lowered
from strategies.plans import ADD, number, read, real, row, upto, var

from storel.calculus.nodes import Apply, Lookup, Term
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Enter,
    Entries,
    Levels,
    Loop,
    Place,
    RowsStore,
    Together,
)

ROWS = RowsStore(FLOAT64, "add", 0, (M, N))
A_VAL = Accumulate(read("A_val", var(1)))
ROW = Loop(row(var(1)), Enter(var(0), A_VAL))
NEGATED = Loop(row(var(1)), Enter(var(0), Accumulate(Apply("negate", (read("A_val", var(1)),)))))


def filled(*parts: Action) -> Action:
    return Loop(upto("m"), Enter(var(0), Together(parts)))


def copied(key: Term) -> Action:
    return Loop(Entries(Lookup(var(2), key)), Enter(var(1), Accumulate(var(0))))


def test_rows_are_added_up_and_scanned_ascending() -> None:
    action = Bind(ROWS, filled(ROW, ROW), Loop(upto("m"), Enter(var(0), copied(var(0)))))
    found = lowered(Levels((Place(M), Append()), ADD), action, M, N)
    assert found == {"pos_1": [0, 2, 2, 4], "idx_1": [1, 3, 0, 1], "val": [2.0, 4.0, 6.0, 8.0]}


def test_what_cancels_is_not_stored() -> None:
    action = Bind(ROWS, filled(ROW, NEGATED), Loop(upto("m"), Enter(var(0), copied(var(0)))))
    found = lowered(Levels((Place(M), Append()), ADD), action, M, N)
    assert found == {"pos_1": [0, 0, 0, 0], "idx_1": [], "val": []}


@pytest.mark.parametrize(("key", "entries"), [(-1, 0.0), (0, 2.0), (1, 0.0), (2, 2.0), (3, 0.0)])
def test_a_row_that_is_not_there_has_no_entries(key: int, entries: float) -> None:
    scanned = Loop(Entries(Lookup(var(0), number(key))), Accumulate(real(1.0)))
    assert lowered(Levels((), ADD), Bind(ROWS, filled(ROW), scanned)) == {"val": [entries]}


def test_rows_in_a_loop_begin_anew() -> None:
    scanned = Loop(Entries(Lookup(var(0), number(0))), Accumulate(var(0)))
    action = Loop(upto("m"), Enter(var(0), Bind(ROWS, filled(ROW), scanned)))
    assert lowered(Levels((Place(M),), ADD), action, M) == {"val": [3.0, 3.0, 3.0]}
