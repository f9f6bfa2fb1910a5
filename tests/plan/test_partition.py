"""Which loops run in parts, and what becomes of the parts."""

from __future__ import annotations

import pytest

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.plan.nodes import (
    Accumulate,
    Action,
    Append,
    Bind,
    Coordinates,
    Destination,
    Elements,
    Enter,
    Gather,
    Guard,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    ScalarStore,
    TableStore,
    Together,
)
from storel.plan.partition import HIGH, LOW, WRITING, Parts
from storel.plan.phases import phases
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol

SYMBOLS = {
    "n": SizeSymbol("n", 9),
    "index": ArraySymbol("index", ScalarType.INT32, 5, 0, 8),
    "order": ArraySymbol("order", ScalarType.INT32, 9, 0, 8, unique=True),
    "row": ArraySymbol("row", ScalarType.INT32, 500, 0, 8, ascending=True, distinct=100),
    "few": ArraySymbol("few", ScalarType.INT32, 500, 0, 8, ascending=True, distinct=10),
    "any": ArraySymbol("any", ScalarType.INT32, 500, 0, 8, distinct=100),
    "increasing": ArraySymbol("increasing", ScalarType.INT32, 7, 0, 8, increasing=True),
    "ends": ArraySymbol("ends", ScalarType.INT32, 8, 0, 40, ascending=True, holds_indices=True),
    "x": ArraySymbol("x", ScalarType.FLOAT64, 9),
    "c": ParameterSymbol("c", ScalarType.FLOAT64),
}
N, X = Symbol("n"), Symbol("x")
SUM = ScalarStore(ScalarType.FLOAT64, "add", 0.0)
FIRST = ScalarStore(ScalarType.FLOAT64, "maximum", None)
DENSE = Levels((Place(N),), SUM)
MATRIX = Levels((Place(N), Place(N)), SUM)
SCALAR = Levels((), SUM)
ONE = Accumulate(Symbol("c"))


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


def loop(body: Action, high: Term = N) -> Loop:
    return Loop(Positions(number(0), high), body)


def scan(array: str, body: Action) -> Loop:
    return Loop(Elements(array, number(0), number(5)), body)


def own(key: Term = Variable(0)) -> Action:  # noqa: B008
    return loop(Enter(key, ONE))


CASES: dict[str, tuple[Destination, Action, Parts | None]] = {
    "a place for each": (DENSE, own(), Parts.SHARED),
    "a reversed place": (DENSE, own(Add(number(8), Multiply(number(-1), Variable(0)))), Parts.SHARED),
    "a place for two": (DENSE, own(number(3)), Parts.COMBINED),
    "any place": (DENSE, own(Lookup(Symbol("index"), Variable(0))), Parts.COMBINED),
    "permuted places": (DENSE, own(Lookup(Symbol("order"), Variable(0))), Parts.SHARED),
    "elements that repeat": (DENSE, scan("index", Enter(Variable(0), ONE)), Parts.COMBINED),
    "elements that do not": (DENSE, scan("order", Enter(Variable(0), ONE)), Parts.SHARED),
    "runs of elements": (DENSE, scan("row", Enter(Variable(0), ONE)), Parts.RUNS),
    "rows of runs": (MATRIX, scan("row", Enter(Variable(0), own())), Parts.RUNS),
    "few runs of elements": (DENSE, scan("few", Enter(Variable(0), ONE)), Parts.COMBINED),
    "elements in no order": (DENSE, scan("any", Enter(Variable(0), ONE)), Parts.COMBINED),
    "places of the next run": (
        DENSE,
        scan("row", Together((Enter(Variable(0), ONE), Enter(Add(Variable(0), number(1)), ONE)))),
        Parts.COMBINED,
    ),
    "another list": (DENSE, scan("row", Enter(Lookup(Symbol("few"), Variable(1)), ONE)), Parts.COMBINED),
    "positions": (DENSE, scan("index", Enter(Variable(1), ONE)), Parts.SHARED),
    "blocks": (
        DENSE,
        loop(loop(Enter(Add(Multiply(number(3), Variable(2)), Variable(0)), ONE), number(3)), number(3)),
        Parts.SHARED,
    ),
    "blocks that overlap": (
        DENSE,
        loop(loop(Enter(Add(Multiply(number(2), Variable(2)), Variable(0)), ONE), number(3)), number(3)),
        Parts.COMBINED,
    ),
    "rows of their own": (MATRIX, loop(Enter(Variable(0), own())), Parts.SHARED),
    "columns of their own": (MATRIX, loop(loop(Enter(Variable(0), Enter(Variable(2), ONE)))), Parts.SHARED),
    "places of the next": (
        DENSE,
        loop(Together((Enter(Variable(0), ONE), Enter(Add(Variable(0), number(1)), ONE)))),
        Parts.COMBINED,
    ),
    "places of a block": (
        DENSE,
        loop(
            Together(
                tuple(Enter(Add(Multiply(number(2), Variable(0)), number(each)), ONE) for each in (0, 1))
            ),
            number(4),
        ),
        Parts.SHARED,
    ),
    "under a guard": (DENSE, loop(Guard(Variable(0), Enter(Variable(0), ONE))), Parts.SHARED),
    "with a scalar": (DENSE, Bind(SUM, ONE, own()), Parts.SHARED),
    "two loops alike": (DENSE, Together((own(), own())), Parts.SHARED),
    "a sum": (SCALAR, loop(ONE), Parts.COMBINED),
    "one value": (SCALAR, ONE, None),
    "no value": (Levels((), FIRST), loop(ONE), None),
    "appended": (Levels((Append(),), SUM), own(), Parts.APPENDED),
    "appended rows": (
        Levels((Place(N), Gather(N, True)), SUM),
        loop(Enter(Variable(0), own())),
        Parts.APPENDED,
    ),
    "rows that repeat": (
        Levels((Place(N, repeats=True), Append()), SUM),
        loop(Enter(Variable(0), own())),
        None,
    ),
    "gathered": (Levels((Gather(N, True),), SUM), own(), None),
    "coordinates": (Coordinates(1, SUM), own(), Parts.APPENDED),
}


