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
from storel.loops.walk import evaluated, parts, replaced, walk
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
    assert inner.reductions == ((before.local, "add"),)
    assert after.body == (Update(Y, I, "add", before.local),)
    assert after.condition == Binary("less", integer(0), N)


@pytest.mark.parametrize(("summand", "added_up", "total"), [
    (times(times(Load(X, I), Load(A, J)), Load(X, J)), times(Load(A, J), Load(X, J)), times(Load(X, I), SUM)),
    (times(Load(A, J), times(ZERO, Load(X, I))), Load(A, J), times(times(ZERO, Load(X, I)), SUM)),
    (times(Load(X, I), Load(X, I)), times(Load(X, I), Load(X, I)), SUM),
    (times(Load(X, J), Load(A, J)), times(Load(X, J), Load(A, J)), SUM),
    (times(Load(Y, J), Load(A, J)), times(Load(Y, J), Load(A, J)), None),
], ids=["some", "in another order", "all", "none", "what may change"])  # fmt: skip
def test_common_factors_are_multiplied_once(
    summand: Expression, added_up: Expression, total: Expression | None
) -> None:
    (outer,) = reordered(over(I, over(J, Update(Y, I, "add", summand))))
    assert isinstance(outer, For)
    if total is None:
        assert outer == over(I, over(J, Update(Y, I, "add", summand)))
        return
    before, inner, after = outer.body
    assert isinstance(before, Declare) and isinstance(inner, For) and isinstance(after, If)
    partial = before.local
    assert inner.body == (Assign(partial, Binary("add", partial, added_up, Role.VALUE)),)
    assert after.body == (Update(Y, I, "add", replaced(total, SUM, partial)),)


def test_only_of_sums_factors_are_taken() -> None:
    least = Update(Y, I, "minimum", times(Load(X, I), Load(A, J)))
    (outer,) = reordered(over(I, over(J, least)))
    assert isinstance(outer, For)
    (inner,) = loops(outer.body)
    assert any(least.value in parts(value) for value in evaluated(inner.body[0]))


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
    "no order": (over(J, Update(Y, I, "subtract", Load(X, J))),),
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
    assert loop.reductions == (((SUM, "add"),) if mark == "reduction" else ())
    assert loop.partial == ((SUM, "add") if mark == "partial" else None)


def test_several_sums_fill_lanes_together() -> None:
    best = Local("best", ScalarType.FLOAT64)
    greater = Assign(best, Binary("maximum", best, Load(A, J), Role.VALUE))
    (loop,) = loops(reordered(Declare(SUM, ZERO), Declare(best, ZERO), over(J, added(Load(A, J)), greater)))
    assert loop.reductions == ((SUM, "add"), (best, "maximum"))
    (loop,) = loops(reordered(Declare(SUM, ZERO), Declare(best, ZERO), over(J, added(best), greater)))
    assert not loop.reductions


@pytest.mark.parametrize(
    ("kind", "operator", "unit"),
    [
        (ScalarType.FLOAT64, "add", 0.0),
        (ScalarType.FLOAT32, "maximum", -np.inf),
        (ScalarType.INT32, "minimum", 2**31 - 1),
        (ScalarType.INT64, "multiply", 1),
    ],
)
def test_what_a_condition_leaves_out_is_combined_as_a_unit(
    kind: ScalarType, operator: str, unit: float
) -> None:
    total, value = Local("total", kind), Local("value", kind)
    test, read = Binary("less", ZERO, Load(A, J)), Load(Buffer("a", kind), J)
    combined = Assign(total, Binary(operator, total, value, Role.VALUE))
    (loop,) = loops(reordered(over(J, Declare(value, read), If(test, (combined,)))))
    assert loop.reductions == ((total, operator),)
    chosen = Select(test, value, Constant(unit, kind))
    assert loop.body[1] == Assign(total, Binary(operator, total, chosen, Role.VALUE))


