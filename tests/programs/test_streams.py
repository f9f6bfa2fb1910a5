"""Rows that are added are used as their entries come: nothing stores them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import storel
from storel.execution import profile as profiling
from storel.execution.profile import profile
from storel.plan import printer

RNG = np.random.default_rng(7)
BACKENDS = ("c", "numba", "interpret")


def matrix(density: float, rows: int = 13, columns: int = 300) -> NDArray[np.float64]:
    """Return a matrix of small integers, so that some entries of a difference are zero, and empty rows."""
    values = RNG.integers(-2, 3, (rows, columns)) * (RNG.random((rows, columns)) < density)
    values[::4] = 0
    return values.astype(np.float64)


A, B, C = matrix(0.1), matrix(0.15), matrix(0.05)
DATA = {"A": A, "B": B, "C": C, "x": RNG.random(300)}

PROGRAMS = {
    "sum(<(i, j), d> in A - B) abs(d)": lambda: np.abs(A - B).sum(),
    "sum(<(i, j), d> in A + B + C) { i -> d * d }": lambda: ((A + B + C) ** 2).sum(axis=1),
    "sum(<(i, j), d> in A - B) exp(d)": lambda: np.exp((A - B)[A != B]).sum(),
    "count(<(i, j), _> in A - B)": lambda: np.count_nonzero(A - B),
    "max(<(i, j), d> in A - B) abs(d)": lambda: np.abs(A - B).max(),
    "max(<_, row> in A - B, <_, d> in row) abs(d)": lambda: np.abs(A - B).max(),
    "min(<(i, j), d> in A - B) d": lambda: (A - B).min(),
    "prod(<(i, j), d> in A - B) d / 2": lambda: np.prod((A - B)[A != B] / 2),
    "any(<(i, j), d> in A - B) (d > 3)": lambda: (A - B > 3).any(),
    "all(<(i, j), d> in A + B) (d < 4)": lambda: (A + B < 4).all(),
    "sum(<(i, j), d> in A - B) { (i, j) -> d * d + 1 }": lambda: np.where(A != B, (A - B) ** 2 + 1, 0),
    "sum(<(i, j), _> in A + B) { (i, j) -> max(A(i, j), B(i, j)) }": lambda: np.where(
        A + B != 0, np.maximum(A, B), 0
    ),
    "sum(<(i, j), d> in A - B) { j -> d * d }": lambda: ((A - B) ** 2).sum(axis=0),
    "sum(<(i, j), d> in A - B, <k, v> in x) if (k == j) then { i -> exp(d) * v }": lambda: (
        np.where(A != B, np.exp(A - B), 0) @ DATA["x"]
    ),
    "sum(<(i, j), d> in A - B) { i -> exp(d) * (sum(<k, w> in C(i)) w / (1 + j)) }": lambda: (
        np.where(A != B, np.exp(A - B), 0) * C.sum(axis=1)[:, None] / (1 + np.arange(300))
    ).sum(axis=1),
}


def given(text: str, layout: str = "csr") -> dict[str, Any]:
    """Return the operands that a program names, the matrices among them in a layout."""
    words = re.findall(r"\w+", text)
    return {
        name: value if value.ndim == 1 else storel.tensor(value, layout)
        for name, value in DATA.items()
        if name in words
    }


def numpy_of(result: object) -> NDArray[Any]:
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", PROGRAMS)
def test_entries_are_used_as_they_come(text: str, backend: str) -> None:
    program = f"CREATE TENSOR r AS {text}"
    found = numpy_of(storel.run(program, **given(text), backend=backend))
    np.testing.assert_allclose(found, PROGRAMS[text](), rtol=1e-12)


LARGE: dict[str, Any] = {name: sp.csr_array(sp.random(2000, 3000, 0.002, rng=RNG)) for name in "ABC"}


@pytest.mark.parametrize("text", [text for text in PROGRAMS if "x" not in given(text) and "C(" not in text])
def test_plans_say_that_nothing_is_stored(text: str) -> None:
    operands = {name: LARGE[name] for name in given(text)}
    plan = printer.render(storel.compile(f"CREATE TENSOR r AS {text}", **operands).compilation.plan)
    assert ("stream of float64" in plan) == ("A(i, j)" not in text)  # where both are met in one pass
    assert "list of" not in plan
    assert "table of float64" not in plan


@pytest.mark.parametrize("layout", ["csc", "dcsr", "coo", "ell", "bcsr", "dense", "hash"])
@pytest.mark.parametrize("text", list(PROGRAMS)[:6])
def test_other_layouts_agree(text: str, layout: str) -> None:
    program = f"CREATE TENSOR r AS {text}"
    np.testing.assert_allclose(
        numpy_of(storel.run(program, **given(text, layout))), PROGRAMS[text](), rtol=1e-12
    )


def test_all_rows_may_be_empty() -> None:
    nothing = sp.csr_array((3, 300))
    assert (
        numpy_of(storel.run("CREATE TENSOR r AS sum(<(i, j), d> in A - B) abs(d)", A=nothing, B=nothing)) == 0
    )
    with pytest.raises(storel.StorelError, match="no entries"):
        storel.run("CREATE TENSOR r AS max(<(i, j), d> in A - B) abs(d)", A=nothing, B=nothing)
    same = storel.tensor(A, "csr")
    with pytest.raises(storel.StorelError, match="no entries"):
        storel.run("CREATE TENSOR r AS max(<(i, j), d> in A - B) abs(d)", A=same, B=same)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int32])
def test_other_numbers(kind: type) -> None:
    a, b = (sp.csr_array(each.astype(kind)) for each in (A, B))
    found = storel.run("CREATE TENSOR r AS sum(<(i, j), d> in A + B) { i -> d * d }", A=a, B=b)
    np.testing.assert_array_equal(numpy_of(found), ((A + B) ** 2).sum(axis=1))


@pytest.mark.parametrize("semiring", ["min_plus", "max_plus", "max_times"])
def test_rows_over_other_semirings(semiring: str) -> None:
    a, b = (storel.tensor(sp.csr_array(np.abs(each)), semiring=semiring) for each in (A, B))
    text = f"CREATE TENSOR r OVER {semiring} AS sum(<(i, j), d> in A + B) {{ i -> max(d, 1) + j }}"
    found = numpy_of(storel.run(text, A=a, B=b))
    np.testing.assert_array_equal(found, numpy_of(storel.run(text, A=a, B=b, backend="interpret")))
    assert "stream of" in printer.render(storel.compile(text, A=a, B=b).compilation.plan)


@pytest.mark.parametrize("backend", ["c", "numba"])
def test_what_each_action_did_is_counted_alike(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that counts makes each entry at one place, and uses it there."""
    text = "sum(<(i, j), d> in A - B) abs(d)"
    kernel = storel.compile(f"CREATE TENSOR r AS {text}", **given(text), backend=backend)
    interpreted = profile(kernel.compilation, kernel.environment).counts
    monkeypatch.setattr(profiling, "INTERPRETED", 0.0)
    assert profile(kernel.compilation, kernel.environment).counts == interpreted
    assert np.count_nonzero(A - B) in interpreted


def test_results_reserve_what_rows_may_have() -> None:
    """A row of a difference has at most the entries of both, however many columns there are."""
    wide = [sp.csr_array(sp.random(50, 10**8, 1e-7, rng=RNG)) for _ in range(2)]
    text = "CREATE TENSOR r STORED AS csr AS sum(<(i, j), d> in A - B) { (i, j) -> abs(d) }"
    found = storel.run(text, A=wide[0], B=wide[1], memory_limit=2**24)
    assert isinstance(found, storel.Tensor)
    assert (abs(wide[0] - wide[1]) != found.to_scipy()).nnz == 0


def test_rows_that_are_gone_through_by_name_are_not_looked_for_first() -> None:
    """A dictionary has no empty rows, so that there is a greatest entry if there is a row."""
    by_name, at_once = (
        storel.compile(f"CREATE TENSOR r AS {text}", A=LARGE["A"], B=LARGE["B"]).compilation.plan
        for text in ("max(<_, row> in A - B, <_, d> in row) abs(d)", "max(<(i, j), d> in A - B) abs(d)")
    )
    assert by_name == at_once
