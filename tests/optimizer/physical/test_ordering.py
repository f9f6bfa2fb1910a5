"""Keys of a dictionary of dictionaries, entered in another order."""

from __future__ import annotations

import pytest

from storel.calculus.nodes import (
    Add,
    Empty,
    If,
    Let,
    Literal,
    Lookup,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.optimizer.physical.ordering import binding_orders, reordered
from storel.scalars import ScalarType

N, X = Symbol("n"), Symbol("x")
ONE = Literal(1, ScalarType.INT64)
ROWS = Range(ONE, N)


def var(index: int) -> Variable:
    return Variable(index)


def nest(*keys: Term, value: Term = X) -> Term:
    for key in reversed(keys):
        value = Singleton(key, value)
    return value


PAIRS = [
    (nest(N, ONE), (0, 1), nest(N, ONE)),
    (nest(N, ONE), (1, 0), nest(ONE, N)),
    (nest(N, ONE, X), (2, 0, 1), nest(X, N, ONE)),
    (nest(N, ONE, X), (0, 2, 1), nest(N, X, ONE)),
    (
        Sum(ROWS, Singleton(var(0), Sum(ROWS, nest(var(0))))),
        (1, 0),
        Sum(ROWS, Sum(ROWS, nest(var(0), var(2)))),
    ),
    (Singleton(N, Let(X, nest(var(0)))), (1, 0), Let(X, nest(var(0), N))),
    (Singleton(N, If(X, nest(ONE))), (1, 0), If(X, nest(ONE, N))),
    (Singleton(N, Add(nest(ONE), nest(X))), (1, 0), Add(nest(ONE, N), nest(X, N))),
    (Singleton(N, Empty(1)), (1, 0), Empty(2)),
    (Singleton(N, Lookup(X, ONE)), (1, 0), None),
    (nest(Sum(ROWS, var(0)), ONE), (1, 0), None),
]


@pytest.mark.parametrize(("term", "order", "expected"), PAIRS)
def test_keys_change_places(term: Term, order: tuple[int, ...], expected: Term | None) -> None:
    assert reordered(term, order) == expected


@pytest.mark.parametrize(
    ("term", "orders"),
    [
        (nest(N, ONE), ((0, 1),)),
        (Sum(ROWS, Sum(ROWS, nest(var(0), var(2)))), ((1, 0),)),
        (Sum(ROWS, Sum(ROWS, nest(var(2), var(0)))), ((0, 1),)),
        (Sum(ROWS, nest(var(0), var(1))), ((0, 1),)),
        (Sum(ROWS, Let(ONE, nest(var(0), var(2)))), ((1, 0),)),
        (Sum(ROWS, Add(nest(N, var(0)), nest(var(0), N))), ((0, 1), (1, 0))),
        (Sum(ROWS, Singleton(var(0), Sum(ROWS, nest(var(0), N)))), ((2, 0, 1),)),
    ],
)
def test_loops_bind_keys_in_an_order(term: Term, orders: tuple[tuple[int, ...], ...]) -> None:
    assert binding_orders(term, len(orders[0])) == orders
