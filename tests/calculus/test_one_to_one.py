"""Which parts of an array lie between two neighbouring boundaries."""

from __future__ import annotations

import pytest

from storel.calculus.nodes import Add, Apply, Literal, Lookup, Symbol, Term, Variable
from storel.calculus.one_to_one import is_segment
from storel.scalars import ScalarType

KEY, OTHER = Variable(0), Variable(1)


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


def less(term: Term, value: int) -> Term:
    return Apply("subtract", (term, number(value)))


def more(term: Term, value: int) -> Term:
    return Add(term, number(value))


@pytest.mark.parametrize(
    ("start", "stop", "expected"),
    [
        (KEY, more(KEY, 1), True),
        (KEY, Add(number(1), KEY), True),
        (less(KEY, 1), KEY, True),
        (less(KEY, 2), more(less(KEY, 2), 1), True),
        (more(KEY, 1), more(more(KEY, 1), 1), True),
        (number(3), number(4), True),
        (number(0), more(KEY, 1), False),
        (KEY, KEY, False),
        (KEY, more(KEY, 2), False),
        (KEY, less(KEY, 1), False),
        (KEY, more(OTHER, 1), False),
        (Add(KEY, OTHER), more(Add(KEY, OTHER), 1), True),
    ],
)
def test_segments(start: Term, stop: Term, expected: bool) -> None:
    low, high = (Lookup(Symbol("pos"), key) for key in (start, stop))
    assert is_segment("pos", low, high) is expected
    assert not is_segment("other", low, high)
    assert not is_segment("pos", low, stop)