@pytest.mark.parametrize("name", CASES)
def test_parts(name: str) -> None:
    destination, action, parts = CASES[name]
    (phase,) = phases(Plan(destination, action), SYMBOLS, reorders=True)
    assert (phase.split and phase.split.parts) is parts
    assert phase.plan.action == action


def test_the_loop_is_over_a_part() -> None:
    (phase,) = phases(Plan(DENSE, own()), SYMBOLS, reorders=True)
    assert phase.split is not None and phase.split.source == Positions(number(0), N)
    assert phase.split.plan.action == Loop(Positions(LOW, HIGH), Enter(Variable(0), ONE))
    assert [(end.low, end.high) for end in phase.split.ends] == [(0, 9), (0, 9)]


def test_stores_are_filled_in_phases_of_their_own() -> None:
    table = TableStore(ScalarType.FLOAT64, "add", 0.0, (N,))
    action = Bind(SUM, loop(ONE), Bind(table, own(), loop(Accumulate(Lookup(Variable(2), Variable(0))))))
    found = phases(Plan(SCALAR, action), SYMBOLS, reorders=True)
    assert [phase.filled for phase in found] == [SUM, table, None]
    assert [phase.stores for phase in found] == [(), (SUM,), (table, SUM)]
    assert [phase.split and phase.split.parts for phase in found] == [
        Parts.COMBINED,
        Parts.SHARED,
        Parts.COMBINED,
    ]


def test_real_sums_keep_their_order_unless_they_may_be_reordered() -> None:
    (phase,) = phases(Plan(SCALAR, loop(ONE)), SYMBOLS, reorders=False)
    assert phase.split is None
    least = Levels((), ScalarStore(ScalarType.FLOAT64, "minimum", float("inf")))
    (phase,) = phases(Plan(least, loop(ONE)), SYMBOLS, reorders=False)
    assert phase.split is not None


SHORTER = loop(Enter(Variable(0), ONE), number(4))


@pytest.mark.parametrize(
    "other", [own(Add(number(8), Multiply(number(-1), Variable(0)))), SHORTER, Bind(SUM, ONE, SHORTER)]
)
def test_loops_that_are_not_run_in_the_same_parts_follow_each_other(other: Action) -> None:
    found = phases(Plan(DENSE, Together((own(), other))), SYMBOLS, reorders=True)
    assert [phase.plan.action for phase in found] == [own(), other]
    assert [phase.split and phase.split.parts for phase in found] == [Parts.SHARED, Parts.SHARED]
    assert [phase.continues for phase in found] == [False, True]


KEY = Enter(Variable(0), ONE)
ROW = Loop(Elements("row", number(0), number(500)), KEY)
ORDER = Loop(Elements("increasing", number(0), number(7)), Bind(SUM, ONE, Enter(Variable(1), ONE)))
SEGMENTS = Loop(
    Elements("increasing", number(0), number(7)),
    Enter(
        Variable(0),
        Loop(
            Positions(
                Lookup(Symbol("ends"), Variable(1)),
                Lookup(Symbol("ends"), Add(Variable(1), number(1))),
            ),
            ONE,
        ),
    ),
)


