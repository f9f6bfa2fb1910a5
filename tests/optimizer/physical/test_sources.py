"""Ranges that are co-iterated or searched, which no array holds, are conditions."""

from __future__ import annotations

import numpy as np
import pytest

from storel.calculus.interpret import evaluate
from storel.calculus.nodes import (
    Add,
    Find,
    Literal,
    Merge,
    Multiply,
    Range,
    Singleton,
    Slice,
    Symbol,
    Term,
    Variable,
)
from storel.optimizer.physical.plan import Request, plan_term
from storel.plan.interpret import run
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

SYMBOLS = {"a": ArraySymbol("a", ScalarType.INT64, 4, low=0, high=7, increasing=True)}
VALUES = {"a": np.array([0, 2, 5, 7])}


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


A, WIDE, NARROW = Symbol("a"), Range(number(2), number(9)), Range(number(1), number(6))
PART, TAIL = Slice(WIDE, number(4), number(8)), Slice(Slice(A, number(1), number(4)), number(2), number(3))
POSITIONS = Add(Multiply(number(100), Variable(2)), Add(Multiply(number(10), Variable(1)), Variable(0)))


@pytest.mark.parametrize("body", [POSITIONS, Singleton(Variable(0), POSITIONS)], ids=["number", "dictionary"])
@pytest.mark.parametrize(
    "sources", [(WIDE, NARROW), (A, WIDE), (NARROW, A), (A, PART), (PART, TAIL), (TAIL, NARROW), (TAIL, A)]
)
def test_a_merge_with_a_range_is_planned(sources: tuple[Term, Term], body: Term) -> None:
    assert_means_itself(Merge(*sources, body), 8 if isinstance(body, Singleton) else None)


@pytest.mark.parametrize("key", [1, 2, 4, 5, 6, 9])
@pytest.mark.parametrize("source", [WIDE, NARROW, PART, TAIL])
def test_a_search_in_a_range_is_planned(source: Term, key: int) -> None:
    assert_means_itself(Find(source, number(key), Add(Variable(0), number(1))), None)


def assert_means_itself(term: Term, extent: int | None) -> None:
    request = Request(() if extent is None else (extent,), None, 1.0)
    plan = plan_term(term, request, SYMBOLS)
    assert run(plan, SYMBOLS, VALUES) == evaluate(term, SYMBOLS, VALUES)
