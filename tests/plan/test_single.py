"""Whether a reduction has any values is told by the ends of its loops, where nothing else leaves some out."""

from __future__ import annotations

import pytest
from strategies.plans import number, read, row, upto, var

from storel.calculus.nodes import Apply, Symbol, Term
from storel.plan.nodes import Accumulate, Action, Guard, Loop, Positions
from storel.plan.single import adds_values_where

VALUE = Accumulate(read("x", var(0)))
M, N = Symbol("m"), Symbol("n")


def less(low: Term, high: Term) -> Apply:
    return Apply("less", (low, high))


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (VALUE, ()),
        (Loop(upto("m"), VALUE), (less(number(0), M),)),
        (Loop(upto("m"), Loop(upto("n"), VALUE)), (less(number(0), M), less(number(0), N))),
        (Loop(upto("m"), Loop(Positions(var(2), N), VALUE)), (less(number(0), M), less(var(0), N))),
        # inner loops that differ in length, and values that are left out
        (Loop(upto("m"), Loop(row(var(0)), VALUE)), None),
        (Loop(upto("m"), Guard(less(var(0), N), VALUE)), None),
    ],
)
def test_a_reduction_has_values_where_its_loops_run(
    action: Action, expected: tuple[Term, ...] | None
) -> None:
    assert adds_values_where(action) == expected
