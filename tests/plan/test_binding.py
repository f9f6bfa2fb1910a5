"""Which terms an action has, under how many binders, and what is free in it."""

from __future__ import annotations

import pytest
from strategies.plans import ADD, csr_symbols, number, read, row, upto, var

from storel.calculus.nodes import Lookup, Symbol
from storel.plan.binding import (
    arrays_of,
    binders,
    free_symbols,
    is_scanned,
    occurs,
    row_extents,
    source_extents,
    source_terms,
    sources,
    store_terms,
    terms,
)
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
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
    ScalarStore,
    Source,
    Store,
    TableStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType

N = Symbol("n")
MATCHES = Matches("a", number(0), N, var(4), is_unique=True)
BOTH = Intersection(Elements("a", number(0), var(1)), Elements("b", var(2), N))
TABLE = TableStore(ScalarType.FLOAT64, "add", 0, (Symbol("m"), N))
LIST = ListStore(ScalarType.FLOAT64, "add", 0, N)


@pytest.mark.parametrize(
    ("source", "bound", "arrays", "inside"),
    [
        (upto("n"), 2, (), (number(0), N)),
        (Elements("a", var(1), N), 2, ("a",), (var(1), N)),
        (Entries(var(3)), 2, (), (var(3),)),
        (MATCHES, 1, ("a",), (number(0), N, var(4))),
        (BOTH, 3, ("a", "b"), (number(0), var(1), var(2), N)),
    ],
    ids=["positions", "elements", "entries", "matches", "intersection"],
)
def test_what_a_source_binds_and_reads(
    source: Source, bound: int, arrays: tuple[str, ...], inside: tuple[object, ...]
) -> None:
    assert binders(source) == bound
    assert arrays_of(source) == arrays
    assert source_terms(source) == inside


@pytest.mark.parametrize(("store", "extents"), [(ADD, ()), (TABLE, (Symbol("m"), N)), (LIST, (N,))])
def test_the_extents_of_a_store(store: Store, extents: tuple[object, ...]) -> None:
    assert store_terms(store) == extents


@pytest.mark.parametrize(
    ("action", "found"),
    [
        (Accumulate(var(0)), [(var(0), 0)]),
        (Enter(var(1), Accumulate(var(2))), [(var(1), 0), (var(2), 0)]),
        (Guard(var(1), Accumulate(var(2))), [(var(1), 0), (var(2), 0)]),
        (Loop(upto("n"), Accumulate(var(2))), [(number(0), 0), (N, 0), (var(2), 2)]),
        (Loop(MATCHES, Accumulate(var(2))), [(number(0), 0), (N, 0), (var(4), 0), (var(2), 1)]),
        (Loop(Entries(var(5)), Accumulate(var(2))), [(var(5), 0), (var(2), 2)]),
        (Bind(LIST, Enter(var(3), Accumulate(var(4))), Accumulate(var(5))),
         [(N, 0), (var(3), 0), (var(4), 0), (var(5), 1)]),
        (Together((Accumulate(var(0)), Accumulate(var(1)))), [(var(0), 0), (var(1), 0)]),
        (Together(()), []),
        (Unite((Loop(Elements("a", var(1), N), Enter(var(0), Accumulate(var(3)))),)),
         [(var(1), 0), (N, 0), (var(0), 2), (var(3), 2)]),
    ],
)  # fmt: skip
def test_terms_with_their_binders(action: Action, found: list[object]) -> None:
    assert list(terms(action)) == found


@pytest.mark.parametrize(
    ("action", "index", "is_free"),
    [
        (Accumulate(var(1)), 1, True),
        (Accumulate(var(1)), 0, False),
        (Loop(upto("n"), Accumulate(var(1))), 1, False),
        (Loop(upto("n"), Accumulate(var(3))), 1, True),
        (Loop(MATCHES, Accumulate(var(0))), 0, False),
        (Loop(BOTH, Accumulate(var(3))), 0, True),
        (Bind(ADD, Accumulate(var(0)), Accumulate(number(1))), 0, True),
        (Bind(ADD, Accumulate(number(1)), Accumulate(var(0))), 0, False),
        (Bind(ADD, Accumulate(number(1)), Accumulate(var(1))), 0, True),
    ],
)
def test_a_variable_is_free_outside_its_binders(action: Action, index: int, is_free: bool) -> None:
    assert occurs(action, index) is is_free


def test_the_sources_are_those_of_all_loops() -> None:
    inner = Loop(MATCHES, Accumulate(var(0)))
    filled = Loop(upto("m"), Enter(var(0), Guard(var(1), inner)))
    action = Bind(LIST, filled, Together((Loop(Entries(var(0)), Accumulate(var(0))),)))
    assert list(sources(action)) == [(upto("m"), 0), (MATCHES, 2), (Entries(var(0)), 1)]


SCAN = Loop(Entries(var(0)), Accumulate(var(0)))
ROW_SCAN = Loop(upto("m"), Loop(Entries(Lookup(var(2), var(0))), Accumulate(var(0))))


@pytest.mark.parametrize(
    ("action", "scanned"),
    [
        (Accumulate(Lookup(var(0), number(1))), False),
        (SCAN, True),
        (ROW_SCAN, True),
        (Loop(upto("m"), SCAN), False),
        (Bind(LIST, SCAN, Accumulate(number(0))), True),
        (Bind(LIST, Together(()), SCAN), False),
        (Together((Accumulate(number(0)), Guard(var(0), Enter(var(0), SCAN)))), True),
    ],
)
def test_a_store_is_scanned_where_it_or_a_row_is_looped_over(action: Action, scanned: bool) -> None:
    assert is_scanned(action) is scanned


def test_rows_of_a_store_have_what_extents_remain() -> None:
    stores = ((), (Symbol("m"), N))
    assert row_extents(var(1), stores) == (Symbol("m"), N)
    assert row_extents(Lookup(var(1), var(0)), stores) == (N,)
    assert source_extents(Entries(var(1)), stores) == ((N,), ())
    assert source_extents(Entries(Lookup(var(1), var(0))), stores) == ((), ())
    assert source_extents(upto("n"), stores) == ((), ())


def test_free_symbols_are_those_of_terms_arrays_and_extents() -> None:
    body = Loop(row(var(0)), Enter(var(0), Accumulate(read("A_val", var(1)))))
    action = Bind(ScalarStore(ScalarType.BOOL, "or", False), Accumulate(Symbol("beta")), body)
    plan = Plan(Levels((Place(Symbol("m")), Gather(N, by_bitmap=True)), ADD), action)
    assert free_symbols(plan) == ["A_idx", "A_pos", "A_val", "beta", "m", "n"]
    assert set(free_symbols(plan)) <= set(csr_symbols())
    assert free_symbols(Plan(Levels((Append(),), ADD), Accumulate(N))) == ["n"]
    assert free_symbols(Plan(Coordinates(2, ADD), Together(()))) == []
