"""Advice for programs: which format wins, and what a row says. Nothing here depends on measured times."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel
from storel.advice import trial as trials
from storel.advice.rows import Advice, OperandAdvice
from storel.advice.text import advice_text
from storel.advice.trial import is_same
from storel.errors import DataError, FormatError, UnknownNameError
from storel.scalars import ScalarType

sparse: Any = scipy.sparse

N = 400
RANDOM = np.random.default_rng(1)
BANDED = sparse.diags_array(RANDOM.random((3, N)), offsets=[-1, 0, 1], shape=(N, N)).tocsr()
SPARSE = sparse.random(N, N, density=0.01, format="csr", random_state=0)
FULL = RANDOM.random((40, 40))
VECTOR = RANDOM.random(N)
TRIANGLE = np.triu(RANDOM.random((N, N)))

PRODUCT = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
COLUMNS = "CREATE TENSOR y AS sum(<(i, j), a> in A) { j -> a }"
WHOLE = "CREATE TENSOR y AS sum(<(i, j), a> in A) a"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan for few formats only, which takes less time."""
    monkeypatch.setattr("storel.candidates.candidates.MOST_CANDIDATES", 3)
    monkeypatch.setattr("storel.advice.advise.COMBINATIONS", 4)


def best(advice: Advice, name: str = "A") -> str:
    return advice[name].best.format.partition("(")[0]


@pytest.mark.parametrize(
    ("program", "data", "expected"),
    [
        (PRODUCT, {"A": BANDED, "x": VECTOR}, {"band", "tridiagonal", "band_coo", "dia"}),
        (PRODUCT, {"A": SPARSE, "x": VECTOR}, {"csr"}),
        (PRODUCT, {"A": FULL, "x": VECTOR[:40]}, {"dense"}),
        (PRODUCT, {"A": storel.tensor(FULL, "csr"), "x": VECTOR[:40]}, {"dense"}),
        (PRODUCT, {"A": np.diag(VECTOR[:40]), "x": VECTOR[:40]}, {"diagonal", "dia", "band"}),
        (PRODUCT, {"A": TRIANGLE, "x": VECTOR}, {"upper_triangular"}),
        (PRODUCT, {"A": TRIANGLE.T.copy(), "x": VECTOR}, {"lower_triangular", "skyline", "ragged"}),
        (WHOLE, {"A": np.ones((40, 40))}, {"constant"}),
    ],
)
def test_the_best_format_suits_data_and_program(
    program: str, data: dict[str, Any], expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storel.candidates.candidates.MOST_CANDIDATES", 6)
    assert best(storel.advise(program, **data)) in expected


def test_a_symmetric_matrix_is_advised_to_be_stored_by_half_where_memory_counts() -> None:
    advice = storel.advise(WHOLE, A=FULL + FULL.T)
    rows = {row.format: row for row in advice["A"].rows}
    assert rows["symmetric"].bytes < 0.6 * rows["dense"].bytes


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("program", "data"),
    [
        ("CREATE TENSOR s AS sum(<i, v> in A) v * v", VECTOR),
        ("CREATE TENSOR s AS sum(<(i, j, k), v> in A) { i -> v }", RANDOM.random((3, 4, 5))),
        (COLUMNS, np.zeros((5, 4))),
        (COLUMNS, np.zeros((0, 4))),
        (COLUMNS, storel.tensor({}, "csr", shape=(6, 6))),
    ],
)
def test_every_rank_and_nothing_at_all(program: str, data: Any) -> None:
    advice = storel.advise(program, A=data)
    (operand,) = advice.operands
    assert [row.is_present for row in operand.rows].count(True) == 1
    assert [row.nanoseconds for row in operand.rows] == sorted(row.nanoseconds for row in operand.rows)
    assert all(row.bytes >= 0 and row.measured is None for row in operand.rows)
    assert advice.formats["A"] == operand.best.format


def test_estimates_are_those_of_the_compiler() -> None:
    """The row of the present format says what a call as it stands is expected to take, as explain does."""
    advice = storel.advise(PRODUCT, A=SPARSE, x=VECTOR)
    (present,) = (row for row in advice["A"].rows if row.is_present)
    compilation = storel.compile(PRODUCT, A=SPARSE, x=VECTOR).compilation
    assert present.expected == compilation.constants.call + compilation.optimized.cost.nanoseconds
    assert (present.conversion, present.pays_after) == (0.0, None)


@pytest.mark.usefixtures("few")
def test_advice_is_the_same_every_time() -> None:
    def told() -> list[tuple[str, float]]:
        advice = storel.advise(PRODUCT, A=BANDED, x=VECTOR)
        return [(row.format, row.expected) for each in advice.operands for row in each.rows]

    assert told() == told()


@pytest.mark.usefixtures("few")
def test_views_and_stored_intermediates() -> None:
    steps = "CREATE TENSOR B STORED AS csr AS A * 2; CREATE TENSOR y AS sum(<(i, j), b> in B) { i -> b }"
    assert len(storel.advise(steps, A=BANDED)["A"].rows) >= 3
    assert not storel.advise(
        steps + "; CREATE TENSOR z AS sum(<i, v> in x) v", A=BANDED, x=VECTOR
    ).formats.get("A")


@pytest.mark.parametrize(
    ("program", "operands"), [("CREATE TENSOR y AS 1 + 1", {}), ("CREATE TENSOR y AS c * 2", {"c": 2.0})]
)
def test_there_must_be_storage_to_choose(program: str, operands: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="no storage to advise on"):
        storel.advise(program, **operands)


def test_a_program_that_reads_arrays_by_name_keeps_them() -> None:
    with pytest.raises(DataError, match="no storage to advise on"):
        storel.advise("CREATE TENSOR y AS sum(<p, v> in A_val) v + 0 * sum(<_, a> in A) 1", A=SPARSE)


