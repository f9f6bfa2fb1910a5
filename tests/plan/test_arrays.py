"""Rows that another phase stored are read as arrays."""

from __future__ import annotations

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.plan.arrays import RowArrays
from storel.plan.nodes import (
    Accumulate,
    Bind,
    Elements,
    Enter,
    Entries,
    Gather,
    Guard,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    RowsStore,
    ScalarStore,
)
from storel.plan.partition import Parts
from storel.plan.phases import phases
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol

SYMBOLS = {
    "m": SizeSymbol("m", 9),
    "n": SizeSymbol("n", 2**31),
    "index": ArraySymbol("index", ScalarType.INT32, 9, 0, 8),
}
M, N = Symbol("m"), Symbol("n")
SUM = ScalarStore(ScalarType.FLOAT64, "add", 0.0)
STORE = RowsStore(ScalarType.FLOAT64, "add", 0.0, (M, N))
ROWS = RowArrays(3, STORE)


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


def inside(key: Term) -> Term:
    return Apply("and", (Apply("less_equal", (number(0), key)), Apply("less", (key, M))))


def row(key: Term) -> Elements:
    begins = Symbol("rows.3.begins")
    return Elements("rows.3.keys", Lookup(begins, key), Lookup(begins, Add(key, number(1))))


def test_entries_of_a_row_are_elements_of_the_array_of_keys() -> None:
    key = Lookup(Symbol("index"), Variable(1))
    # Under the store (0): a position and a key, then the entry's key (1) and value (0).
    body = Enter(Variable(1), Accumulate(Multiply(Variable(0), Lookup(Symbol("x"), Variable(3)))))
    action = Loop(Positions(number(0), M), Loop(Entries(Lookup(Variable(2), key)), body))
    value = Lookup(Symbol("rows.3.values"), Variable(1))
    entry = Enter(Variable(0), Accumulate(Multiply(value, Lookup(Symbol("x"), Variable(3)))))
    assert ROWS.read(action) == Loop(Positions(number(0), M), Guard(inside(key), Loop(row(key), entry)))


def test_rows_are_read_inside_of_rows_and_stores_too() -> None:
    again = Loop(Entries(Lookup(Variable(3), Variable(2))), Accumulate(Multiply(Variable(0), Variable(2))))
    action = Loop(Entries(Lookup(Variable(0), number(4))), Bind(SUM, Accumulate(Variable(0)), again))
    values = Symbol("rows.3.values")
    product = Multiply(Lookup(values, Variable(1)), Variable(2))
    inner = Guard(inside(Variable(1)), Loop(row(Variable(1)), Accumulate(product)))
    outer = Bind(SUM, Accumulate(Lookup(values, Variable(1))), inner)
    assert ROWS.read(action) == Guard(inside(number(4)), Loop(row(number(4)), outer))


def test_rows_are_filled_as_a_result_that_is_gathered() -> None:
    assert ROWS.destination(SYMBOLS) == Levels((Place(M), Gather(N, by_bitmap=False)), SUM, ScalarType.INT64)
    begins, keys, values = ROWS.symbols(SYMBOLS)
    assert (begins.length, keys.type, values.type) == (10, ScalarType.INT64, ScalarType.FLOAT64)
    assert begins.high is not None and begins.high <= min(keys.length, values.length)


def test_what_reads_rows_is_divided_by_their_entries() -> None:
    filling = Loop(Positions(number(0), M), Enter(Variable(0), Enter(number(0), Accumulate(number(1)))))
    sums = Loop(Entries(Lookup(Variable(2), Variable(1))), Accumulate(Variable(0)))
    plan = Plan(
        Levels((Place(M),), SUM),
        Bind(STORE, filling, Loop(Positions(number(0), M), Enter(Variable(0), sums))),
    )
    first, second = phases(plan, SYMBOLS, reorders=True)
    assert first.filled == STORE and first.fills == ("rows.0.begins", "rows.0.keys", "rows.0.values")
    assert [array.name for array in second.arrays] == list(first.fills) and second.stores == ()
    assert first.split is not None and first.split.parts is Parts.APPENDED
    assert second.split is not None and second.split.parts is Parts.SHARED
    assert "rows.0.begins" in str(second.split.work)
