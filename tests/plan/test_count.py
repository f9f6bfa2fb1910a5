"""``total`` is at least what an action enters, in closed form where that needs no loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.plans import ADD, csr_symbols, number, planned, real, row, upto, var

import storel
from storel.calculus.binding import shift
from storel.calculus.nodes import Apply, Literal, Lookup, Multiply, Symbol, Term
from storel.plan import interpret
from storel.plan.count import insertions, total
from storel.plan.nodes import (
    ANY_KEY,
    Accumulate,
    Action,
    Bind,
    Elements,
    Enter,
    Entries,
    Guard,
    HashStore,
    Intersection,
    Levels,
    ListStore,
    Loop,
    Matches,
    Plan,
    Positions,
    ScalarStore,
    Together,
    Unite,
)
from storel.plan.printer import render
from storel.scalars import ScalarType
from storel.storage.tensor import Tensor

M, N = Symbol("m"), Symbol("n")
X = Elements("A_idx", number(0), N)
ONE = Enter(var(0), Accumulate(real(1.0)))
COUNTER = ScalarStore(ScalarType.INT64, "add", 0)


def least(left: Term, right: Term) -> Apply:
    return Apply("minimum", (left, right))


def matches(*, unique: bool) -> Matches:
    return Matches("A_idx", number(0), N, number(2), unique)


def filled(body: Action) -> Bind:
    return Bind(ListStore(ScalarType.FLOAT64, "add", 0, N), Loop(X, ONE), body)


@pytest.mark.parametrize(
    ("action", "counted"),
    [
        (Accumulate(real(2.0)), Accumulate(number(0))),
        (Together(()), Together(())),
        (ONE, Accumulate(number(1))),
        (Loop(upto("n"), ONE), Accumulate(N)),
        (Loop(X, ONE), Accumulate(N)),
        (Loop(matches(unique=True), ONE), Accumulate(number(1))),
        (Loop(matches(unique=False), ONE), Loop(matches(unique=False), Accumulate(number(1)))),
        (Loop(Intersection(X, X), ONE), Accumulate(least(N, N))),
        (Loop(upto("m"), Loop(upto("n"), ONE)), Accumulate(Multiply(M, N))),
        (filled(Loop(Entries(var(0)), ONE)), Accumulate(N)),
        (Guard(Symbol("beta"), ONE), Accumulate(number(1))),
        (Together((ONE, ONE)), Together((Accumulate(number(1)), Accumulate(number(1))))),
        (Unite((Loop(X, ONE),)), Together((Accumulate(N),))),
        (Bind(ADD, Accumulate(real(3.0)), ONE), Accumulate(number(1))),
    ],
)
def test_arrivals_in_closed_form(action: Action, counted: Action) -> None:
    assert total(action, 0) == counted


@pytest.mark.parametrize(
    ("level", "extents", "text"),
    [
        (0, (M, N), "accumulate min(m, m)"),
        (1, None, """loop i, i in 0:m
  loop p, k in A_idx(A_pos(i):A_pos(i + 1))
    accumulate max(0, B_pos(k + 1) - B_pos(k))"""),
        (1, (M, N), """loop i, i in 0:m
  bind t: int64 (add) <-
    loop p, k in A_idx(A_pos(i):A_pos(i + 1))
      accumulate max(0, B_pos(k + 1) - B_pos(k))
  accumulate min(t, n)"""),
    ],
)  # fmt: skip
def test_a_matrix_product_is_counted_in_one_pass_over_its_left_operand(
    level: int, extents: tuple[Term, ...] | None, text: str
) -> None:
    product = Loop(upto("m"), Enter(var(0), Loop(row(var(0)), Loop(row(var(0), "B"), ONE))))
    counted = total(product, level, extents)
    assert counted is not None
    lines = render(Plan(Levels((), COUNTER), counted)).splitlines()[1:]
    assert "\n".join(line[2:] for line in lines) == text


def test_what_depends_on_computed_values_has_no_count() -> None:
    length = Bind(ADD, Loop(X, Accumulate(real(1.0))), Loop(Elements("A_idx", number(0), var(0)), ONE))
    assert total(length, 0) is None
    assert total(Together((ONE, length)), 0) is None
    assert total(Loop(upto("m"), Enter(var(0), length)), 1, (M, N)) is None


def test_a_guard_that_reads_a_store_is_not_counted() -> None:
    guarded = filled(Loop(Entries(var(0)), Guard(var(0), ONE)))
    assert total(guarded, 0) == Accumulate(N)


def test_a_guard_on_what_a_loop_computes_is_not_asked() -> None:
    """To compute it may take stores of its own, and without it there are only more."""
    found = Bind(TRUTH, Loop(X, Accumulate(real(1.0))), Guard(var(0), ONE))
    assert total(found, 0) == Accumulate(number(1))
    within = Bind(TRUTH, Loop(X, Accumulate(real(1.0))), Loop(upto("m"), Guard(var(1), Loop(X, ONE))))
    assert total(within, 0) == Accumulate(Multiply(M, N))
    rest = Guard(Symbol("beta"), Guard(var(0), Loop(row(var(2)), ONE)))
    each = Bind(TRUTH, Loop(X, Accumulate(real(1.0))), rest)
    left = Guard(Symbol("beta"), Accumulate(shift(LENGTH, 1)))
    expected = Loop(upto("m"), Bind(COUNTER, Accumulate(number(0)), left))
    assert total(Loop(upto("m"), each), 0) == expected


HASH = HashStore(ScalarType.FLOAT64, "add", 0, (ANY_KEY,))
PAIRS = HashStore(ScalarType.FLOAT64, "add", 0, (M, N))
SEVEN = Accumulate(number(7))
TWICE = Loop(X, Loop(upto("m"), Enter(var(2), ONE)))
SEGMENT = row(var(1))
LENGTH = Apply("maximum", (number(0), Apply("subtract", (SEGMENT.high, SEGMENT.low))))
TRUTH = ScalarStore(ScalarType.BOOL, "add", False)


@pytest.mark.parametrize(
    ("action", "counted"),
    [
        (SEVEN, ()),
        (Bind(HASH, Together(()), SEVEN), (Bind(COUNTER, Together(()), Accumulate(var(0))),)),
        (Bind(HASH, Loop(X, ONE), SEVEN), (Accumulate(N),)),
        (Bind(HASH, Bind(HASH, ONE, Loop(X, ONE)), SEVEN), (Accumulate(N), Accumulate(number(1)))),
        (Loop(upto("m"), Bind(HASH, Loop(X, ONE), SEVEN)), (Accumulate(N),)),
        (Loop(upto("m"), Bind(HASH, Loop(SEGMENT, ONE), SEVEN)), (Loop(upto("m"), Accumulate(LENGTH)),)),
        (Guard(Symbol("beta"), Bind(HASH, Loop(X, ONE), SEVEN)), (Accumulate(N),)),
        (Bind(PAIRS, TWICE, SEVEN), (Accumulate(Multiply(N, M)),)),
        (Bind(HASH, ONE, Loop(Entries(var(0)), Bind(HASH, ONE, SEVEN))), (Accumulate(number(1)),) * 2),
        (
            Bind(HASH, Loop(X, ONE), Loop(Entries(var(0)), Bind(HASH, Guard(var(1), Loop(X, ONE)), SEVEN))),
            (Accumulate(N), Accumulate(N)),
        ),
    ],
)
def test_the_keys_of_a_hash_store_are_counted(action: Action, counted: tuple[Action, ...]) -> None:
    assert insertions(action) == counted


@pytest.mark.parametrize(
    ("outer", "scan", "factor"),
    [
        (HASH, Loop(Entries(var(0)), ONE), None),
        (HASH, Loop(Entries(var(0)), Loop(upto("m"), ONE)), M),
        (PAIRS, Loop(Entries(var(0)), Loop(Entries(var(0)), ONE)), None),
        (PAIRS, Loop(Entries(var(0)), Loop(Entries(var(0)), Loop(upto("m"), ONE))), M),
        (PAIRS, Loop(Entries(Lookup(var(0), number(2))), ONE), None),
    ],
)
def test_a_scan_of_a_hash_store_is_counted_by_its_entries(
    outer: HashStore, scan: Action, factor: Term | None
) -> None:
    filled = Loop(X, ONE if outer == HASH else Enter(var(0), ONE))
    each = var(0) if factor is None else Multiply(var(0), factor)
    expected = Bind(COUNTER, Accumulate(N), Accumulate(each))
    assert total(Bind(outer, filled, scan), 0) == expected
    _, inner = insertions(Bind(outer, filled, Bind(HASH, scan, SEVEN)))
    assert inner == expected


def test_a_scan_whose_length_is_a_stored_value_is_not_counted() -> None:
    upto_value = Loop(Positions(number(0), var(0)), ONE)
    assert total(Bind(HASH, Loop(X, ONE), Loop(Entries(var(0)), upto_value)), 0) is None
    upto_found = Loop(Positions(number(0), Lookup(var(0), number(1))), ONE)
    assert total(Bind(HASH, Loop(X, ONE), upto_found), 0) is None


PROGRAMS = [
    "sum(<(i, j), a> in A) { (i, j) -> a }",
    "sum(<(i, j), a> in A) { (j, i) -> a }",
    "sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
    "A + B",
    "A * B",
    "sum(<(i, j), a> in A) if (a > 0) then { (i, j) -> a }",
    "sum(<(i, j), a> in A, <(j, k), b> in B) { (k, i) -> a + b }",
    "sum(<i, row> in A) { i -> sum(<j, a> in row) { j -> a * B(j, i) } }",
]


def entered(value: Any, level: int) -> int:
    """Return the number of entries of a nested dictionary at ``level``."""
    return len(value) if level == 0 else sum(entered(inner, level - 1) for inner in value.values())


def square(values: list[int]) -> Tensor | Any:
    return np.array(values, dtype=np.float64).reshape(3, 3)


MATRICES = st.lists(st.sampled_from([0, 0, 0, 1, -1, 2]), min_size=9, max_size=9).map(square)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(PROGRAMS), MATRICES, MATRICES, st.sampled_from(["dense", "csr", "coo", "csc", "dcsr"]))
def test_a_result_has_no_more_entries_than_are_counted(program: str, a: Any, b: Any, storage: str) -> None:
    operands = {"A": storel.tensor(a, storage), "B": storel.tensor(b, "csr")}
    used = {name: tensor for name, tensor in operands.items() if name in program}
    made = planned(f"CREATE TENSOR r STORED AS csr AS {program}", **used)
    plan, symbols = made.compilation.plan, made.compilation.symbols
    result = interpret.run(plan, symbols, made.values)
    closed = (Literal(3, ScalarType.INT64),) * 2
    for level in (0, 1):
        for extents in (None, closed):
            counted = total(plan.action, level, extents)
            if counted is not None:
                bound = interpret.run(Plan(Levels((), COUNTER), counted), symbols, made.values)
                assert entered(result, level) <= bound


def test_the_symbols_of_a_count_are_those_of_the_plan() -> None:
    counted = total(Loop(row(number(0)), ONE), 0)
    assert counted is not None
    pos = np.array([0, 3, 3, 4])
    values = {"A_pos": pos, "A_idx": np.array([0, 1, 2, 3], np.int32)}
    assert interpret.run(Plan(Levels((), COUNTER), counted), csr_symbols(), values) == 3
