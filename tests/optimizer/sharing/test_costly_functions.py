"""Functions that take long are applied once for each key that they depend on, if loops come to it again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.calculus.nodes import Apply, Sum, Term
from storel.calculus.walk import children

RANDOM = np.random.default_rng(0)
ROWS, COLUMNS = 300, 200
GIVEN: dict[str, Any] = {
    "x": RANDOM.random(ROWS) + 0.5,
    "y": RANDOM.random(COLUMNS) + 0.5,
    "A": RANDOM.random((ROWS, COLUMNS)),
    "S": storel.tensor(sp.random_array((ROWS, COLUMNS), density=0.1, rng=RANDOM)),
    "F": storel.tensor(sp.random_array((ROWS, COLUMNS), density=0.0005, rng=RANDOM)),
}


def compiled(body: str, *names: str) -> Any:
    given = {name: GIVEN[name] for name in names}
    return storel.compile(f"CREATE TENSOR s AS {body}", **given), given


def loops_around(term: Term, function: str, around: int = 0) -> Iterator[int]:
    """Yield how many loops there are around each use of a function."""
    if isinstance(term, Apply) and term.function == function:
        yield around
    for child, binders in children(term):
        yield from loops_around(child, function, around + (isinstance(term, Sum) and binders > 0))


@pytest.mark.parametrize(
    ("body", "names", "function"),
    [
        ("sum(<(i, j), v> in S) { i -> pow(y(j), 1.5) * v }", "yS", "power"),
        ("sum(<i, _> in x, <j, u> in y) { i -> exp(u) * A(i, j) }", "xyA", "exp"),
        ("sum(<(i, j), v> in A) { i -> cos(0.01 * j) * v }", "A", "cos"),
        ("sum(<i, v> in x, <j, u> in y) { (i, j) -> cos(v) + cos(u) }", "xy", "cos"),
        (
            "let w = sum(<j, u> in y) { j -> tanh(u) } in sum(<(i, j), v> in S) { i -> w(j) * v }",
            "yS",
            "tanh",
        ),
    ],
    ids=["by a key that is read", "by a counter", "of a counter", "by both counters", "a name"],
)
def test_a_function_is_applied_once_for_each_key(body: str, names: str, function: str) -> None:
    kernel, given = compiled(body, *names)
    around = list(loops_around(kernel.compilation.optimized.term, function))
    assert around
    assert max(around) == 1
    found, expected = kernel(**given), storel.run(f"CREATE TENSOR s AS {body}", backend="interpret", **given)
    assert isinstance(expected, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy())


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("sum(<(i, j), v> in F) { i -> pow(y(j), 1.5) * v }", "yF"),
        ("sum(<i, v> in x) { i -> pow(v, 1.5) }", "x"),
        ("sum(<(i, j), v> in A) { i -> sqrt(y(j)) * v }", "yA"),
    ],
    ids=["few are read", "each is read once", "a cheap one"],
)
def test_no_table_is_made_in_vain(body: str, names: str) -> None:
    kernel, _ = compiled(body, *names)
    assert "let" not in kernel.explain("optimized")


@pytest.mark.parametrize("function", ["exp", "cos"])
def test_a_function_leaves_the_loops_that_it_does_not_depend_on(function: str) -> None:
    kernel, _ = compiled(f"sum(<i, v> in x, <(j, k), w> in S) {{ (i, k) -> {function}(v) + w }}", "x", "S")
    assert set(loops_around(kernel.compilation.optimized.term, function)) == {1}
