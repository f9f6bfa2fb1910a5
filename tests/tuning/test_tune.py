"""What is tried, what wins, and what the next run makes of it; times are given (``prefer``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.compilation import machine
from storel.errors import DataError, MemoryLimitError, StorelError, UnknownNameError
from storel.execution.run import execute
from storel.tuning.candidates import Candidate
from storel.tuning.measure import Measured
from storel.tuning.tune import Search

Notes = Callable[[], list[Path]]
Prefer = Callable[[str], None]

A: Any = sp.random_array((30, 40), density=0.05, format="csr", rng=np.random.default_rng(1))
B: Any = sp.random_array((40, 50), density=0.05, format="csr", rng=np.random.default_rng(2))
OTHER: Any = sp.random_array((40, 50), density=0.05, format="csr", rng=np.random.default_rng(3))
PRODUCT = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(k, j), b> in B) {(i, j) -> a * b}"
TOTAL = "CREATE TENSOR s AS sum(<(i, k), a> in A, <(k, j), b> in B) a * b"


def unlike(*_: object) -> bool:
    return False


def compilation(program: str = PRODUCT, **tensors: Any) -> Any:
    return storel.compile(program, **{"A": A, "B": B, **tensors}).compilation


@pytest.mark.parametrize(
    ("program", "description"),
    [(PRODUCT, "by lists"), (PRODUCT, "2 threads"), (TOTAL, "hash tables"), (TOTAL, "term 2 ")],
)
def test_the_winner_is_taken_from_then_on(program: str, description: str, prefer: Prefer) -> None:
    before = compilation(program)
    assert before.schedule is None
    prefer(description)
    tuning = storel.tune(program, A=A, B=B)
    (tuned,) = tuning.definitions
    assert tuned.rows[0].description == "as estimated"
    assert tuned.chosen.description.startswith(description)
    assert (tuned.is_remembered, tuned.speedup) == (True, 1e3)
    after = compilation(program)
    assert after.schedule == tuned.chosen.schedule
    assert (after.plan, after.used_threads) != (before.plan, before.used_threads)
    assert "(storel tune)" in storel.explain(program, A=A, B=B)
    result = storel.run(program, A=A, B=B)
    assert isinstance(result, storel.Tensor)
    want = (A @ B).toarray()
    np.testing.assert_allclose(result.to_numpy(), want if program == PRODUCT else want.sum())


def test_preferences_hold_where_an_array_is_assembled_on_the_way(prefer: Prefer) -> None:
    full = np.random.default_rng(5).random((40, 40))
    program = (
        "CREATE TENSOR C STORED AS csr AS "
        "sum(<(i, j), a> in A, <(j, k), b> in B, <(k, l), d> in D) {(i, l) -> a * b * d}"
    )
    operands: dict[str, Any] = {"A": full, "B": full, "D": B}
    before = storel.compile(program, **operands).compilation
    prefer("hash tables")
    chosen = storel.tune(program, **operands)["C"].chosen
    assert chosen.description.startswith("hash tables")
    after = storel.compile(program, **operands).compilation
    assert before.result.assembled == after.result.assembled == after.result.array
    assert after.plan != before.plan
    result = storel.run(program, **operands)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), full @ full @ B)


def test_parts_that_meet_are_put_together_before_anything_is_tried(prefer: Prefer) -> None:
    square: Any = sp.random_array((40, 40), density=0.1, format="csr", rng=np.random.default_rng(4))
    operand = storel.tensor(square, "hyb")
    program = (
        "CREATE TENSOR C AS sum(<(i, j), a> in A, <(j, k), b> in A, <(k, l), c> in A) {(i, l) -> a * b * c}"
    )
    prefer("2 threads")
    tuning = storel.tune(program, A=operand)
    assert tuning["C"].is_remembered
    assert dict(tuning["C"].chosen.schedule.converted).keys() == {"A"}
    kernel = storel.compile(program, A=operand)
    assert kernel.compilation.schedule == tuning["C"].chosen.schedule
    result = kernel(A=operand)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (square @ square @ square).toarray())


@pytest.mark.usefixtures("converting")
def test_operands_are_converted_where_that_is_faster(prefer: Prefer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storel.tuning.tune.UNLIKELY", 1e6)
    left, right = storel.tensor(A, "csc"), storel.tensor(B, "csc")
    own = compilation(A=left, B=right)
    wanted = "B in" if not own.converted or "A" in own.converted else "A in"
    prefer(wanted)
    tuning = storel.tune(PRODUCT, A=left, B=right)
    chosen = tuning["C"].chosen
    assert chosen.description.startswith(wanted)
    after = compilation(A=left, B=right)
    assert after.schedule == chosen.schedule
    assert [(name, each.format) for name, each in after.converted.items()] == list(chosen.schedule.converted)


SEVERAL_USES = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(j, k), b> in A) {(i, j) -> a * b}"


@pytest.mark.usefixtures("converting")
def test_uses_that_are_converted_are_remembered_so(prefer: Prefer) -> None:
    kernel = storel.compile(SEVERAL_USES, A=A)
    assert list(kernel.compilation.converted) == ["A@2"]
    prefer("by lists")
    chosen = storel.tune(SEVERAL_USES, A=A)["C"].chosen
    assert chosen.description.startswith("by lists")
    assert chosen.schedule.converted == (("A@2", "csc"),)
    kernel = storel.compile(SEVERAL_USES, A=A)
    assert kernel.compilation.schedule == chosen.schedule
    result = kernel(A=A)
    assert isinstance(result, storel.Tensor)
    np.testing.assert_allclose(result.to_numpy(), (A @ A.T).toarray())


@pytest.mark.usefixtures("converting")
def test_what_it_takes_to_convert_a_use_is_measured_with_it() -> None:
    tuning = storel.tune(SEVERAL_USES, seconds=0.0, A=A)
    assert tuning["C"].rows[0].measured is not None


def test_what_is_estimated_stays_where_nothing_is_faster(prefer: Prefer, notes: Notes) -> None:
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    assert len(notes()) == 1
    prefer("nothing")
    tuning = storel.tune(PRODUCT, A=A, B=B)
    assert tuning["C"].chosen is tuning["C"].rows[0]
    assert notes() == []
    assert compilation().schedule is None


def test_what_is_remembered_can_be_forgotten(prefer: Prefer, notes: Notes) -> None:
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    storel.tune(PRODUCT, forget=True, A=A, B=B)
    assert notes() == []
    assert compilation().schedule is None


def test_advice_follows_the_estimates(prefer: Prefer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storel.candidates.candidates.MOST_CANDIDATES", 1)
    before = storel.advise(TOTAL, A=A, B=B)
    prefer("term 2 ")
    storel.tune(TOTAL, A=A, B=B)
    after = storel.advise(TOTAL, A=A, B=B)
    assert after["A"].best.expected == before["A"].best.expected


@pytest.mark.parametrize(
    ("tensors", "is_taken"),
    [
        ({}, True),
        ({"B": 2 * B}, True),
        ({"B": OTHER}, False),
        ({"B": storel.tensor(B, "csc")}, False),
        ({"threads": 1}, False),
        ({"floating_point": "strict"}, False),
        ({"format": "dcsr"}, False),
    ],
)
def test_what_is_remembered_is_for_like_data_and_options(
    tensors: dict[str, Any], is_taken: bool, prefer: Prefer
) -> None:
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    assert (compilation(**tensors).schedule is not None) == is_taken


def test_what_another_machine_remembers_is_not_taken(prefer: Prefer, monkeypatch: pytest.MonkeyPatch) -> None:
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    monkeypatch.setattr(machine, "identity", lambda: "another")
    assert compilation().schedule is None


@pytest.mark.parametrize(
    "change",
    [
        {"term": "none of them"},
        {"term": 3},
        {"divides": 1},
        {"converted": {"A": "no format"}},
        {"converted": {"A@1": "no format"}},
        {"converted": {"@1": "csc"}},
        {"converted": {"Z": "csc"}},
        {"converted": {"A": []}},
        {"converted": []},
        {"preferences": {"store": "disk", "gather": None}},
        {"preferences": {"store": None}},
        {"preferences": None},
    ],
)
def test_a_note_that_asks_for_what_there_is_not_counts_as_none(
    change: dict[str, Any], prefer: Prefer, notes: Notes
) -> None:
    before = compilation()
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    (note,) = notes()
    note.write_text(json.dumps({**json.loads(note.read_text()), **change}))
    after = compilation()
    assert after.schedule is None
    assert after.plan == before.plan


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"term": '])
def test_a_damaged_note_counts_as_none(content: bytes, prefer: Prefer, notes: Notes) -> None:
    prefer("by lists")
    storel.tune(PRODUCT, A=A, B=B)
    (note,) = notes()
    note.write_bytes(content)
    assert compilation().schedule is None


def test_each_definition_that_is_run_is_tuned(prefer: Prefer, notes: Notes) -> None:
    prefer("by lists")
    program = (
        f"{PRODUCT.replace(' AS', ' STORED AS csr AS')}\nCREATE TENSOR y AS sum(<(i, j), c> in C) {{i -> c}}"
    )
    tuning = storel.tune(program, A=A, B=B)
    assert [each.name for each in tuning.definitions] == ["C", "y"]
    assert len(notes()) == 1
    kernel = storel.compile("CREATE TENSOR C STORED AS csr AS" + PRODUCT.partition("AS")[2], A=A, B=B)
    assert kernel.compilation.schedule == tuning["C"].chosen.schedule


def test_another_result_never_wins(prefer: Prefer, monkeypatch: pytest.MonkeyPatch, notes: Notes) -> None:
    prefer("by lists")
    monkeypatch.setattr("storel.tuning.tune.is_same", unlike)
    tuning = storel.tune(PRODUCT, A=A, B=B)
    assert "C: by lists" in tuning.wrong
    assert tuning["C"].chosen is tuning["C"].rows[0]
    assert notes() == []


def test_a_plan_that_fails_never_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(search: Search, candidate: Candidate) -> Measured:
        if candidate is not search.own:
            raise MemoryLimitError("too large")
        return Measured(1e6, execute(candidate.compilation, search.task.environment))

    monkeypatch.setattr(Search, "_measured", measured)
    tuned = storel.tune(PRODUCT, A=A, B=B)["C"]
    assert {row.objection for row in tuned.rows[1:]} == {"too large"}
    assert tuned.chosen is tuned.rows[0]


def test_nothing_is_tried_without_time() -> None:
    tuned = storel.tune(PRODUCT, seconds=0.0, A=A, B=B)["C"]
    assert len(tuned.rows) == 1


def test_tuning_is_a_mapping() -> None:
    tuning = storel.tune(PRODUCT, seconds=0.0, A=A, B=B)
    assert dict(tuning) == {"C": tuning["C"]}
    assert (list(tuning), len(tuning), "C" in tuning, "D" in tuning) == (["C"], 1, True, False)
    assert tuning.get("D") is None


def test_a_definition_that_was_not_run_is_told() -> None:
    tuning = storel.tune(PRODUCT, seconds=0.0, A=A, B=B)
    with pytest.raises(
        UnknownNameError, match="of the name 'C1' was run\n  expected: C\n  hint: did you mean 'C'"
    ):
        tuning["C1"]


def test_real_times_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storel.tuning.measure.ENOUGH", 0.0)
    tuning = storel.tune(PRODUCT, seconds=5.0, A=A, B=B)
    assert len(tuning["C"].rows) > 2
    assert all(row.measured is not None and row.measured > 0 for row in tuning["C"].rows)
    assert tuning["C"].chosen.description in repr(tuning)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"backend": "interpret"}, DataError),
        ({"A": storel.declare({"shape": [30, 40], "nnz": 3})}, StorelError),
    ],
)
def test_what_is_not_run_is_not_tuned(options: dict[str, Any], error: type[StorelError]) -> None:
    with pytest.raises(error):
        storel.tune(PRODUCT, **{"A": A, "B": B, **options})
