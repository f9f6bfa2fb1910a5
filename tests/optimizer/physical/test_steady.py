"""What a loop reads under a condition at one place is read before it, where it may be read in any case."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import storel

S = np.random.default_rng(6).random((7, 9))
S[::2, ::3] = 0.0
GIVEN: dict[str, Any] = {"S": S, "m": S.max(axis=1), "c": np.arange(1.0, 4.0), "n": np.arange(7)}

MOVED = [
    "sum(<(i, j), s> in S) { (i, j) -> exp(s - m(i)) }",
    "sum(<(i, j), s> in S) { (i, j) -> exp(s - m(i)) + abs(m(i)) }",
    "sum(<(i, j), s> in S) if (s > 0.5) then { (i, j) -> s / m(i) + c(2) }",
]
LEFT = [
    "sum(<(i, j), s> in S) { (i, j) -> s * m(i) }",  # under no condition
    "sum(<(i, j), s> in S) { (i, j) -> exp(s - c(n(i))) }",  # there are but three of c
]


def compiled(program: str, backend: Any = "auto") -> tuple[storel.Kernel, dict[str, Any]]:
    words = re.findall(r"\w+", program)
    given = {name: each for name, each in GIVEN.items() if name in words}
    return storel.compile(f"CREATE TENSOR R STORED AS dense AS {program}", backend=backend, **given), given


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize("program", [*MOVED, *LEFT])
def test_it_means_the_same(program: str, backend: Any) -> None:
    kernel, given = compiled(program, backend)
    wanted = storel.run(f"CREATE TENSOR R AS {program}", backend="interpret", **given)
    found = kernel(**given)
    assert isinstance(found, storel.Tensor) and isinstance(wanted, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=1e-12)


@pytest.mark.parametrize("program", MOVED)
def test_it_is_read_before_the_loop(program: str) -> None:
    lines = compiled(program)[0].explain("plan").splitlines()
    (read,) = (number for number, line in enumerate(lines) if "accumulate m_val(i)" in line)
    loops = [number for number, line in enumerate(lines) if "loop" in line]
    assert loops[0] < read < loops[1]
    assert sum("m_val" in line for line in lines) == 1


@pytest.mark.parametrize("program", LEFT)
def test_what_may_not_be_read_or_is_read_in_any_case_stays(program: str) -> None:
    plan = compiled(program)[0].explain("plan")
    read = ("accumulate m_val(i)", "accumulate c_val(n_val(i))")
    assert not any(line.strip() in read for line in plan.splitlines())