@pytest.mark.parametrize(
    "others", [(ORDER,), (SEGMENTS,), (SEGMENTS, ROW), (Bind(SUM, ONE, SEGMENTS), ORDER)]
)
def test_lists_that_are_added_up_are_cut_at_keys(others: tuple[Action, ...]) -> None:
    (phase,) = phases(Plan(DENSE, Together((ROW, *others))), SYMBOLS, reorders=True)
    split = phase.split
    assert split is not None and split.parts is Parts.SHARED
    assert split.source == Positions(number(0), N)
    assert [stretch.source.array for stretch in split.stretches] == ["row", "increasing"]
    assert [(end.low, end.high) for end in split.stretches[1].ends] == [(0, 7), (0, 7)]
    first, last = (Symbol(end.name) for end in split.stretches[0].ends)
    assert isinstance(split.plan.action, Together)
    assert split.plan.action.actions[0] == Loop(Elements("row", first, last), KEY)


def test_the_work_on_the_elements_of_a_list_before_a_cut() -> None:
    (phase,) = phases(Plan(DENSE, Together((ROW, SEGMENTS))), SYMBOLS, reorders=True)
    assert phase.split is not None
    row, increasing = phase.split.stretches
    one, other = (Symbol(each.ends[1].name) for each in (row, increasing))
    assert row.work == Multiply(one, number(2))
    ends = Lookup(Symbol("ends"), other), Lookup(Symbol("ends"), number(0))
    assert increasing.work == Add(other, Apply("subtract", ends))


def test_a_list_is_cut_at_keys_that_loops_inside_enter() -> None:
    entered = Loop(Elements("increasing", number(0), number(7)), loop(Enter(Variable(2), ONE), number(3)))
    (phase,) = phases(Plan(DENSE, Together((ROW, entered))), SYMBOLS, reorders=True)
    assert phase.split is not None and len(phase.split.stretches) == 2


def test_places_of_a_dense_result_are_part_of_the_work_on_their_keys() -> None:
    row = Enter(Variable(0), loop(Enter(Variable(0), ONE)))
    rows, lists = loop(row), Together((ROW, Loop(Elements("increasing", number(0), number(7)), row)))
    written = Multiply(number(WRITING), N)
    for action, expected in [(rows, Add(Add(number(1), N), written)), (lists, written)]:
        (phase,) = phases(Plan(MATRIX, action), SYMBOLS, reorders=True)
        assert phase.split is not None and phase.split.work == Accumulate(expected)


NOT_CUT: dict[str, tuple[Destination, Action]] = {
    "a list in no order": (DENSE, Loop(Elements("any", number(0), number(500)), KEY)),
    "another key": (DENSE, Loop(Elements("increasing", number(0), number(7)), Enter(Variable(1), ONE))),
    "several keys": (DENSE, Loop(Elements("increasing", number(0), number(7)), Together((KEY, KEY)))),
    "keys beyond the result": (Levels((Place(number(8)),), SUM), ORDER),
    "all keys": (DENSE, own()),
    "an inner loop": (DENSE, loop(ORDER, number(2))),
}


@pytest.mark.parametrize("name", NOT_CUT)
def test_what_else_is_added_up_is_not_cut_at_keys(name: str) -> None:
    destination, other = NOT_CUT[name]
    found = phases(Plan(destination, Together((ROW, other))), SYMBOLS, reorders=True)
    assert [phase.plan.action for phase in found] == [ROW, other]
    assert not any(phase.split.stretches for phase in found if phase.split is not None)


def test_what_is_not_run_in_parts_stays_together() -> None:
    one = Enter(number(3), ONE)
    found = phases(Plan(DENSE, Together((one, one, own(), one))), SYMBOLS, reorders=True)
    assert [phase.plan.action for phase in found] == [Together((one, one)), own(), one]
    (phase,) = phases(Plan(DENSE, Together((one, one))), SYMBOLS, reorders=True)
    assert phase.split is None


def test_a_store_is_only_known_to_what_it_was_filled_for() -> None:
    table = TableStore(ScalarType.FLOAT64, "add", 0.0, (N,))
    used = Bind(table, own(), loop(Enter(Variable(0), Accumulate(Lookup(Variable(2), Variable(0))))))
    found = phases(Plan(DENSE, Together((used, SHORTER, used))), SYMBOLS, reorders=True)
    assert [phase.filled for phase in found] == [table, None, None, table, None]
    assert [phase.stores for phase in found] == [(), (table,), (), (), (table,)]
    assert [phase.continues for phase in found] == [False, False, True, False, True]


def test_what_is_appended_is_not_continued() -> None:
    action = Together((own(), SHORTER))
    for destination in (Levels((Append(),), SUM), Coordinates(1, SUM), Levels((Place(N),), FIRST)):
        (phase,) = phases(Plan(destination, action), SYMBOLS, reorders=True)
        assert phase.split is None
