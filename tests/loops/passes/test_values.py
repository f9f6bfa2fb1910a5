"""Innermost loops compute once what two of their statements need, where it means the same in both."""

from __future__ import annotations

import numpy as np
import pytest
from strategies.loops import FLOAT64, N, check, index, integer, kernel, plus

from storel.loops.nodes import (
    Allocation,
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
    Role,
    Statement,
    Store,
    Unary,
    Update,
)
from storel.loops.passes.values import compute_once
from storel.loops.verify import verify
from storel.loops.walk import all_parts, evaluated, walk

X, Y, Z = (Buffer(name, FLOAT64) for name in "xyz")
I = index("i")  # noqa: E741
A, TOTAL = Local("a", FLOAT64), Local("total", FLOAT64)
ELEMENTS = np.random.default_rng(3).random(20)


def value(operator: str, left: Expression, right: Expression) -> Binary:
    return Binary(operator, left, right, Role.VALUE)


def root(of: Expression) -> Unary:
    return Unary("sqrt", of, Role.VALUE)


def over(*body: Statement) -> For:
    return For(I, integer(0), N, body)


def numbered(*body: Statement) -> Kernel:
    outputs: list[tuple[Allocation, Expression]]
    outputs = [(Allocation(each, slot, is_output=True, fill=0), N) for slot, each in enumerate((Y, Z))]
    made = compute_once(kernel([X], outputs, list(body)))
    verify(made)
    return made


def roots(made: Kernel) -> int:
    found = (part for each in walk(made.compute.body) for part in all_parts(evaluated(each)))
    return sum(isinstance(part, Unary) for part in found)


ELEMENT = Load(X, I)
GROWN = plus(TOTAL, ELEMENT)
PRODUCT = value("multiply", ELEMENT, root(ELEMENT))


def test_the_largest_value_and_those_in_it_are_computed_once() -> None:
    twice = value("add", PRODUCT, PRODUCT)
    made = numbered(over(Store(Y, I, twice), Update(Z, I, "add", value("multiply", twice, root(ELEMENT)))))
    assert roots(made) == 1
    x = ELEMENTS
    check(made, {"n": 20}, {"x": x}, {"y": 2 * x * np.sqrt(x), "z": 2 * x * x})
    assert numbered(*made.compute.body).compute.body == made.compute.body


def test_a_value_that_a_local_has_is_that_of_another() -> None:
    body = (Declare(A, root(ELEMENT)), Store(Y, I, A), Store(Z, I, value("add", root(ELEMENT), A)))
    made = numbered(Declare(TOTAL, Constant(0.0, FLOAT64)), over(*body))
    assert roots(made) == 1
    check(made, {"n": 20}, {"x": ELEMENTS}, {"y": np.sqrt(ELEMENTS), "z": 2 * np.sqrt(ELEMENTS)})


def test_what_only_a_branch_needs_stays_there() -> None:
    is_large = Binary("less", Constant(0.5, FLOAT64), ELEMENT)
    made = numbered(over(If(is_large, (Store(Y, I, PRODUCT),)), If(is_large, (Store(Z, I, PRODUCT),))))
    assert roots(made) == 2
    expected = np.where(ELEMENTS > 0.5, ELEMENTS * np.sqrt(ELEMENTS), 0)
    check(made, {"n": 20}, {"x": ELEMENTS}, {"y": expected, "z": expected})


def test_what_a_guard_lets_pass_is_not_computed_before_it() -> None:
    """The element after the last one is not read."""
    following = root(Load(X, plus(I, integer(1))))
    is_inside = Binary("less", plus(I, integer(1)), N)
    is_large = Binary("and", is_inside, Binary("less", Constant(0.5, FLOAT64), following))
    body = (If(is_large, (Store(Y, I, ELEMENT),)), If(is_large, (Store(Z, I, ELEMENT),)))
    made = numbered(over(*body))
    assert roots(made) == 2
    expected = np.append(np.where(np.sqrt(ELEMENTS[1:]) > 0.5, ELEMENTS[:-1], 0), 0)
    check(made, {"n": 20}, {"x": ELEMENTS}, {"y": expected, "z": expected})


@pytest.mark.parametrize("body", [
    (Update(Y, I, "add", root(GROWN)), Assign(TOTAL, ELEMENT), Store(Z, I, root(GROWN))),
    (Store(Y, I, root(Load(Z, I))), Store(Z, I, ELEMENT), Update(Y, I, "add", root(Load(Z, I)))),
], ids=["local", "array"])  # fmt: skip
def test_a_value_that_changes_is_computed_again(body: tuple[Statement, ...]) -> None:
    made = numbered(Declare(TOTAL, Constant(0.0, FLOAT64)), over(*body))
    assert roots(made) == 2
    before = np.concatenate(([0], ELEMENTS[:-1]))
    changes = {"y": np.sqrt(before + ELEMENTS), "z": np.sqrt(2 * ELEMENTS)}
    is_local = isinstance(body[1], Assign)
    check(made, {"n": 20}, {"x": ELEMENTS}, changes if is_local else {"y": np.sqrt(ELEMENTS), "z": ELEMENTS})
