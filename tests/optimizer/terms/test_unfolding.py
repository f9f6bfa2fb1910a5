"""Chains of names that are used several times are planned as written, not as they would be written out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Add, Let, Multiply, Sum, Symbol, Term, Variable
from storel.calculus.walk import length
from storel.optimizer.terms.unfolding import is_unfolded, nested, written_out

X = np.array([0.1, 0.2, 0.05, 1.5])
W = np.array([[0.5, 0.0, 1.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.0]])


def chain(count: int) -> Term:
    """Return ``let x = n in let y = x + x in …``."""
    term: Term = Variable(0)
    for _ in range(count):
        term = Let(Add(Variable(0), Variable(0)), term)
    return Let(Symbol("n"), term)


@pytest.mark.parametrize("count", [0, 1, 5, 80])
def test_what_is_written_out_doubles_with_each_name(count: int) -> None:
    assert written_out(chain(count), ()) == 2 ** (count + 1) - 1
    assert length(chain(count)) == 4 * count + 3


def test_only_what_names_make_long_is_not_searched() -> None:
    long: Term = Symbol("n")
    for _ in range(300):
        long = Add(long, Add(Symbol("n"), Symbol("n")))
    assert not is_unfolded(Add(Add(long, long), Add(long, long)))
    assert not is_unfolded(chain(4))
    assert is_unfolded(chain(16))


STEPS = {
    "a vector": ("CREATE TENSOR r AS {0}", "x", "@ * @ - @"),
    "a value": ("CREATE TENSOR r AS sum(<i, v> in x) {{i -> {0}}}", "v", "@ * @ - @"),
    "a choice": ("CREATE TENSOR r AS sum(<i, v> in x) {{i -> {0}}}", "v", "if (@ > 1) then @ - 1 else @ + 1"),
    "nested": ("CREATE TENSOR r AS sum(<i, v> in {0}) {{i -> v + 1}}", "x", "@ + @"),
    "a key": ("CREATE TENSOR r AS sum(<i, v> in x) {{({0}) % 5 -> v}}", "i", "(@ + 2 * @) % 7"),
    "a product of keys": ("CREATE TENSOR r AS sum(<i, v> in x) {{({0}) % 5 -> v}}", "(i - i)", "@ * @ + @"),
    "a truth": (
        "CREATE TENSOR r AS sum(<i, v> in x) {{i -> if ({0}) then v}}",
        "(v > 0.1)",
        "@ and (@ or v < 1)",
    ),
    "a matrix": (
        "CREATE TENSOR r AS {0}",
        "W",
        "(sum(<(i, j), v> in @, <(j, k), w> in @) {(i, k) -> v * w})",
    ),
}


def operands(kind: str) -> dict[str, Any]:
    return {"W": W} if kind == "a matrix" else {"x": X}


def program(kind: str, count: int) -> str:
    """Return a definition with a chain of so many ``let``s, each of which uses the one before."""
    frame, name, step = STEPS[kind]
    text = ""
    for number in range(count):
        text += f"let y{number} = {step.replace('@', name)} in "
        name = f"y{number}"
    return frame.format(text + name)


@pytest.mark.parametrize("kind", STEPS)
def test_plans_grow_no_faster_than_programs(kind: str) -> None:
    lengths = [len(storel.compile(program(kind, count), **operands(kind)).plan) for count in (12, 24)]
    assert lengths[1] < 4 * lengths[0]
    report = storel.compile(program(kind, 24), **operands(kind)).explain()
    assert "normalize: node limit after 0 iterations" in report


@pytest.mark.parametrize(("kind", "backend"), [*product(STEPS, ["c"]), ("a vector", "numba")])
def test_what_is_not_searched_is_right(kind: str, backend: str) -> None:
    values: dict[str, Any] = {
        each: storel.run(program(kind, 14), backend=each, **operands(kind)) for each in (backend, "interpret")
    }
    np.testing.assert_allclose(values[backend].to_numpy(), values["interpret"].to_numpy(), rtol=1e-9)


def test_squares_of_squares_are_planned_as_written() -> None:
    """Loops over what is named are inside each other when it is written out, thirty in the fourth power."""
    twice, often = (storel.compile(program("a matrix", count), W=W).explain() for count in (2, 4))
    assert "normalize: node limit after 0 iterations" not in twice
    assert "normalize: node limit after 0 iterations" in often


def squared(count: int) -> Term:
    """Return ``let x = n in let y = sum(x) sum(x) … in …``."""
    term: Term = Variable(0)
    for _ in range(count):
        term = Let(Sum(Variable(0), Sum(Variable(2), Variable(0))), term)
    return Let(Symbol("n"), term)


@pytest.mark.parametrize("count", [0, 1, 5, 80])
def test_loops_over_what_loops_twice_double(count: int) -> None:
    assert nested(squared(count), ()) == 2 ** (count + 1) - 2
    assert is_unfolded(squared(count)) == (count > 4)


def test_what_loops_next_to_each_other_is_not_nested() -> None:
    loop = Sum(Symbol("n"), Variable(0))
    assert nested(Add(loop, Multiply(loop, loop)), ()) == 1


def test_a_long_chain_of_names_that_are_used_once() -> None:
    """Each level of a term is one more step of the analyses, of which sixty were not enough."""
    lets = "".join(f"let y{n + 1} = y{n} + x in " for n in range(64))
    found: Any = storel.run(f"CREATE TENSOR r AS let y0 = x + x in {lets} y64", x=X)
    np.testing.assert_allclose(found.to_numpy(), 66 * X)
