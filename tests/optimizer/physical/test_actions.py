"""What is stored, what is united, and what comprehensions are over stored tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strategies.plans import planned

import storel
from storel.errors import EvaluationError, MemoryLimitError
from storel.plan.printer import render

MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.5]])
NOTHING = np.zeros((3, 3))
VECTOR = np.array([2.0, 0.0, 3.0, 4.0])
STORAGES = ("dense", "coo", "csr", "csc", "dcsr")


def run(text: str, **tensors: Any) -> Any:
    """Return the result, the same by the plan and by the reference interpreter."""
    program = f"CREATE TENSOR r AS {text}"
    answer, reference = storel.run(program, **tensors), storel.run(program, backend="interpret", **tensors)
    assert isinstance(answer, storel.Tensor) and isinstance(reference, storel.Tensor)
    np.testing.assert_allclose(answer.to_numpy(), reference.to_numpy())
    return answer.to_numpy()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("prod(<(i, j), a> in A) a", 3.0),
        ("min(<(i, j), a> in A) a", 0.5),
        ("max(<(i, j), a> in A) a", 3.0),
        ("max(<(i, j), a> in A) (i + j)", 4),
        ("any(<(i, j), a> in A) (a > 2)", True),
        ("any(<(i, j), a> in A) (a > 3)", False),
        ("all(<(i, j), a> in A) (a > 0)", True),
        ("all(<(i, j), a> in A) (a < 3)", False),
        ("count(<(i, j), a> in A)", 4),
        ("count(<i, row> in A)", 2),
        ("max(<i, row> in A) i", 2),
        ("prod(<i, row> in A) 2", 4),
        ("min(<i, row> in A) (1 + max(<j, a> in row) a)", 3.0),
        ("max(<i, row> in A) (prod(<j, a> in row) a)", 2.0),
        ("prod(<i, row> in A) (sum(<j, a> in row) a)", 10.5),
        ("min(<i, row> in A) (min(<j, a> in A(2)) a)", 0.5),
    ],
)
@pytest.mark.parametrize("storage", STORAGES)
def test_comprehensions_over_matrices_with_empty_rows(text: str, value: float, storage: str) -> None:
    assert run(text, A=storel.tensor(MATRIX, storage)) == value


@pytest.mark.parametrize("storage", ["dense", "coo"])
def test_comprehensions_over_vectors(storage: str) -> None:
    stored = storel.tensor(VECTOR, storage)
    assert run("prod(<i, a> in v) a", v=stored) == 24.0
    assert run("min(<i, a> in v) a", v=stored) == 2.0
    assert run("prod(<i, a> in v * v) a", v=stored) == 576.0


@pytest.mark.parametrize("storage", STORAGES)
def test_nothing_has_no_least_entry(storage: str) -> None:
    empty = storel.tensor(NOTHING, storage)
    for monoid in ("min", "max"):
        with pytest.raises(EvaluationError, match="of no entries"):
            storel.run(f"CREATE TENSOR r AS {monoid}(<(i, j), a> in A) a", A=empty)
    assert run("prod(<(i, j), a> in A) a", A=empty) == 1.0
    assert run("all(<(i, j), a> in A) (a > 1)", A=empty)
    assert not run("any(<(i, j), a> in A) (a > 1)", A=empty)


def test_a_sum_in_the_same_operator_still_has_a_zero() -> None:
    """A row's sum over max_plus may be of nothing: that is -inf, and not that there is no row."""
    stored = storel.tensor(MATRIX, "csr", semiring="max_plus")
    text = "CREATE TENSOR r OVER max_plus AS max(<i, row> in A) (sum(<j, a> in row) if (a > 10) then a)"
    answer = storel.run(text, A=stored)
    assert isinstance(answer, storel.Tensor)
    assert answer.item() == -np.inf


def plan_of(text: str, **tensors: Any) -> str:
    return render(planned(f"CREATE TENSOR r AS {text}", **tensors).compilation.plan)


