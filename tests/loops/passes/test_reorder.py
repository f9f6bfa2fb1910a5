"""Sums are taken out of memory, and marked for vectors, exactly where that keeps their value."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import SIZES, index, integer, plus

import storel
from storel.loops.nodes import (
    Assign,
    Binary,
    Buffer,
    Constant,
    Declare,
    Expression,
    For,
    If,
    Kernel,
    Load,
    Local,
    Procedure,
    Role,
    Select,
    Statement,
    Store,
    Unary,
    Update,
)
from storel.loops.passes.reorder import reorder
from storel.loops.walk import walk
from storel.scalars import ScalarType

A, X, Y = Buffer("a", ScalarType.FLOAT64), Buffer("x", ScalarType.FLOAT64), Buffer("y", ScalarType.FLOAT64)
KEYS = Buffer("keys", ScalarType.INT64, Role.INDEX)
I, J, N = index("i"), index("j"), index("n")  # noqa: E741
SUM = Local("sum", ScalarType.FLOAT64)
ZERO = Constant(0.0, ScalarType.FLOAT64)


def times(left: Expression, right: Expression) -> Binary:
    return Binary("multiply", left, right, Role.VALUE)


def added(value: Expression) -> Assign:
    return Assign(SUM, Binary("add", SUM, value, Role.VALUE))


def over(variable: Local, *body: Statement) -> For:
    return For(variable, integer(0), N, body)


def reordered(*body: Statement) -> tuple[Statement, ...]:
    """Return the body of a kernel that reads a, x and keys, and writes y, once it is reordered."""
    bound = Procedure("bound", (), (A, X, KEYS, SIZES), ())
    made = Kernel(bound, Procedure("compute", (), (A, X, KEYS, Y), body), ())
    return reorder(made).compute.body


PLACE = plus(Binary("multiply", I, N), J)
"""The place of (i, j) in a matrix of rows of n."""

ROWS = (over(I, over(J, Update(Y, I, "add", times(Load(A, PLACE), Load(X, J))))),)


def loops(body: tuple[Statement, ...]) -> list[For]:
    return [each for each in walk(body) if isinstance(each, For)]


def test_a_place_that_does_not_change_is_updated_once() -> None:
    (outer,) = reordered(*ROWS)
    assert isinstance(outer, For)
    before, inner, after = outer.body
    assert isinstance(before, Declare) and isinstance(inner, For) and isinstance(after, If)
    assert inner.reduction == (before.local, "add")
    assert after.body == (Update(Y, I, "add", before.local),)
    assert after.condition == Binary("less", integer(0), N)


def test_a_loop_whose_end_may_have_moved_is_kept() -> None:
    end = index("end")
    grows = For(J, integer(0), end, (Update(Y, I, "add", Load(X, J)), Assign(end, plus(end, integer(1)))))
    body = (Declare(end, N), grows)
    assert reordered(over(I, *body)) == (over(I, *body),)


KEPT: dict[str, tuple[Statement, ...]] = {
    "the place changes": (over(J, Update(Y, J, "add", Load(X, J))),),
    "the place is read": (over(J, Update(Y, I, "add", Load(Y, J))),),
    "the place is stored": (over(J, Update(Y, I, "add", Load(X, J)), Store(Y, J, ZERO)),),
    "two operators": (over(J, Update(Y, I, "add", Load(X, J)), Update(Y, J, "multiply", Load(X, J))),),
    "no unit": (over(J, Update(Y, I, "minimum", Load(X, J))),),
    "only sometimes": (over(J, If(Binary("less", J, I), (Update(Y, I, "add", Load(X, J)),))),),
    "the place is found in the loop": (
        over(J, Declare(index("k"), Load(KEYS, J)), Update(Y, index("k"), "add", Load(X, J))),
    ),
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_other_updates_stay(body: tuple[Statement, ...]) -> None:
    assert reordered(over(I, *body)) == (over(I, *body),)


REDUCED: dict[str, tuple[str, tuple[Statement, ...]]] = {
    "consecutive": ("reduction", (added(times(Load(A, plus(I, J)), Load(X, J))),)),
    "with another update": ("reduction", (added(Load(A, J)), Update(Y, J, "add", Load(A, J)))),
    "gathered": ("partial", (Declare(index("k"), Load(KEYS, J)), added(Load(X, index("k"))))),
    "with steps": ("partial", (added(Load(A, Binary("multiply", J, integer(2)))),)),
    "backward": ("partial", (added(Load(A, Binary("subtract", N, J))),)),
    "nothing consecutive": ("", (added(Load(A, I)),)),
    "the sum is used": ("", (added(times(SUM, Load(A, J))),)),
    "two updates of one buffer": (
        "",
        (added(Load(A, J)), Update(Y, J, "add", ZERO), Update(Y, plus(J, integer(1)), "add", ZERO)),
    ),
    "what is updated is read": ("", (added(Load(Y, J)), Update(Y, plus(J, integer(1)), "add", ZERO))),
    "gathered, with an update": ("", (added(Load(X, Load(KEYS, J))), Update(Y, J, "add", Load(A, J)))),
    "a condition": ("", (If(Binary("less", J, I), (added(Load(A, J)),)),)),
}


@pytest.mark.parametrize(("mark", "body"), REDUCED.values(), ids=REDUCED)
def test_sums_are_marked(mark: str, body: tuple[Statement, ...]) -> None:
    """Consecutive ones fill the lanes of a vector; others are added up in parts."""
    made = reordered(Declare(SUM, ZERO), over(J, *body))
    (loop,) = loops(made)
    assert loop.reduction == ((SUM, "add") if mark == "reduction" else None)
    assert loop.partial == ((SUM, "add") if mark == "partial" else None)


def test_a_number_chosen_by_a_condition_is_added_in_lanes() -> None:
    chosen, test = Local("chosen", ScalarType.FLOAT64), Binary("less", ZERO, Load(A, J))
    value = times(Load(A, J), Load(X, J))

    def found(value: Expression, *, is_total: bool) -> For:
        branch = If(test, (Assign(chosen, value),), (), is_total)
        (loop,) = loops(reordered(Declare(SUM, ZERO), over(J, Declare(chosen, ZERO), branch, added(chosen))))
        return loop

    loop = found(value, is_total=True)
    assert loop.reduction == (SUM, "add")
    assert loop.body == (Declare(chosen, Select(test, value, ZERO)), added(chosen))
    checked = found(value, is_total=False)
    gathered = found(Load(X, Load(KEYS, J)), is_total=True)
    function = found(Unary("exp", Load(A, J)), is_total=True)
    for kept in (checked, gathered, function):
        assert kept.reduction is None and kept.partial is None
        assert isinstance(kept.body[1], If)


@pytest.mark.parametrize(("factor", "length"), [("B(i)", 64), ("B(i // 3)", 22), ("B(i)", 22)])
def test_conditional_sums_read_nothing_outside(factor: str, length: int) -> None:
    values, other = np.where(np.arange(64) % 3 == 0, np.arange(64) / 3, -1.0), np.arange(1.0, length + 1)
    script = f"CREATE TENSOR s AS sum(<i, a> in A) if (a > 0) then a * {factor}"
    kernel = storel.compile(script, A=values, B=other)
    read = np.append(other, np.zeros(64))[np.arange(64) // (3 if "//" in factor else 1)]
    result = kernel(A=values, B=other)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (np.maximum(values, 0) * read).sum())
    (loop,) = loops(kernel.compilation.kernel.compute.body)
    assert (loop.reduction is not None) == ("//" not in factor)


def test_strict_sums_stay_in_order() -> None:
    dense = np.ones((1500, 1500))
    program = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    found = {
        kind: storel.compile(program, A=dense, x=np.ones(1500), floating_point=kind).compilation.kernel
        for kind in ("strict", "reassociate")
    }
    assert not any(loop.reduction for loop in loops(found["strict"].compute.body))
    assert any(loop.reduction for loop in loops(found["reassociate"].compute.body))
