"""In which order, and within which bounds, keys arrive."""

from __future__ import annotations

import math
from typing import Any

import pytest
from strategies.plans import ADD, csr_symbols, number, read, real, row, upto, var

from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Apply, If, Literal, Multiply, Symbol, Term
from storel.calculus.verify import KEY
from storel.optimizer.physical.arrivals import Order, key_intervals, orders
from storel.optimizer.physical.scope import Scope
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    Intersection,
    Loop,
    Matches,
    Positions,
    ScalarStore,
    Source,
    TableStore,
    Together,
    Unite,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols

INCREASING, ASCENDING, ANY = Order.INCREASING, Order.ASCENDING, Order.ANY
ONE = Accumulate(real(1.0))
NNZ = Symbol("nnz")
FLOAT64, INT64, INT32 = ScalarType.FLOAT64, ScalarType.INT64, ScalarType.INT32


def index(name: str, **facts: Any) -> ArraySymbol:
    return ArraySymbol(name, INT64, 4, 0, 3, **facts)


SYMBOLS: Symbols = {
    **csr_symbols(),
    "inc": index("inc", increasing=True),
    "asc": index("asc", ascending=True),
    "any": index("any"),
    "short": ArraySymbol("short", INT32, 4, ascending=True),
    "r": index("r", group=("r", "c"), ascending=True),
    "c": index("c"),
    "lead": index("lead", group=("lead", "c")),
    "second": index("second", group=("r", "second")),
}


COUNT = ScalarStore(INT64, "add", 0)
LEAST = ScalarStore(INT64, "minimum", math.inf)


def found_at(index: int) -> Action:
    """Return what adds an element if it is a variable."""
    return Accumulate(If(Apply("equal", (var(0), var(index))), read("any", var(1))))


def whole(array: str) -> Elements:
    return Elements(array, number(0), NNZ)


def enter(key: Term, body: Action = ONE) -> Enter:
    return Enter(key, body)


def first(source: Source, key: Term) -> Action:
    return Loop(source, enter(key))


def first_row(key: Term) -> Action:
    """Enter a key for each row, and in it what is stored there."""
    return Loop(upto("n"), enter(key, Loop(row(var(0)), enter(var(0)))))


def match(array: str, *, unique: bool) -> Matches:
    return Matches(array, number(0), NNZ, number(1), unique)


SCANS = Unite((Loop(row(number(0)), enter(var(0))),) * 2)
AFTER = Add(var(0), Symbol("n"))
ORDERS = [
    ("one key", enter(number(3)), INCREASING),
    ("nothing", Together(()), INCREASING),
    ("a range", first(upto("n"), var(0)), INCREASING),
    ("increasing elements", first(whole("inc"), var(0)), INCREASING),
    ("elements of a segment", first(row(number(1)), var(0)), INCREASING),
    ("a segment of another kind", first(Elements("A_idx", number(0), NNZ), var(0)), ANY),
    ("ascending elements", first(whole("asc"), var(0)), ASCENDING),
    ("the first of a group", first(whole("lead"), var(0)), ASCENDING),
    ("other elements", first(whole("any"), var(0)), ANY),
    ("positions of elements", first(whole("any"), var(1)), INCREASING),
    ("an increasing array at a position", first(upto("n"), read("inc", var(0))), INCREASING),
    ("an ascending array at a position", first(whole("any"), read("asc", var(1))), ASCENDING),
    ("another array at a position", first(upto("n"), read("any", var(0))), ANY),
    ("a match", first(match("any", unique=False), var(0)), INCREASING),
    ("the rest of a group at a match", first(match("r", unique=False), read("second", var(0))), INCREASING),
    ("another array at a match", first(match("r", unique=False), read("any", var(0))), ANY),
    ("common elements", first(Intersection(whole("inc"), whole("inc")), var(0)), INCREASING),
    ("positions of common elements", first(Intersection(whole("inc"), whole("inc")), var(1)), INCREASING),
    ("a computed key", first(upto("n"), Multiply(var(0), number(2))), ANY),
    ("an offset", first(upto("n"), Add(var(0), number(2))), INCREASING),
    ("an offset before", first(upto("n"), Add(number(2), var(0))), INCREASING),
    ("an offset taken away", first(whole("asc"), Apply("subtract", (var(0), Symbol("n")))), ASCENDING),
    ("taken away from a number", first(upto("n"), Apply("subtract", (number(9), var(0)))), ANY),
    ("an offset that changes", Loop(upto("m"), first(upto("n"), Add(var(0), var(2)))), ANY),
    ("an offset of numbers that may wrap", first(whole("short"), Add(var(0), Literal(2, INT32))), ANY),
    ("the same key again", first(upto("n"), number(1)), ANY),
    ("a range inside a range", Loop(upto("m"), first(upto("n"), var(0))), ANY),
    ("a range around a range", Loop(upto("m"), first(upto("n"), var(2))), ASCENDING),
    ("a range around one match", Loop(upto("m"), first(match("inc", unique=True), var(1))), INCREASING),
    ("a range inside one match", Loop(match("inc", unique=True), first(upto("m"), var(0))), INCREASING),
    ("a guarded range", Loop(upto("n"), Guard(var(0), enter(var(0)))), INCREASING),
    ("a copy of a key", Loop(upto("n"), Bind(ADD, Accumulate(var(0)), enter(var(0)))), INCREASING),
    ("a sum", Loop(upto("n"), Bind(ADD, Loop(upto("n"), ONE), enter(var(0)))), ANY),
    ("two ranges", Together((first(upto("n"), var(0)), first(upto("n"), var(0)))), ANY),
    ("two ranges in turn", Together((first(upto("n"), var(0)), first(upto("n"), AFTER))), INCREASING),
    ("the later one first", Together((first(upto("n"), AFTER), first(upto("n"), var(0)))), ANY),
    ("two that share a key", Together((first(upto("n"), var(0)), enter(number(3)))), ANY),
    ("two in turn again and again", Loop(upto("m"), Together((enter(number(0)), enter(number(1))))), ANY),
    ("a key and united scans", Together((enter(number(-1)), SCANS)), ANY),
    ("united scans", SCANS, INCREASING),
]


