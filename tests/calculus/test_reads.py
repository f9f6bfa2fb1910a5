from __future__ import annotations

import pytest

from storel.calculus.intervals import Interval
from storel.calculus.nodes import Add, Apply, Literal, Range, Slice, Symbol, Term, Variable
from storel.calculus.reads import reads_in_bounds
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

SYMBOLS = {"pos": ArraySymbol("pos", ScalarType.INT64, 6)}
ROW = (Interval(0, 4),)


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


READS: list[tuple[Term, Term, bool]] = [
    (Symbol("pos"), Add(Variable(0), number(1)), True),
    (Symbol("pos"), Add(Variable(0), number(2)), False),
    (Symbol("pos"), Apply("subtract", (Variable(0), number(1))), False),
    (Slice(Symbol("pos"), number(0), number(5)), Variable(0), True),
    (Slice(Symbol("pos"), number(1), number(5)), Variable(0), False),
    (Slice(Symbol("pos"), number(0), number(9)), Add(Variable(0), number(2)), False),
    (Range(number(0), number(5)), Variable(0), True),
    (Range(number(0), number(4)), Variable(0), False),
    (Range(number(0), Symbol("unknown")), Variable(0), False),
]


@pytest.mark.parametrize(("array", "key", "expected"), READS)
def test_reads_are_proved_in_bounds_or_not(array: Term, key: Term, expected: bool) -> None:
    assert reads_in_bounds(array, key, SYMBOLS, ROW) == expected
