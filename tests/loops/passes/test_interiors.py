"""Short loops that are cut off at a border: whole in the interior, as before elsewhere."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from strategies.loops import BACKENDS, FLOAT64, N, index, integer, kernel, plus

import storel
from storel.loops.nodes import Allocation, Binary, Buffer, Expression, For, If, Load, Role, Update
from storel.loops.passes.interiors import LONGEST, split_interiors
from storel.loops.printer import kernel_text
from storel.loops.verify import verify
from storel.runtime.library import Backend

X, Y = Buffer("x", FLOAT64), Buffer("y", FLOAT64)
POS = Buffer("pos", N.type, Role.INDEX)
I, J = index("i"), index("j")  # noqa: E741
BEFORE, BEHIND = Binary("subtract", I, integer(1)), plus(I, integer(2))


def split(low: Expression, high: Expression, *, nested: bool = False) -> str:
    """Return the text of the loops from ``low`` to ``high``, inside of a loop over rows, after the pass."""
    added = Update(Y, I, "add", Load(X, J))
    body = (For(index("k"), integer(0), N, (added,)),) if nested else (added,)
    rows = For(I, integer(0), N, (For(J, low, high, body),))
    made = split_interiors(kernel([X, POS], [(Allocation(Y, 0, fill=0.0, is_output=True), N)], [rows]))
    verify(made)
    (outer,) = made.compute.body
    assert isinstance(outer, For)
    return "if" if isinstance(outer.body[0], If) else kernel_text(made)


def test_a_loop_that_is_cut_off_at_a_border_has_an_interior() -> None:
    low, high = Binary("maximum", integer(0), BEFORE), Binary("minimum", BEHIND, N)
    assert split(low, high) == "if"


@pytest.mark.parametrize(
    ("low", "high", "nested"),
    [
        (Binary("maximum", integer(0), BEFORE), N, False),
        (BEFORE, Binary("minimum", BEHIND, N), False),
        (Binary("maximum", integer(0), BEFORE), Binary("minimum", plus(I, N), N), False),
        (Binary("maximum", integer(0), BEFORE), Binary("minimum", plus(I, integer(LONGEST)), N), False),
        (Binary("maximum", integer(0), BEHIND), Binary("minimum", BEFORE, N), False),
        (Binary("maximum", Load(POS, I), BEFORE), Binary("minimum", BEHIND, N), False),
        (Binary("maximum", integer(0), BEFORE), Binary("minimum", BEHIND, N), True),
    ],
    ids=["no end", "no border", "any length", "long", "empty", "elements", "a loop inside"],
)
def test_other_loops_stay(low: Expression, high: Expression, nested: bool) -> None:
    assert split(low, high, nested=nested) != "if"


@pytest.mark.parametrize("backend", BACKENDS)
def test_bands_are_right_at_their_borders(backend: Backend) -> None:
    """Also where the matrix is smaller than the band, so that there is no interior."""
    random = np.random.default_rng(8)
    program = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
    reaches = [(1, 1), (0, 2), (3, 0)] if backend != "numba" else [(1, 2)]
    for (lower, upper), (rows, columns) in product(
        reaches, [(1, 1), (2, 3), (3, 2), (9, 4), (4, 9), (12, 12)]
    ):
        dense = np.triu(np.tril(random.random((rows, columns)), upper), -lower)
        band, x = storel.tensor(dense, f"band({lower}, {upper})"), random.random(columns)
        found = storel.run(program, A=band, x=x, backend=backend)
        assert isinstance(found, storel.Tensor)
        np.testing.assert_allclose(found.to_numpy(), dense @ x)