@pytest.mark.parametrize(("action", "order"), [case[1:] for case in ORDERS], ids=[case[0] for case in ORDERS])
def test_the_order_of_one_level(action: Action, order: Order) -> None:
    assert orders(action, 1, SYMBOLS) == (order,)


@pytest.mark.parametrize(
    ("action", "found"),
    [
        (Loop(upto("m"), enter(var(0), Loop(row(var(0)), enter(var(0))))), (INCREASING, INCREASING)),
        (Loop(upto("m"), Loop(row(var(0)), enter(var(2), enter(var(0))))), (ASCENDING, ANY)),
        (Loop(upto("m"), Loop(row(var(0)), enter(var(0), enter(var(2))))), (ANY, ANY)),
        (Loop(whole("r"), enter(var(0), enter(read("c", var(1))))), (ASCENDING, ANY)),
        (Together((Loop(upto("m"), enter(var(0), enter(number(0)))),) * 2), (ANY, ANY)),
        (Loop(upto("m"), enter(var(0), Together((enter(number(0)),) * 2))), (INCREASING, ANY)),
        (
            Loop(upto("m"), enter(var(0), Together((enter(number(0)), enter(number(1)))))),
            (INCREASING, INCREASING),
        ),
        (
            Together((first_row(var(0)), first_row(AFTER))),
            (INCREASING, INCREASING),
        ),
        (
            Together((Loop(upto("m"), first_row(var(2))), first_row(Add(var(0), number(9))))),
            (ASCENDING, ANY),
        ),
    ],
    ids=[
        "rows",
        "repeated rows",
        "columns first",
        "coordinates",
        "two parts",
        "two parts below",
        "two parts in turn below",
        "two parts in turn",
        "two parts in turn, of which rows come again",
    ],
)
def test_the_orders_of_two_levels(action: Action, found: tuple[Order, ...]) -> None:
    assert orders(action, 2, SYMBOLS) == found


TABLE = TableStore(FLOAT64, "add", 0, (Symbol("m"), Symbol("n")))


def test_a_store_is_scanned_in_increasing_order() -> None:
    scan = Loop(Entries(var(0)), enter(var(1), Loop(Entries(var(0)), enter(var(1)))))
    assert orders(Bind(TABLE, Together(()), scan), 2, SYMBOLS) == (INCREASING, INCREASING)


@pytest.mark.parametrize(
    ("action", "interval"),
    [
        (Together(()), Interval(0, -1)),
        (enter(number(3)), Interval(3, 3)),
        (Together((enter(number(3)), enter(number(7)))), Interval(3, 7)),
        (first(upto("n"), var(0)), Interval(0, 3)),
        (first(Positions(number(2), Symbol("n")), var(0)), Interval(2, 3)),
        (first(row(number(0)), var(0)), Interval(0, 3)),
        (first(row(number(0)), var(1)), Interval(0, 3)),
        (first(match("any", unique=False), var(0)), Interval(0, 3)),
        (first(upto("n"), Add(var(0), number(10))), Interval(10, 13)),
        (first(upto("n"), read("any", var(0))), Interval(0, 3)),
        (Loop(upto("n"), Guard(Apply("less", (var(0), number(2))), enter(var(0)))), Interval(0, 1)),
        (Loop(upto("n"), Bind(ADD, Accumulate(var(0)), enter(var(0)))), Interval(0, 3)),
        (Bind(ADD, Loop(upto("n"), ONE), enter(var(0))), Interval()),
        (Bind(COUNT, Loop(upto("n"), Accumulate(number(5))), enter(var(0))), Interval()),
        (Bind(COUNT, Loop(match("inc", unique=True), Accumulate(number(5))), enter(var(0))), Interval(0, 5)),
        (Bind(COUNT, Loop(match("any", unique=False), Accumulate(number(5))), enter(var(0))), Interval()),
        (Bind(COUNT, Guard(Apply("less", (number(1), Symbol("n"))), Accumulate(number(5))), enter(var(0))),
         Interval(0, 5)),
        (Bind(LEAST, Loop(match("inc", unique=True), Accumulate(number(5))), enter(var(0))), Interval()),
        (Loop(upto("n"), Bind(COUNT, Loop(whole("inc"), found_at(2)), enter(var(0)))), Interval(0, 3)),
        (Loop(upto("n"), Bind(COUNT, Loop(whole("any"), found_at(2)), enter(var(0)))), Interval()),
        (Loop(upto("n"), Bind(COUNT, Loop(whole("inc"), found_at(1)), enter(var(0)))), Interval()),
        (Bind(TABLE, Together(()), Loop(Entries(var(0)), enter(var(1)))), Interval(0, 2)),
        (Bind(TABLE, Together(()), Loop(Entries(var(0)), Loop(Entries(var(0)), enter(var(1))))),
         Interval(0, 3)),
    ],
)  # fmt: skip
def test_the_bounds_of_keys(action: Action, interval: Interval) -> None:
    (found,) = key_intervals(action, 1, Scope(), SYMBOLS)
    assert (found.low, found.high) == (interval.low, interval.high)


def test_bounds_of_enclosing_binders_count() -> None:
    scope = Scope().bind((KEY, Interval(5, 9)))
    assert key_intervals(enter(var(0)), 1, scope, SYMBOLS) == (Interval(5, 9),)
