"""Each law as (before, after)."""

from __future__ import annotations

import pytest
from strategies.plans import number, var

from storel.calculus.nodes import (
    Apply,
    Find,
    If,
    Let,
    Lookup,
    Merge,
    Multiply,
    Range,
    Singleton,
    Sum,
    Symbol,
    Term,
)
from storel.optimizer.physical.normalize import (
    hoist_keys,
    inline_atoms,
    intersected,
    is_atom,
    name_tested,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol

A, B, N, S = Symbol("A"), Symbol("B"), Symbol("n"), Symbol("s")
R = Range(number(0), N)
PLUS = "plus_times"


def times(left: Term, right: Term) -> Multiply:
    return Multiply(left, right)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Let(N, times(var(0), var(1))), times(N, var(0))),
        (Let(var(3), times(var(0), var(1))), times(var(3), var(0))),
        (Let(number(2), Let(var(0), var(0))), number(2)),
        (Let(times(N, N), var(0)), Let(times(N, N), var(0))),
        (Sum(R, Let(var(0), times(var(0), var(2)))), Sum(R, times(var(0), var(1)))),
    ],
)
def test_atoms_are_inlined(before: Term, after: Term) -> None:
    assert inline_atoms(before) == after


INTEGERS = {name: ArraySymbol(name, ScalarType.INT64, 10) for name in "AB"}


def at(array: Term, place: Term) -> Lookup:
    return Lookup(array, place)


def least(term: Term) -> Apply:
    return Apply("less_equal", (number(0), term))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            If(least(at(A, var(0))), at(B, at(A, var(0)))),
            Let(at(A, var(0)), If(least(var(0)), at(B, var(0)))),
        ),
        (
            If(Apply("and", (least(at(A, N)), least(var(0)))), times(at(A, N), at(A, N))),
            Let(at(A, N), If(Apply("and", (least(var(0)), least(var(1)))), times(var(0), var(0)))),
        ),
        (
            If(Apply("equal", (at(A, N), at(B, N))), times(at(B, N), at(A, N))),
            Let(at(A, N), Let(at(B, N), If(Apply("equal", (var(1), var(0))), times(var(0), var(1))))),
        ),
        (
            Sum(R, If(least(at(A, var(0))), Singleton(at(A, var(0)), N))),
            Sum(R, Let(at(A, var(0)), If(least(var(0)), Singleton(var(0), N)))),
        ),
    ],
    ids=["an address", "a conjunct", "two", "a key"],
)
def test_elements_that_are_tested_and_used_are_named(before: Term, after: Term) -> None:
    assert name_tested(before, INTEGERS) == after


def test_values_that_are_no_addresses_are_not_named() -> None:
    term = If(least(at(A, N)), at(A, N))
    assert name_tested(term, {"A": ArraySymbol("A", ScalarType.FLOAT64, 10)}) == term


@pytest.mark.parametrize(
    "term",
    [
        If(least(at(A, var(0))), at(B, var(0))),
        If(Apply("and", (least(var(0)), least(at(A, var(0))))), at(A, var(0))),
        If(Apply("or", (least(var(0)), least(at(A, var(0))))), at(A, var(0))),
        If(least(Lookup(Sum(R, Singleton(var(1), N)), N)), Lookup(Sum(R, Singleton(var(1), N)), N)),
    ],
    ids=["not used", "read if another holds", "read if another fails", "no array"],
)
def test_what_is_not_read_in_any_case_is_not_named(term: Term) -> None:
    assert name_tested(term, INTEGERS) == term


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Sum(R, Singleton(var(3), var(0))), Singleton(var(1), Sum(R, var(0)))),
        (Sum(R, Singleton(N, var(1))), Singleton(N, Sum(R, var(1)))),
        (Sum(R, Singleton(var(1), var(0))), Sum(R, Singleton(var(1), var(0)))),
        (Sum(R, Sum(R, Singleton(var(3), var(0)))), Sum(R, Singleton(var(1), Sum(R, var(0))))),
        (Merge(A, B, Singleton(var(4), var(0))), Singleton(var(1), Merge(A, B, var(0)))),
        (Merge(A, B, Singleton(var(2), var(0))), Merge(A, B, Singleton(var(2), var(0)))),
        (Find(A, N, Singleton(var(1), var(0))), Singleton(var(0), Find(A, N, var(0)))),
        (Find(A, N, Singleton(var(0), N)), Find(A, N, Singleton(var(0), N))),
    ],
)
def test_keys_leave_the_sums_that_do_not_bind_them(before: Term, after: Term) -> None:
    assert hoist_keys(before) == after


def test_a_product_of_dictionaries_is_a_loop_over_the_first() -> None:
    entry = Singleton(var(1), times(var(0), Lookup(var(6), var(1))))
    assert intersected(A, var(4), PLUS) == Sum(A, entry)


@pytest.mark.parametrize(
    ("term", "cheap"), [(var(0), True), (N, True), (number(1), True), (times(N, N), False), (R, False)]
)
def test_what_costs_nothing_to_repeat(term: Term, cheap: bool) -> None:
    assert is_atom(term) is cheap
