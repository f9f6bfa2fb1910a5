"""What a sum over a dictionary of another semiring may be taken apart into, and what it may not."""

from __future__ import annotations

import pytest
from strategies.plans import number, var

from storel.calculus.mixed import separate
from storel.calculus.nodes import (
    Apply,
    If,
    Lookup,
    Multiply,
    Range,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
)
from storel.calculus.one_to_one import unique_keys
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

ROW, COLUMN, VALUE = Symbol("row"), Symbol("column"), Symbol("value")
ALL = Slice(ROW, number(0), Symbol("n"))
SYMBOLS: Symbols = {
    "row": ArraySymbol("row", ScalarType.INT64, 5, low=0, high=3, group=("row", "column")),
    "column": ArraySymbol("column", ScalarType.INT64, 5, low=0, high=3),
    "value": ArraySymbol("value", ScalarType.FLOAT64, 5),
    "n": SizeSymbol("n", 5),
}
ENTRY = Singleton(var(0), Singleton(Lookup(COLUMN, var(1)), Lookup(VALUE, var(1))))
MATRIX = Sum(ALL, ENTRY)
COUNTED, LEAST = "or_and", "min_plus"


def inside(body: Term, semiring: str = COUNTED) -> Term:
    return Sum(MATRIX, body, semiring)


def is_apart(term: Term) -> bool:
    """Return whether the sum goes over the array that the matrix is made of."""
    found = separate(term, SYMBOLS)
    return isinstance(found, Sum) and found.source == ALL


ENTRIES = Sum(var(0), Apply("greater", (var(0), number(1))), COUNTED)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ENTRIES, True),
        (If(Apply("greater", (var(1), number(1))), ENTRIES, COUNTED), True),
        (Sum(Range(number(0), number(2)), Sum(var(2), number(1), COUNTED), COUNTED), True),
        (Singleton(var(1), ENTRIES, COUNTED), True),
        (Multiply(number(1), ENTRIES, COUNTED), True),
        (number(1), False),
        (Apply("greater", (Lookup(var(0), number(1)), number(0))), False),
        (Sum(var(0), number(1), LEAST), False),
        (Sum(var(0), Lookup(var(2), number(0)), COUNTED), False),
        (Multiply(ENTRIES, ENTRIES, COUNTED), False),
        (Singleton(var(1), ENTRIES, LEAST), False),
        (If(Apply("greater", (Lookup(var(0), number(1)), number(0))), ENTRIES, COUNTED), False),
    ],
)
def test_rows_that_come_entry_by_entry(body: Term, expected: bool) -> None:
    assert is_apart(inside(body)) == expected


def test_how_many_keys_tell_iterations_apart() -> None:
    assert unique_keys(ALL, ENTRY, SYMBOLS) == 2
    assert unique_keys(ALL, Singleton(var(1), number(1)), SYMBOLS) == 1
    assert unique_keys(ALL, Singleton(var(0), number(1)), SYMBOLS) == 0
    assert unique_keys(ALL, Singleton(var(0), Singleton(number(0), number(1))), SYMBOLS) == 0
    assert unique_keys(ALL, number(1), SYMBOLS) == 0
    assert unique_keys(Slice(VALUE, number(0), Symbol("n")), ENTRY, SYMBOLS) == 0
