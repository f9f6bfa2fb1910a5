"""Rows that are chosen: by their remainder, or by a tensor that lists them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse

import storel

RNG = np.random.default_rng(5)
DENSE = RNG.random((47, 30)) * (RNG.random((47, 30)) < 0.6)
DENSE[7], DENSE[12, 3] = 0, np.nan

BACKENDS: list[Literal["c", "numba", "interpret"]] = ["c", "numba", "interpret"]


def stored(values: Any = DENSE) -> storel.Tensor:
    """Return a matrix with some of its zeros stored, too."""
    rows = scipy.sparse.csr_array(values)
    rows.data[::5] = 0
    return storel.tensor(rows)


def values_of(result: object) -> Any:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


STEPS = [
    ("i % 10 == 0", "i // 10", slice(None, None, 10)),
    ("i % 10 == 3", "i // 10", slice(3, None, 10)),
    ("4 == i % 7", "(i - 4) // 7", slice(4, None, 7)),
    ("i % 60 == 46", "i // 60", slice(46, None, 60)),
    ("i % 60 == 59", "i // 60", slice(59, None, 60)),
    ("i % 1 == 0", "i", slice(None)),
    ("i % 5 == 1 and i < 30", "i // 5", slice(1, 30, 5)),
    ("i >= 13 and i % 4 == 2", "(i - 14) // 4", slice(14, None, 4)),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("condition", "key", "chosen"), STEPS)
def test_rows_of_a_remainder(
    condition: str, key: str, chosen: slice, whole: bool, backend: Literal["c", "numba", "interpret"]
) -> None:
    matrix = storel.tensor(scipy.sparse.csr_array(DENSE)) if whole else stored()
    expected = values_of(matrix)[chosen]
    body = f"if ({condition}) then {{ ({key}, j) -> a }}"
    script = (
        f"CREATE TENSOR C: real[{max(len(expected), 1)}, 30] STORED AS csr AS sum(<(i, j), a> in A) {body}"
    )
    found = values_of(storel.run(script, A=matrix, backend=backend))
    np.testing.assert_array_equal(found[: len(expected)], expected)


def test_a_loop_takes_the_steps_of_a_remainder() -> None:
    script = (
        "CREATE TENSOR C STORED AS csr AS sum(<(i, j), a> in A) if (i % 10 == 0) then { (i // 10, j) -> a }"
    )
    plan = storel.explain(script, "plan", A=stored())
    assert "append" in plan and "guard" not in plan
    assert "% 10" not in plan


@pytest.mark.parametrize("divisor", [0, -3])
def test_remainders_of_what_is_no_step(divisor: int) -> None:
    """What is divided by may be given when it runs."""
    script = "CREATE TENSOR y AS sum(<i, _> in 0:n) if (d != 0) then (if (i % d == 0) then { i -> 1 })"
    expected = values_of(storel.run(script, n=9, d=divisor, backend="interpret"))
    np.testing.assert_array_equal(values_of(storel.run(script, n=9, d=divisor)), expected)


LISTS = [[3, 1, 4, 1, 5], [0, 46, 7, 12, 2], [], [-1, 5, 100, 2**40, 9], list(range(47))[::-1]]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", LISTS)
def test_rows_of_a_list(rows: list[int], backend: Literal["c", "numba", "interpret"]) -> None:
    """Each element of a tensor is a row but 0, of which a tensor does not say that it is there."""
    kind = f"real[{len(rows) + 1}, 30]"
    script = f"CREATE TENSOR C: {kind} STORED AS csr AS sum(<k, r> in R, <j, a> in A(r)) {{ (k, j) -> a }}"
    matrix = stored()
    known = values_of(matrix)
    expected = np.zeros((len(rows) + 1, 30))
    for k, row in enumerate(rows):
        if 0 < row < len(known):
            expected[k] = known[row]
    with pytest.warns(UserWarning, match="entries that are 0 do not occur"):
        found = storel.run(script, A=matrix, R=np.array(rows, np.int64), backend=backend)
    np.testing.assert_array_equal(values_of(found), expected)