def test_statistics_alone_cannot_be_advised_on() -> None:
    with pytest.raises(DataError, match="declared by its statistics"):
        storel.advise(COLUMNS, A=storel.declare({"shape": [3, 3], "nnz": 2}))


def test_unknown_formats_are_errors() -> None:
    with pytest.raises(FormatError, match="does not exist"):
        storel.advise(COLUMNS, A=FULL, formats="nowhere")


@pytest.mark.usefixtures("few")
def test_measuring_runs_every_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "RUNS", 2)
    advice = storel.advise("CREATE TENSOR y AS A * 3.0", measure=True, A=np.eye(6))
    assert all(row.measured is not None and row.measured > 0 for row in advice["A"].rows)
    assert not [each for each in advice["A"].dropped if each.why.name == "FAILED"]


@pytest.mark.usefixtures("few")
def test_both_operands_together() -> None:
    """By columns times by columns: both are scanned against their order until both are changed."""
    program = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }"
    advice = storel.advise(program, A=BANDED.tocsc(), B=SPARSE.tocsc())
    single = min(operand.best.expected for operand in advice.operands)
    if advice.together is not None:
        assert advice.together.expected < single
        assert set(advice.together.formats) == {"A", "B"}
        assert advice.formats == dict(advice.together.formats)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-15], True),
        ([1.0, 2.0], [1.0, 2.1], False),
        ([1.0, 0.0], [1.0, 1e-16], True),
        ([1.0, 0.0], [1.0, 0.5], False),
        ([np.nan, np.inf], [np.nan, np.inf], True),
        ([1.0, 2.0], [1.0, 2.0, 0.0], False),
    ],
)
def test_results_are_compared_but_for_rounding(one: list[float], other: list[float], same: bool) -> None:
    tensors = [{"y": storel.tensor(np.array(values))} for values in (one, other)]
    assert is_same(tensors[0], tensors[1]) is same
    assert not is_same(tensors[0], {"z": tensors[0]["y"]})


def test_results_differ_as_far_as_the_data_is_rounded() -> None:
    one, other = ({"y": storel.tensor(np.array([1.0, value]))} for value in (2.0, 2.0 + 1e-7))
    assert not is_same(one, other, {ScalarType.FLOAT64})
    assert is_same(one, other, {ScalarType.FLOAT64, ScalarType.FLOAT32})


@pytest.mark.parametrize(
    ("semiring", "one", "other", "same"),
    [
        ("plus_times", {0: np.inf, 1: np.nan, 2: 1.0, 3: 1e-16}, {0: np.inf, 1: np.nan, 2: 1.0}, True),
        ("plus_times", {0: np.inf, 1: 1.0}, {0: -np.inf, 2: 1.0}, False),
        ("plus_times", {0: 1.0, 1: np.inf}, {0: 1.0}, False),
        ("plus_times", {0: 2**62, 1: 1}, {0: 2**62 + 1, 1: 1}, False),
        ("plus_times", {0: 2**62, 1: 1}, {0: 2**62}, False),
        ("plus_times", {0: True}, {1: True}, False),
        ("min_plus", {0: 1.0, 1: 0.0}, {0: 1.0}, False),
        ("min_plus", {0: 1.0, 1: np.inf, 2: 2.0}, {0: 1.0, 2: 2.0 + 1e-15}, True),
        ("min_plus", {0: 1, 1: 7}, {0: 1}, False),
    ],
)
def test_keys_that_one_result_lacks_hold_its_zero(
    semiring: str, one: dict[int, Any], other: dict[int, Any], same: bool
) -> None:
    tensors = [{"y": storel.tensor(each, shape=(4,), semiring=semiring)} for each in (one, other)]
    assert is_same(tensors[0], tensors[1]) is same
    assert is_same(tensors[1], tensors[0]) is same


@pytest.fixture(scope="module")
def advice() -> Advice:
    return storel.advise(PRODUCT, A=BANDED, x=VECTOR)


def test_the_text_says_it_all(advice: Advice) -> None:
    text = advice_text(advice)
    for word in (
        "A in",
        "memory",
        "expected",
        "conversion",
        "pays after",
        "csr *",
        "band(lower=1, upper=1)",
        "█",
    ):
        assert word in text
    assert "measured" not in text
    assert "(--all lists them)" in text
    listed = advice_text(advice, lists_dropped=True)
    assert "  diagonal: diagonal: " in listed
    assert all(f"  {each.format}: {each.reason}" in listed for each in advice["A"].dropped)


def test_the_text_of_measured_rows(advice: Advice) -> None:
    (first, *rest) = advice["A"].rows
    rows = (replace(first, measured=5e3), *(replace(row, measured=9e3) for row in rest))
    text = advice_text(Advice((OperandAdvice("A", "", rows, ()),)))
    assert "measured" in text
    assert "not considered" not in text


def test_a_short_form_and_an_object(advice: Advice) -> None:
    assert "A in csr (present): " in repr(advice)
    written = json.loads(json.dumps(advice.as_object()))
    assert written["operands"]["A"]["rows"][0]["format"] == advice.formats["A"]
    assert "kronecker" in written["operands"]["A"]["dropped"]


def test_advice_is_a_mapping(advice: Advice) -> None:
    assert list(advice.items()) == [(name, advice[name]) for name in ("A", "x")]


def test_an_operand_that_there_is_no_advice_on_is_told(advice: Advice) -> None:
    with pytest.raises(UnknownNameError) as caught:
        advice["B"]
    assert str(caught.value) == "there is no advice on 'B'\n  expected: A, x"
