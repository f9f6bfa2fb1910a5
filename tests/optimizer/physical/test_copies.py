"""A part of a stored dictionary is a copy of it, whatever it takes to compute its key."""

from __future__ import annotations

import numpy as np
import pytest

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import Let, Literal, Lookup, Range, Singleton, Sum, Symbol, Term, Variable
from storel.optimizer.physical.plan import Request, plan_term
from storel.plan.interpret import run
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

SYMBOLS = {"a": ArraySymbol("a", ScalarType.INT64, 4, low=0, high=7, increasing=True)}
VALUES = {"a": np.array([0, 2, 5, 7])}


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


ROWS = Sum(Symbol("a"), Singleton(Variable(0), Singleton(Variable(1), Variable(0))))
FIVE = Sum(Range(number(0), number(5)), number(1))


@pytest.mark.parametrize("key", [number(5), FIVE, Lookup(Lookup(Variable(0), FIVE), number(2))])
def test_a_row_is_copied(key: Term) -> None:
    term = Let(ROWS, Lookup(Variable(0), key))
    plan = plan_term(term, Request((4,), None, 1.0), SYMBOLS)
    assert run(plan, SYMBOLS, VALUES) == evaluate(term, SYMBOLS, VALUES) == {2: 5}
