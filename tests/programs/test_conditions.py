"""Conditions on values: what is a product outside of one is the same product in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.errors import EvaluationError

PROGRAMS = {
    "CREATE TENSOR y AS if x(0) * q < 1 then 1 else 2": 1,
    "CREATE TENSOR t AS x * q CREATE TENSOR y AS count(<_, _> in t)": 0,
    "CREATE TENSOR y AS sum(<i, _> in 0:3) if q * x(0) * i == 0 then i else 7": 3,
}


@pytest.mark.parametrize("q", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_zero_times_what_is_not_finite_is_zero(program: str, backend: str, q: float) -> None:
    x = storel.tensor(np.zeros(1), format="dense")
    result = storel.run(f"PARAMETER q: real {program}", x=x, q=q, backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy() == PROGRAMS[program]


GUARDED = {
    "k(i) == 0 or i // k(i) == 0": [1, 1, 1, 0, 1, 1],
    "k(i) != 0 and i // k(i) == 0": [0, 1, 0, 0, 1, 0],
    "not (k(i) == 0 or i // k(i) == 0)": [0, 0, 0, 1, 0, 0],
    "i > 3 or k(i) == 0 or (k(i) > 2 and 6 % k(i) == 0)": [1, 1, 1, 0, 1, 1],
    "(k(i) == 0 or 6 // k(i) > 2) and (k(i) == 0 or i // k(i) == 1)": [1, 0, 1, 1, 0, 1],
}


@pytest.mark.parametrize("mode", ["strict", "reassociate"])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("condition", GUARDED)
def test_what_the_left_side_decides_does_not_fail(condition: str, backend: str, mode: str) -> None:
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:6) {{ i -> if ({condition}) then a(i) }}"
    k, a = np.array([0, 3, 0, 2, 5, 0]), np.ones(6)
    result = storel.run(program, k=k, a=a, backend=backend, floating_point=mode)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == GUARDED[condition]


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_what_the_left_side_leaves_open_fails(backend: str) -> None:
    program = "CREATE TENSOR y AS sum(<i, _> in 0:2) { i -> if (i == 0 or i // k(i) == 0) then 1 }"
    with pytest.raises(EvaluationError, match="division by zero"):
        storel.run(program, k=np.zeros(2, np.int64), backend=backend)


ANY = {
    "l == o": [True, True, False, True],
    "l == o and q(p) > 5": [True, False, False, True],
    "q(p) > 5 and (l == o and q(p) != 9)": [True, False, False, False],
    "q(p) != 0 and 18 // q(p) == o": [False, False, True, True],
}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("condition", ANY)
def test_any_entry_that_meets_all_conditions(condition: str, backend: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "lines.npz", line=np.array([0, 0, 3, 1, 3]), q=np.array([6, 0, 9, 5, 2]))
    program = (
        f"LOAD ARRAYS FROM '{tmp_path}/lines.npz'\n"
        f"CREATE TENSOR y AS sum(<o, _> in 0:4) {{ o -> any(<p, l> in line) ({condition}) }}"
    )
    result = storel.run(program, backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().astype(np.bool_).tolist() == ANY[condition]


def test_what_equals_a_key_is_found_and_not_compared(tmp_path: Path) -> None:
    line = np.sort(np.random.default_rng(0).integers(0, 20_000, 40_000))
    np.savez(tmp_path / "lines.npz", line=line, q=line % 7)
    program = (
        f"LOAD ARRAYS FROM '{tmp_path}/lines.npz'\n"
        "CREATE TENSOR y AS sum(<o, _> in 0:20000) if (any(<p, l> in line) (l == o and q(p) > 4)) then 1"
    )
    kernel = storel.compile(program)
    assert kernel.compilation.optimized.cost.nanoseconds < 1e6
    result = kernel()
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy() == len(np.unique(line[line % 7 > 4]))


@pytest.mark.parametrize("condition", ["d(i) > 0", "d(i) != 0"])
def test_what_some_rows_have_beside_others_is_gathered_with_them(condition: str) -> None:
    """A matrix and a part of the identity: listed one after the other they would have to be sorted."""
    a = np.where(np.random.default_rng(0).random((300, 300)) < 0.02, 1.0, 0.0)
    program = f"""
        CREATE TENSOR d AS sum(<(i, j), x> in A) {{ i -> x }}
        CREATE TENSOR L STORED AS csr AS
          sum(<i, _> in 0:extent(A, 0)) (if {condition} then {{ (i, i) -> 1.0 }})
          - sum(<(i, j), x> in A) {{ (i, j) -> x / sqrt(d(i) * d(j)) }}"""
    kernel = storel.compile(program, A=storel.tensor(a, "csr"))
    assert "coordinates" not in kernel.plan
    degrees = a.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1))
    expected = np.diag(1.0 * (degrees > 0)) - a / roots[:, None] / roots * (degrees > 0)
    result = kernel(A=storel.tensor(a, "csr"))
    assert isinstance(result, storel.Tensor)
    kept = degrees > 0  # where d(j) is 0 the quotient is infinite
    np.testing.assert_allclose(result.to_numpy()[:, kept], expected[:, kept])


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    "program",
    [
        "(x > 0.5) * x",
        "if (0.25 < x and x < y(i)) then y(i)",
        "x * (x != y(i))",
        "if (x > y(i)) then 2 * x * y(i)",
    ],
)
def test_what_takes_no_time_is_chosen_without_a_branch(program: str, backend: Any) -> None:
    x, y = np.random.default_rng(8).random((2, 500))
    x[::7], y[3] = 0, np.nan
    script = f"CREATE TENSOR R: real[500] STORED AS dense AS sum(<i, x> in x) {{ i -> {program} }}"
    given = {"x": x, "y": y} if "y(" in program else {"x": x}
    kernel: Any = storel.compile(script, backend=backend, **given)
    assert "accumulate if" in kernel.plan
    wanted: Any = storel.run(script, backend="interpret", **given)
    np.testing.assert_array_equal(kernel(**given).to_numpy(), wanted.to_numpy())


def test_comparisons_are_factors_and_conditions_alike() -> None:
    given = {"g": np.array([3, 0, 1, 3, 2, 1, 1]), "v": np.arange(7.0)}
    loops = "sum(<k, _> in 0:4) { k -> sum(<i, e> in g, <i, x> in v)"
    plans = [
        storel.compile(f"CREATE TENSOR R AS {loops} {body} }}", **given).plan
        for body in ("(if (e == k) then x)", "(e == k) * x", "x * (k == e)")
    ]
    assert len(set(plans)) == 1
    assert plans[0].count("loop") == 1
