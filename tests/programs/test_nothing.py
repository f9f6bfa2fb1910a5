"""``{}`` is the zero of whatever type is needed: what is declared, or what is made of it."""

from __future__ import annotations

import numpy as np
import pytest

import storel

DECLARED = {
    "a number": "CREATE TENSOR n: real AS {}; CREATE TENSOR r AS n + 1",
    "all entries": "CREATE TENSOR n: int[3, 2] AS {}; CREATE TENSOR r AS sum(<(i, j), v> in n) v",
    "no places": "CREATE TENSOR n: real[3, 0] AS {}; CREATE TENSOR r AS sum(<(i, j), v> in n) v",
    "rows": "CREATE TENSOR n: real[3, 2] AS {}; CREATE TENSOR r AS sum(<i, row> in n) row",
    "a row": "CREATE TENSOR n: real[3, 2] AS {}; CREATE TENSOR r AS n(1)",
    "truths": "CREATE TENSOR n: bool[3, 2] AS {}; CREATE TENSOR r AS sum(<(i, j), v> in n) { j -> v }",
    "sizes": "CREATE TENSOR n: int[3, 2] AS {}; "
    "CREATE TENSOR r AS sum(<i, row> in n) { i -> count(<_, _> in row) }",
    "infinity": "CREATE TENSOR n: real[2, 2, 2] OVER min_plus AS {}; "
    "CREATE TENSOR r OVER min_plus AS sum(<i, m> in n) m",
}
WRITTEN = {
    "looked up": "CREATE TENSOR r: real[2] AS sum(<i, row> in {}, <k, v> in x) { k -> v * row(k) }",
    "summed": "CREATE TENSOR r AS sum(<i, v> in x) v + sum(<i, row> in {}, <j, v> in row) v",
    "named": "CREATE TENSOR r AS let z = {} in sum(<i, v> in x) v + sum(<i, row> in z, <j, v> in row) v",
    "chosen": "CREATE TENSOR r AS x + "
    "sum(<i, m> in (if x(0) > 1 then {} else {}), <j, row> in m) { j -> row(1) }",
}


def check(program: str, **tensors: np.ndarray) -> None:
    meant, found = (storel.run(program, backend=each, **tensors) for each in ("interpret", "auto"))
    assert isinstance(meant, storel.Tensor) and isinstance(found, storel.Tensor)
    assert found.type is meant.type
    np.testing.assert_array_equal(found.to_numpy(), meant.to_numpy())


@pytest.mark.parametrize("name", DECLARED)
def test_nothing_of_a_declared_type_has_that_type(name: str) -> None:
    check(DECLARED[name])


@pytest.mark.parametrize("name", WRITTEN)
def test_what_nothing_holds_is_nothing(name: str) -> None:
    check(WRITTEN[name], x=np.array([1.0, 2.0]))
