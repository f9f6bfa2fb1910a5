"""The objects of JSON are complete."""

from __future__ import annotations

import json
from typing import Any

import pytest
from strategies.explained import PROGRAMS, measured, program

from storel.compiler import STAGES
from storel.explanation.json import explain_json

KEYS = {
    "format", "converted", "backend", "stages", "nanoseconds", "phases", "considered", "destination",
    "operators", "measured",
}  # fmt: skip


def as_json(name: str, *, analyzed: bool) -> dict[str, Any]:
    this = program(name)
    profiles = {"r": measured(this)} if analyzed else {}
    return json.loads(json.dumps(explain_json({"r": this.compilation}, profiles)))["r"]


def test_a_definition() -> None:
    found = as_json("scaled", analyzed=False)
    assert found.keys() == KEYS
    assert list(found["stages"]) == [stage.name for stage in STAGES]
    assert all(found["stages"].values())
    for phase in found["phases"]:
        assert phase.keys() == {"phase", "stop", "iterations", "nodes", "milliseconds", "matches"}
        assert phase["stop"] == "saturated" and all(phase["matches"].values())
    assert found["nanoseconds"] > 0
    assert found["measured"] is None


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_of_those_considered_was_chosen(name: str) -> None:
    found = as_json(name, analyzed=False)
    considered = found["considered"]
    chosen = [each for each in considered if each["chosen"]]
    assert [each["nanoseconds"] for each in chosen] == [found["nanoseconds"]]
    assert chosen[0]["term"] == found["stages"]["optimized"]
    assert [each["nanoseconds"] for each in considered] == sorted(each["nanoseconds"] for each in considered)
    assert len({each["term"] for each in considered}) == len(considered)


def test_what_was_measured() -> None:
    found = as_json("searched", analyzed=True)
    assert found["measured"].keys() == {"seconds", "runs", "operand_bytes", "result_bytes", "peak_bytes"}
    pending, times = list(found["operators"]), 0.0
    while pending:
        operator = pending.pop()
        assert operator["counted"] >= 0 and operator["expected"] > 0
        times += operator["attributed_nanoseconds"]
        pending += operator["parts"]
    assert times == pytest.approx(1e9 * found["measured"]["seconds"])
