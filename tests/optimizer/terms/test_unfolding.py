"""Chains of names that are used several times are planned as written, not as they would be written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.calculus.nodes import Add, Let, Symbol, Term, Variable
from storel.optimizer.terms.unfolding import is_unfolded, nodes, written_out

X = np.array([0.1, 0.2, 0.05, 1.5])


def chain(count: int) -> Term:
    """Return ``let x = n in let y = x + x in …``."""
    term: Term = Variable(0)
    for _ in range(count):
        term = Let(Add(Variable(0), Variable(0)), term)
    return Let(Symbol("n"), term)


@pytest.mark.parametrize("count", [0, 1, 5, 80])
def test_what_is_written_out_doubles_with_each_name(count: int) -> None:
    assert written_out(chain(count), ()) == 2 ** (count + 1) - 1
    assert nodes(chain(count)) == 4 * count + 3


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
}


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
    lengths = [len(storel.compile(program(kind, count), x=X).plan) for count in (12, 24)]
    assert lengths[1] < 4 * lengths[0]
    report = storel.compile(program(kind, 24), x=X).explain()
    assert "normalize: node limit after 0 iterations" in report


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("kind", STEPS)
def test_what_is_not_searched_is_right(kind: str, backend: str) -> None:
    values: dict[str, Any] = {
        each: storel.run(program(kind, 14), x=X, backend=each) for each in (backend, "interpret")
    }
    np.testing.assert_allclose(values[backend].to_numpy(), values["interpret"].to_numpy(), rtol=1e-9)
