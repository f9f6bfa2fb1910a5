"""Loops taken apart fill the same tables, and copies of tables are told from other loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Literal, Lookup, Multiply, Symbol, Term, Variable
from storel.plan.copies import Key, copied_keys
from storel.plan.fission import fission
from storel.plan.interpret import run
from storel.plan.nodes import (
    Accumulate,
    Action,
    Bind,
    Enter,
    Entries,
    Levels,
    Loop,
    Place,
    Plan,
    Positions,
    ScalarStore,
    TableStore,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol

N, M = Symbol("n"), Symbol("m")


def number(value: int) -> Term:
    return Literal(value, ScalarType.INT64)


def loop(high: Term, body: Action) -> Loop:
    return Loop(Positions(number(0), high), body)


CHAIN = "CREATE TENSOR R AS sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), c> in C) {(i, l) -> a * b * c}"


@pytest.fixture
def compiled() -> tuple[storel.Kernel, dict[str, Any]]:
    rng = np.random.default_rng(0)
    given = {"A": rng.random((6, 5)), "B": rng.random((5, 4)), "C": rng.random((4, 7))}
    return storel.compile(CHAIN, **given), given


def test_stages_are_done_one_after_the_other(compiled: tuple[storel.Kernel, dict[str, Any]]) -> None:
    kernel, given = compiled
    plan, symbols = kernel.compilation.plan, kernel.compilation.symbols
    apart = fission(plan)
    assert apart != plan
    assert isinstance(apart.action, Bind) and isinstance(apart.action.store, TableStore)
    assert len(apart.action.store.extents) == 2
    arrays = {f"{name}_val": array.ravel() for name, array in given.items()}
    before, after = (run(each, symbols, arrays) for each in (plan, apart))
    assert before == after
    want = given["A"] @ given["B"] @ given["C"]
    np.testing.assert_allclose(
        [[row[column] for column in range(7)] for _, row in sorted(after.items())], want
    )


T = Variable


def test_scalars_are_found_again_for_what_follows_a_stage() -> None:
    """Both the row that is stored and what is made of it read a number that belongs to the row."""
    real = ScalarType.FLOAT64
    leaf = ScalarStore(real, "add", 0.0)
    row = TableStore(real, "add", 0.0, (M,))
    filling = loop(M, Enter(T(0), Accumulate(Multiply(T(2), Lookup(Symbol("b"), T(0))))))
    using = loop(M, Enter(T(0), Accumulate(Multiply(T(3), Lookup(T(2), T(0))))))
    scaled = Bind(leaf, Accumulate(Lookup(Symbol("a"), T(0))), Enter(T(1), Bind(row, filling, using)))
    plan = Plan(Levels((Place(N), Place(M)), leaf), loop(N, scaled))
    apart = fission(plan)
    assert isinstance(apart.action, Bind) and apart.action.store == TableStore(real, "add", 0.0, (N, M))
    symbols = {
        "n": SizeSymbol("n", 3), "m": SizeSymbol("m", 2), "a": ArraySymbol("a", real, 3),
        "b": ArraySymbol("b", real, 2),
    }  # fmt: skip
    a, b = np.array([1.0, 2.0, 3.0]), np.array([5.0, 7.0])
    found = [run(each, symbols, {"a": a, "b": b}) for each in (plan, apart)]
    wanted = {i: {j: a[i] * a[i] * b[j] for j in range(2)} for i in range(3)}
    assert found == [wanted, wanted]


COPIES: dict[str, tuple[Action, tuple[Key, ...] | None]] = {
    "in order": (
        loop(N, Enter(T(0), loop(M, Enter(T(0), Accumulate(Lookup(Lookup(T(4), T(2)), T(0))))))),
        (Key(0, True), Key(1, True)),
    ),
    "transposed, below an outer key": (
        Enter(T(3), loop(M, Enter(T(0), loop(N, Enter(T(0), Accumulate(Lookup(Lookup(T(4), T(0)), T(2)))))))),
        (Key(2, False), Key(1, True), Key(0, True)),
    ),
    "by entries": (
        loop(N, Enter(T(0), Loop(Entries(Lookup(T(2), T(0))), Enter(T(1), Accumulate(T(0)))))),
        (Key(0, True), Key(1, True)),
    ),
    "of a part": (
        loop(N, Enter(T(0), loop(N, Enter(T(0), Accumulate(Lookup(Lookup(T(4), T(2)), T(0))))))),
        None,
    ),
    "of the diagonal": (loop(N, Enter(T(0), Accumulate(Lookup(Lookup(T(2), T(0)), T(0))))), None),
    "scaled": (
        loop(
            N,
            Enter(T(0), loop(M, Enter(T(0), Accumulate(Multiply(T(5), Lookup(Lookup(T(4), T(2)), T(0))))))),
        ),
        None,
    ),
    "summed": (loop(N, loop(M, Enter(T(0), Accumulate(Lookup(Lookup(T(4), T(2)), T(0)))))), None),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    action, keys = COPIES[name]
    assert copied_keys(action, (N, M)) == keys