def test_only_increasing_scans_are_united() -> None:
    csr, csc = storel.tensor(MATRIX, "csr"), storel.tensor(MATRIX, "csc")
    text = "CREATE TENSOR r STORED AS csr AS A + B"
    assert "unite" in render(planned(text, A=csr, B=csr).compilation.plan)
    assert "unite" not in render(planned(text, A=csr, B=csc).compilation.plan)
    assert "unite" not in plan_of("A + B", A=storel.tensor(MATRIX), B=storel.tensor(MATRIX))


def test_wide_rows_are_stored_as_lists_and_small_ones_as_tables() -> None:
    square = "CREATE TENSOR r STORED AS csr AS sum(<i, row> in A) { i -> "
    text = square + "let t = sum(<j, a> in row) A(j) in sum(<k, v> in t) { k -> exp(v) } }"
    for columns, kind in ((16, "table of"), (300, "list of")):
        values = np.zeros((columns, columns))
        values[0, 1] = values[1, 3] = 1.0
        plan = render(planned(text, A=storel.tensor(values, "csr")).compilation.plan)
        assert kind in plan


SCANNED, LOOKED_UP = "max(<(i, j), v> in t) v", "sum(<p, i> in x, <q, j> in x) t(i, j)"


@pytest.mark.filterwarnings("ignore:the value .* of a tensor is used as a key")
@pytest.mark.parametrize(
    ("read", "extent", "entries", "kind"),
    [
        (SCANNED, 15, 1, "table of"),  # below 256 places
        (SCANNED, 2_000, 1, "hash of"),
        (SCANNED, 2_000, 100_000, "table of"),  # less than 64 places for each entry
        (SCANNED, 3_000, 300_000, "table of"),
        (SCANNED, 100_000, 300_000, "hash of"),
        (LOOKED_UP, 2_000, 10_000, "table of"),  # below 2^22 places
        (LOOKED_UP, 3_000, 10_000, "hash of"),
    ],
)
def test_a_table_too_large_for_its_entries_is_hashed(read: str, extent: int, entries: int, kind: str) -> None:
    places = np.arange(entries) * (extent * extent // entries)
    coordinates = np.stack([places // extent, places % extent])
    matrix = storel.tensor((coordinates, np.ones(entries)), "csr", shape=(extent, extent))
    made = "sum(<(i, j), a> in A) { (j, max(i, 1)) -> exp(a) }"
    given = {"A": matrix} | ({"x": storel.tensor(np.arange(300) + 1)} if "in x" in read else {})
    text = f"CREATE TENSOR r AS let t = {made} in {read}"
    assert kind in render(planned(text, **given).compilation.plan)


def test_a_table_of_several_keys_is_not_cleared_in_a_loop_for_few_entries() -> None:
    coordinates = np.unique(np.random.default_rng(0).integers(0, 1500, (2, 100)), axis=1)
    values = np.ones(coordinates.shape[1])
    matrix = storel.tensor((coordinates, values), "coo", shape=(1500, 1500))
    halved = "let t = sum(<(i, j), v> in A) { (j, i // 2) -> v + g } in sum(<(j, i), v> in t) { g -> v * v }"
    text = f"CREATE TENSOR r AS sum(<g, _> in 0:50) {halved}"
    assert "hash of float64[A_m, 750]" in render(planned(text, A=matrix).compilation.plan)


def test_keys_that_are_no_integer_together_are_refused() -> None:
    extent = 2**31
    wide = storel.tensor((np.array([[0], [extent - 1]]), np.array([1.0])), "coo", shape=(extent, extent))
    made = "sum(<(i, j), a> in A) { (j, max(i, 1)) -> exp(a) }"
    text = f"CREATE TENSOR r AS let t = {made} in max(<(i, j), v> in t) v"
    with pytest.raises(MemoryLimitError, match="2147483648 x 2147483648"):
        storel.run(text, A=wide)
