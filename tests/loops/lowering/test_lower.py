"""Small plans, lowered: the right buffers, by the loop IR's interpreter and in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.lowered import (
    BOOL,
    DATA,
    FLOAT32,
    FLOAT64,
    IDX,
    INT32,
    INT64,
    VAL,
    M,
    N,
    Outputs,
    array,
    lowered,
    outputs_of,
)
from strategies.plans import ADD, csr_symbols, number, read, real, row, upto, var

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term
from storel.codegen import c_source
from storel.errors import EvaluationError, MemoryLimitError
from storel.loops import interpret
from storel.loops.lowering.lower import lower
from storel.loops.lowering.workspace import SHORT
from storel.loops.passes.simplify import simplify
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    Intersection,
    Levels,
    ListStore,
    Loop,
    Matches,
    Place,
    Plan,
    Positions,
    ScalarStore,
    TableStore,
    Together,
    Unite,
)
from storel.plan.phases import Phase
from storel.runtime.kernel import load
from storel.scalars import ScalarType
from storel.symbols import SizeSymbol

A_VAL = Accumulate(read("A_val", var(1)))
ROW = Loop(row(var(0)), Enter(var(0), A_VAL))
ROWS = Loop(upto("m"), Enter(var(0), ROW))
COLUMNS_FIRST = Loop(upto("m"), Loop(row(var(0)), Enter(var(0), Enter(var(2), A_VAL))))
BACKWARDS = Loop(upto("m"), Enter(var(0), Together((ROW, ROW))))
DOUBLED = {"pos_1": [0, 2, 2, 4], "idx_1": [1, 3, 0, 1], "val": [2.0, 4.0, 6.0, 8.0]}


@pytest.mark.parametrize(
    ("levels", "action", "expected"),
    [
        ((Place(M), Place(N)), ROWS, {"val": [0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0]}),
        ((Place(M), Place(N, once=True)), ROWS, {"val": [0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0]}),
        ((Place(M), Append()), ROWS,
         {"pos_1": [0, 2, 2, 4], "idx_1": [1, 3, 0, 1], "val": [1, 2, 3, 4]}),
        ((Append(), Append()), ROWS,
         {"idx_0": [0, 2], "pos_1": [0, 2, 4], "idx_1": [1, 3, 0, 1], "val": [1, 2, 3, 4]}),
        ((Append(), Place(N)), ROWS, {"idx_0": [0, 1, 2], "val": [0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0]}),
        ((Place(N), Place(M)), COLUMNS_FIRST, {"val": [0, 0, 3, 1, 0, 4, 0, 0, 0, 2, 0, 0]}),
        ((Place(M), Gather(N, by_bitmap=True)), BACKWARDS, DOUBLED),
        ((Place(M), Gather(N, by_bitmap=False)), BACKWARDS, DOUBLED),
        ((Append(), Gather(N, by_bitmap=False)), BACKWARDS, DOUBLED | {"idx_0": [0, 2], "pos_1": [0, 2, 4]}),
    ],
)  # fmt: skip
def test_matrices(levels: tuple[Any, ...], action: Action, expected: Outputs) -> None:
    extents = (N, M) if action is COLUMNS_FIRST else (M, N)
    found = lowered(Levels(levels, ADD), action, *extents)
    assert {name: found[name] for name in expected} == expected
    assert found.keys() == expected.keys()


def test_coordinates_are_listed_as_they_come() -> None:
    found = lowered(Coordinates(2, ADD), COLUMNS_FIRST, N, M)
    assert found == {"coordinate_0": [1, 3, 0, 1], "coordinate_1": [0, 0, 2, 2], "val": [1, 2, 3, 4]}


@pytest.mark.parametrize("levels", [(Place(M), Append()), (Append(), Append())])
def test_no_rows_at_all(levels: tuple[Any, ...]) -> None:
    data = DATA | {"A_pos": np.zeros(4, np.int64), "A_idx": IDX[:0], "A_val": VAL[:0]}
    found = outputs_of(Levels(levels, ADD), ROWS, csr_symbols(entries=0), data, (M, N))
    assert found["val"] == []
    assert found["pos_1"] == ([0, 0, 0, 0] if isinstance(levels[0], Place) else [0])


def test_zeros_are_dropped_where_levels_append() -> None:
    product = Accumulate(Multiply(read("A_val", var(1)), read("x", var(0))))
    action = Loop(upto("m"), Enter(var(0), Loop(row(var(0)), Enter(var(0), product))))
    found = lowered(Levels((Append(), Append()), ADD), action, M, N)
    assert found == {"idx_0": [0, 2], "pos_1": [0, 1, 2], "idx_1": [3, 0], "val": [8.0, 3.0]}
    listed = lowered(Coordinates(2, ADD), action, M, N)
    assert listed == {"coordinate_0": [0, 2], "coordinate_1": [3, 0], "val": [8.0, 3.0]}


@pytest.mark.parametrize(
    ("value", "is_under_a_branch"),
    [
        (Loop(row(var(0)), A_VAL), True),
        (Loop(row(var(0)), Guard(Apply("less", (number(0), var(0))), A_VAL)), False),
        (Accumulate(read("x", var(0))), False),
    ],
)
def test_sums_that_are_hardly_ever_zero_are_appended_under_a_branch(
    value: Action, is_under_a_branch: bool
) -> None:
    """The place of the next entry does not wait for a sum; other values may be zero at any time."""
    plan = Plan(Levels((Append(),), ADD), Loop(upto("m"), Enter(var(0), value)))
    text = c_source.render(lower(Phase(plan), (M,), csr_symbols(), is_unguarded=True))
    assert ("!= 0.0) {" in text) is is_under_a_branch
    assert lowered(plan.destination, plan.action, M)["idx_0"] == [0, 2]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ((Append(repeats=True), Append()),
         {"idx_0": [0, 2], "pos_1": [0, 2, 3], "idx_1": [1, 3, 0], "val": [1, 2, 3]}),
        ((Place(M, repeats=True), Append()), {"pos_1": [0, 2, 2, 3], "idx_1": [1, 3, 0], "val": [1, 2, 3]}),
        ((Place(M, repeats=True), Gather(N, by_bitmap=True)),
         {"pos_1": [0, 2, 2, 3], "idx_1": [1, 3, 0], "val": [1, 2, 3]}),
        ((Append(repeats=True), Gather(N, by_bitmap=False)),
         {"idx_0": [0, 2], "pos_1": [0, 2, 3], "idx_1": [1, 3, 0], "val": [1, 2, 3]}),
    ],
)  # fmt: skip
def test_coordinates_with_repeated_keys_into_rows(levels: tuple[Any, ...], expected: Outputs) -> None:
    data = {"r": np.array([0, 0, 2]), "c": np.array([1, 3, 0]), "v": np.array([1.0, 2.0, 3.0])}
    symbols = {
        "m": SizeSymbol("m", 3),
        "n": SizeSymbol("n", 4),
        "nnz": SizeSymbol("nnz", 3),
        "r": array("r", data["r"], ascending=True, group=("r", "c")),
        "c": array("c", data["c"]),
        "v": array("v", data["v"], finite=True),
    }
    scan = Elements("r", number(0), Symbol("nnz"))
    action = Loop(scan, Enter(var(0), Enter(read("c", var(1)), Accumulate(read("v", var(1))))))
    assert outputs_of(Levels(levels, ADD), action, symbols, data, (M, N)) == expected


@pytest.mark.parametrize("count", [2, 3])
def test_unions_merge_ascending_elements(count: int) -> None:
    branches = tuple(
        Loop(row(number(each)), Enter(var(0), Accumulate(read("A_val", var(1)))))
        for each in (0, 2, 0)[:count]
    )
    found = lowered(Levels((Append(),), ADD), Unite(branches), N)
    first = 1.0 * (count - 1)
    assert found == {"idx_0": [0, 1, 3], "val": [3.0, first + 4.0, 2 * first]}


def test_a_union_with_an_empty_branch() -> None:
    branches = tuple(Loop(row(number(each)), Enter(var(0), A_VAL)) for each in (1, 0))
    assert lowered(Levels((Append(),), ADD), Unite(branches), N) == {"idx_0": [1, 3], "val": [1.0, 2.0]}


@pytest.mark.parametrize("by_bitmap", [True, False])
def test_gathering_wide_rows(by_bitmap: bool) -> None:
    keys = np.array([4999, 0, 64, 4999, 4096, 63])
    symbols = {
        "n": SizeSymbol("n", 5000),
        "k": array("k", keys),
        "w": array("w", np.ones(6)),
    }
    action = Loop(Elements("k", number(0), number(6)), Enter(var(0), Accumulate(read("w", var(1)))))
    destination = Levels((Gather(N, by_bitmap=by_bitmap),), ADD)
    found = outputs_of(destination, action, symbols, {"k": keys, "w": np.ones(6)}, (N,))
    assert found == {"idx_0": [0, 63, 64, 4096, 4999], "val": [1.0, 1.0, 1.0, 1.0, 2.0]}


@pytest.mark.parametrize("extent", [SHORT - 1, SHORT, SHORT + 1])
def test_gathering_short_rows(extent: int) -> None:
    """A short row needs no marks; its full rows, empty ones and sums that cancel come out the same."""
    keys = np.array([extent - 1, 0, 5, 5, *range(extent), *range(extent)])
    values = np.array([1.0, 2.0, 3.0, -3.0, *range(1, extent + 1), *range(-1, -extent - 1, -1)])
    starts = np.array([0, 4, 4, 4 + extent, 4 + 2 * extent])
    symbols = {
        "m": SizeSymbol("m", 4),
        "n": SizeSymbol("n", extent),
        "s": array("s", starts),
        "k": array("k", keys),
        "w": array("w", values),
    }
    segment = Elements("k", read("s", var(0)), read("s", Add(var(0), number(1))))
    action = Loop(upto("m"), Enter(var(0), Loop(segment, Enter(var(0), Accumulate(read("w", var(1)))))))
    destination = Levels((Append(), Gather(N, by_bitmap=True)), ADD)
    found = outputs_of(destination, action, symbols, {"s": starts, "k": keys, "w": values}, (M, N))
    full = list(range(extent))
    assert found == {
        "idx_0": [0, 2, 3],
        "pos_1": [0, 2, 2 + extent, 2 + 2 * extent],
        "idx_1": [0, extent - 1, *full, *full],
        "val": [2.0, 1.0, *(1.0 + k for k in full), *(-1.0 - k for k in full)],
    }


SUM = Levels((), ADD)
IS_TWO = Matches("A_idx", number(0), number(2), number(3), is_unique=True)


@pytest.mark.parametrize(
    ("action", "value"),
    [
        (Together(()), 0.0),
        (Loop(upto("n"), Accumulate(read("x", var(0)))), 8.0),
        (Loop(upto("n"), Guard(read("x", var(0)), Accumulate(real(1.0)))), 3.0),
        (Loop(IS_TWO, Accumulate(read("A_val", var(0)))), 2.0),
        (Loop(Matches("A_idx", number(0), number(2), number(2), is_unique=True), Accumulate(real(1.0))), 0.0),
        (Loop(Intersection(row(number(0)), row(number(2))),
              Accumulate(Multiply(read("A_val", var(2)), read("A_val", var(1))))), 4.0),
        (Loop(Intersection(row(number(0)), row(number(1))), Accumulate(real(1.0))), 0.0),
        (Bind(ADD, Loop(upto("n"), Accumulate(read("x", var(0)))),
              Accumulate(Multiply(var(0), var(0)))), 64.0),
        (Bind(ScalarStore(FLOAT64, "maximum", None), Loop(upto("n"), Accumulate(read("x", var(0)))),
              Accumulate(var(0))), 4.0),
        (Bind(ScalarStore(BOOL, "and", True), Loop(upto("n"), Accumulate(read("x", var(0)))),
              Accumulate(var(0))), 0.0),
    ],
)  # fmt: skip
def test_scalars(action: Action, value: float) -> None:
    assert lowered(SUM, action) == {"val": [value]}


ASCENDING = (0, 0, 3, 3, 3, 4, 9, 9, 12)


@pytest.mark.parametrize("is_unique", [True, False])
@pytest.mark.parametrize("again", [1, 3])
@pytest.mark.parametrize(("first", "last"), [(0, 6), (1, 4), (2, 2)])
def test_searches_for_ascending_keys_find_each_of_them(
    is_unique: bool, again: int, first: int, last: int
) -> None:
    """In any part of a list, at keys that it has or not, each asked for once or several times."""
    elements = np.array(sorted(set(ASCENDING)) if is_unique else ASCENDING, np.int32)
    data = {"a": elements, "v": 2.0 ** np.arange(len(elements))}
    symbols = {"a": array("a", elements, ascending=True), "v": array("v", data["v"])}
    last = min(last, len(elements))
    source = Matches("a", number(first), number(last), var(2), is_unique=is_unique)
    found = Loop(Positions(number(0), number(again)), Loop(source, Accumulate(read("v", var(0)))))
    every = Loop(Positions(number(0), number(14)), found)
    expected = again * float(data["v"][first:last].sum())
    assert outputs_of(SUM, every, symbols, data, ()) == {"val": [expected]}
    by_element = Loop(Elements("a", number(0), number(len(elements))), found)
    met = [again * int((elements == each).sum()) for each in elements[first:last]]
    expected = float(met @ data["v"][first:last]) if met else 0.0
    assert outputs_of(SUM, by_element, symbols, data, ()) == {"val": [expected]}


def test_repeated_matches_are_all_met() -> None:
    data = {"a": np.array([1, 2, 2, 2, 5])}
    symbols = {"a": array("a", data["a"], ascending=True)}
    for key, count in ((2, 3.0), (1, 1.0), (5, 1.0), (3, 0.0), (9, 0.0)):
        source = Matches("a", number(0), number(5), number(key), is_unique=False)
        assert outputs_of(SUM, Loop(source, Accumulate(real(1.0))), symbols, data, ()) == {"val": [count]}


TABLE = TableStore(FLOAT64, "add", 0, (N,))
LIST = ListStore(FLOAT64, "add", 0, N)


@pytest.mark.parametrize("store", [TABLE, LIST], ids=["table", "list"])
def test_stores_in_loops_are_cleared_between_iterations(store: TableStore | ListStore) -> None:
    copied = Loop(Entries(var(0)), Enter(var(1), Accumulate(var(0))))
    action = Loop(upto("m"), Enter(var(0), Bind(store, Together((ROW, ROW)), copied)))
    found = lowered(Levels((Place(M), Append()), ADD), action, M, N)
    assert found == DOUBLED
    looked_up = Bind(store, ROW, Accumulate(Lookup(var(0), number(1))))
    per_row = Loop(upto("m"), Enter(var(0), looked_up))
    assert lowered(Levels((Place(M),), ADD), per_row, M) == {"val": [1.0, 0.0, 4.0]}


def test_tables_of_tables() -> None:
    table = TableStore(FLOAT64, "add", 0, (M, N))
    transposed = Loop(
        upto("n"),
        Enter(var(0), Loop(upto("m"), Enter(var(0), Accumulate(Lookup(Lookup(var(4), var(0)), var(2)))))),
    )
    found = lowered(Levels((Place(N), Append()), ADD), Bind(table, ROWS, transposed), N, M)
    assert found == {"pos_1": [0, 1, 3, 3, 4], "idx_1": [2, 0, 2, 0], "val": [3.0, 1.0, 4.0, 2.0]}


def test_rows_of_a_table_without_entries_are_no_rows() -> None:
    table = TableStore(FLOAT64, "add", 0, (N, N))
    copied = Loop(Entries(var(0)), Enter(var(1), Accumulate(var(0))))
    rows = Loop(Entries(var(0)), Enter(var(1), copied))
    found = lowered(Levels((Place(M), Append()), ADD), Bind(table, ROWS, rows), M, N)
    assert found == {"pos_1": [0, 2, 2, 4], "idx_1": [1, 3, 0, 1], "val": [1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize("store", [TABLE, LIST], ids=["table", "list"])
def test_a_lookup_outside_a_store_is_zero(store: TableStore | ListStore) -> None:
    for key in (-1, 4, 100):
        action = Bind(store, Loop(upto("n"), Enter(var(0), Accumulate(real(2.0)))),
                      Accumulate(Lookup(var(0), number(key))))  # fmt: skip
        assert lowered(SUM, action) == {"val": [0.0]}


def test_the_result_does_not_fit_into_the_memory_limit() -> None:
    with pytest.raises(MemoryLimitError, match="the result has more than"):
        lowered(Levels((Place(M), Append()), ADD), ROWS, M, N, memory_limit=60)
    with pytest.raises(MemoryLimitError, match="more memory than the limit"):
        lowered(Levels((Place(M), Place(N)), ADD), ROWS, M, N, memory_limit=60)
    roomy = lowered(Levels((Place(M), Append()), ADD), ROWS, M, N, memory_limit=1000)
    assert roomy["val"] == [1.0, 2.0, 3.0, 4.0]


OUTSIDE = [
    ("a key of the result is 4, outside 0:4", Levels((Place(N),), ADD),
     Loop(Positions(number(0), number(6)), Enter(var(0), Accumulate(real(1.0)))), (N,)),
    ("a key of the result is -1, outside 0:4", Levels((Append(),), ADD),
     Loop(Positions(number(-1), number(6)), Enter(var(0), Accumulate(real(1.0)))), (N,)),
    ("a key of the result is 3, outside 0:3", Coordinates(1, ADD),
     Loop(row(number(0)), Enter(var(0), A_VAL)), (M,)),
    ("array x is read at position 4, outside 0:4", SUM,
     Loop(Positions(number(0), number(6)), Accumulate(read("x", var(0)))), ()),
    ("array x is read at position -2, outside 0:4", SUM,
     Loop(Positions(number(-2), number(6)), Accumulate(read("x", var(0)))), ()),
    ("array A_idx is read at position 4, outside 0:4", SUM,
     Loop(Elements("A_idx", number(0), number(5)), Accumulate(real(1.0))), ()),
    ("the maximum of no entries", SUM,
     Bind(ScalarStore(FLOAT64, "maximum", None), Loop(row(number(1)), A_VAL), Accumulate(var(0))), ()),
]  # fmt: skip


@pytest.mark.parametrize(("message", "destination", "action", "extents"), OUTSIDE)
@pytest.mark.parametrize("backend", ["interpret", "c"])
def test_what_is_outside_fails_with_a_message(
    message: str, destination: Destination, action: Action, extents: tuple[Term, ...], backend: str
) -> None:
    symbols = csr_symbols()
    kernel = simplify(lower(Phase(Plan(destination, action)), extents, symbols, is_unguarded=True))
    inputs = {buffer.name: DATA[buffer.name] for buffer in kernel.inputs}
    with pytest.raises(EvaluationError, match=message):
        if backend == "c":
            load(c_source.render(kernel), kernel, "c")({}, inputs)
        else:
            interpret.run(kernel, {}, inputs)


def test_places_of_other_semirings_hold_their_zero_at_first() -> None:
    least = ScalarStore(FLOAT64, "minimum", float("inf"))
    dense = lowered(Levels((Place(M),), least), Loop(upto("m"), Enter(var(0), Loop(row(var(0)), A_VAL))), M)
    assert dense == {"val": [1.0, float("inf"), 3.0]}
    gathered = lowered(Levels((Place(M), Gather(N, by_bitmap=True)), least), BACKWARDS, M, N)
    assert gathered == DOUBLED | {"val": [1.0, 2.0, 3.0, 4.0]}
    table = TableStore(FLOAT64, "minimum", float("inf"), (N,))
    copied = Loop(Entries(var(0)), Enter(var(1), Accumulate(var(0))))
    per_row = Loop(upto("m"), Enter(var(0), Bind(table, ROW, copied)))
    assert lowered(Levels((Place(M), Append()), least), per_row, M, N)["val"] == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("is_unguarded", [True, False])
def test_a_zero_annihilates_inf_and_nan_unless_they_are_known_not_to_meet(is_unguarded: bool) -> None:
    data = {"a": np.array([0.0, 1.0, np.inf, np.nan]), "b": np.array([np.inf, 2.0, 0.0, 0.0])}
    symbols = {name: array(name, each) for name, each in data.items()} | {"n": SizeSymbol("n", 4)}
    product = Accumulate(Multiply(read("a", var(0)), read("b", var(0))))
    action = Loop(upto("n"), Enter(var(0), product))
    plan = Levels((Place(N, once=True),), ADD)
    found = outputs_of(plan, action, symbols, data, (N,), is_unguarded=is_unguarded)["val"]
    if is_unguarded:
        assert np.isnan(found).tolist() == [True, False, True, True]
    else:
        assert found == [0.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("scalar", "operator", "zero", "expected"),
    [
        (BOOL, "or", False, [True, False, True]),
        (INT32, "add", 0, [3, 0, 7]),
        (INT64, "maximum", 0, [2, 0, 4]),
        (FLOAT32, "add", 0, [3.0, 0.0, 7.0]),
    ],
)
def test_values_of_every_type(scalar: ScalarType, operator: str, zero: Any, expected: list[Any]) -> None:
    data = DATA | {"A_val": VAL.astype(scalar.dtype)}
    symbols = {**csr_symbols(), "A_val": array("A_val", data["A_val"])}
    leaf = ScalarStore(scalar, operator, zero)
    action = Loop(upto("m"), Enter(var(0), Loop(row(var(0)), A_VAL)))
    found = outputs_of(Levels((Place(M),), leaf), action, symbols, data, (M,))
    assert found == {"val": expected}
    assert [type(value) for value in found["val"]] == [type(value) for value in expected]
    rows = outputs_of(Levels((Append(),), leaf), action, symbols, data, (M,))
    assert rows == {"idx_0": [0, 2], "val": [value for value in expected if value]}


def test_three_levels_drop_children_that_are_empty() -> None:
    """Row 1 is empty, and so is all of the second matrix."""
    twice = Loop(
        Positions(number(0), number(2)),
        Enter(var(0), Loop(upto("m"), Enter(var(0), Guard(Add(var(2), number(-1)), ROW)))),
    )
    found = lowered(Levels((Append(), Append(), Append()), ADD), twice, Literal(2, INT64), M, N)
    assert found == {
        "idx_0": [0], "pos_1": [0, 2], "idx_1": [0, 2], "pos_2": [0, 2, 4], "idx_2": [1, 3, 0, 1],
        "val": [1, 2, 3, 4],
    }  # fmt: skip