def test_a_number_chosen_by_a_condition_is_added_in_lanes() -> None:
    chosen, test = Local("chosen", ScalarType.FLOAT64), Binary("less", ZERO, Load(A, J))
    value = times(Load(A, J), Load(X, J))

    def found(value: Expression, *, is_total: bool) -> For:
        branch = If(test, (Assign(chosen, value),), (), is_total)
        (loop,) = loops(reordered(Declare(SUM, ZERO), over(J, Declare(chosen, ZERO), branch, added(chosen))))
        return loop

    loop = found(value, is_total=True)
    assert loop.reductions == ((SUM, "add"),)
    assert loop.body == (Declare(chosen, Select(test, value, ZERO)), added(chosen))
    checked = found(value, is_total=False)
    gathered = found(Load(X, Load(KEYS, J)), is_total=True)
    function = found(Unary("exp", Load(A, J)), is_total=True)
    for kept in (checked, gathered, function):
        assert not kept.reductions and kept.partial is None
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
    assert bool(loop.reductions) == ("//" not in factor)


def test_strict_sums_stay_in_order() -> None:
    dense = np.ones((1500, 1500))
    program = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    found = {
        kind: storel.compile(program, A=dense, x=np.ones(1500), floating_point=kind).compilation.kernel
        for kind in ("strict", "reassociate")
    }
    assert not any(loop.reductions for loop in loops(found["strict"].compute.body))
    assert any(loop.reductions for loop in loops(found["reassociate"].compute.body))


def short(variable: Local, *body: Statement, end: int = 4) -> For:
    return For(variable, integer(0), integer(end), body)


def block(first: Local, second: Local, operator: str = "add") -> Update:
    """Return what a block of 4 × 4, in which ``second`` is the place in a row, does to y."""
    place = plus(Binary("multiply", first, integer(4)), second)
    return Update(Y, first, operator, times(Load(A, place), Load(X, second)))


def test_the_columns_of_a_block_become_its_rows() -> None:
    (outer,) = reordered(short(J, short(I, block(I, J))))
    assert isinstance(outer, For) and outer.local == I
    before, inner, after = outer.body
    assert isinstance(before, Declare) and isinstance(inner, For) and inner.local == J
    assert after == Update(Y, I, "add", before.local)  # there are four iterations, and no need to ask
    assert reordered(short(J, short(I, block(I, J)))) == reordered(short(I, short(J, block(I, J))))


def test_what_is_declared_in_a_block_is_followed() -> None:
    place = Local("place", ScalarType.INT64)
    update = Update(Y, I, "add", times(Load(A, place), Load(X, J)))
    declared = Declare(place, plus(Binary("multiply", I, integer(4)), J))
    (outer,) = reordered(short(J, short(I, declared, update)))
    assert isinstance(outer, For) and outer.local == I


@pytest.mark.parametrize(
    "nest",
    [
        pytest.param(short(J, short(I, Update(Y, I, "add", Load(A, I)))), id="consecutive already"),
        pytest.param(
            short(J, short(I, Update(Y, I, "add", Load(A, times(I, J))))), id="consecutive in no order"
        ),
        pytest.param(short(J, short(I, block(I, J, "min"))), id="no sum"),
        pytest.param(
            short(J, short(I, Update(Y, I, "add", times(Load(A, PLACE), Load(Y, J))))),
            id="read as it is written",
        ),
        pytest.param(short(J, short(I, block(I, J), Store(Y, I, ZERO))), id="more than a sum"),
        pytest.param(short(J, over(I, block(I, J))), id="long within"),
        pytest.param(over(J, short(I, block(I, J))), id="long around"),
        pytest.param(short(J, For(I, integer(0), J, (block(I, J),))), id="as long as the loop around says"),
        pytest.param(
            short(J, short(I, Update(Y, plus(I, J), "add", Load(A, times(I, J))))), id="not to one row"
        ),
    ],
)
def test_other_nests_stay_in_their_order(nest: For) -> None:
    (outer,) = reordered(nest)
    assert isinstance(outer, For) and outer.local == J


def test_blocks_by_columns_are_added_up_in_either_order() -> None:
    random = np.random.default_rng(0)
    matrix, vector = np.kron(random.integers(0, 2, (30, 30)), random.random((4, 4))), random.random(120)
    source = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
    for storage in ("bcsr(4, 4)", "bcsr(4, 8)", "bcsr(2, 4)"):
        found = storel.run(source, A=storel.tensor(matrix, storage), x=vector)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), matrix @ vector)
