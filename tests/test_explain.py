"""Every stage is explained, as text and as JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest
from strategies.plans import planned

import storel
from storel.compiler import STAGES
from storel.errors import UnknownNameError
from storel.explain import explain_json, explain_text

TEXT = "CREATE TENSOR r AS sum(<(i, j), a> in A) { i -> a * 2 }"
COMPILATIONS = {"r": planned(TEXT, A=storel.tensor(np.eye(3), "csr")).compilation}


def test_the_stages_come_in_their_order() -> None:
    text = explain_text(COMPILATIONS)
    places = [text.index(f"--- {stage.name}\n") for stage in STAGES]
    assert places == sorted(places)
    assert text.startswith("=== r in ")
    assert "estimated time: " in text and "e-nodes" in text


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES])
def test_one_stage_is_part_of_all(stage: str) -> None:
    assert explain_text(COMPILATIONS, stage) in explain_text(COMPILATIONS)


def test_json_is_complete() -> None:
    found = json.loads(json.dumps(explain_json(COMPILATIONS)))["r"]
    assert found.keys() == {"format", "converted", "backend", "stages", "nanoseconds", "phases"}
    assert list(found["stages"]) == [stage.name for stage in STAGES]
    assert all(found["stages"].values())
    for phase in found["phases"]:
        assert phase.keys() == {"phase", "stop", "iterations", "nodes", "milliseconds", "matches"}
    assert found["nanoseconds"] > 0


def test_an_unknown_stage_is_met_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'plan'"):
        explain_text(COMPILATIONS, "plans")
