"""The objects of JSON are complete."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from strategies.explained import PROGRAMS, measured, program

import storel
from storel.compilation.compiler import STAGES, Options
from storel.compilation.environment import Environment
from storel.execution.script import Runner
from storel.explanation.json import explain_json
from storel.explanation.text import explain_text
from storel.source import Source

KEYS = {
    "format", "converted", "backend", "stages", "nanoseconds", "call_nanoseconds", "phases", "considered",
    "destination", "operators", "threads", "divided", "matrix_products", "measured",
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
    measured = 1e9 * found["measured"]["seconds"]
    assert 0 < times < measured
    assert times >= (1 - 1e-9) * (measured - found["call_nanoseconds"])


def explained(text: str, **inputs: object) -> tuple[dict[str, Any], str]:
    """Return what JSON and text say of a program that is compiled for two threads."""
    environment = Environment()
    for name, value in inputs.items():
        environment.add_tensor(name, storel.tensor(value))
    compilations = Runner(environment, Options(threads=2), runs=False).run(Source("test", text)).compilations
    return json.loads(json.dumps(explain_json(compilations)))["r"], explain_text(compilations)


def test_matrix_products_are_told() -> None:
    left, right = np.ones((300, 200)), np.ones((200, 400))
    product = "CREATE TENSOR r AS sum(<(i, j), a> in A, <(j, k), b> in B) { (i, k) -> a * b }"
    found, text = explained(product, A=left, B=right)
    assert found["matrix_products"] == [{"rows": 300, "summed": 200, "columns": 400, "fills": "the result"}]
    assert (found["threads"], found["divided"]) == (1, [])
    assert "matrix product: 300 x 200 x 400 fills the result" in text


def test_threads_are_told() -> None:
    matrix = scipy.sparse.random(20_000, 20_000, density=0.002, format="csr", rng=np.random.default_rng(0))
    product = "CREATE TENSOR r AS sum(<(i, j), a> in A) { i -> a * x(j) }"
    found, text = explained(product, A=matrix, x=np.ones(20_000))
    assert found["threads"] == 2
    (loop,) = found["divided"]
    assert loop["fills"] == "the result" and loop["parts"] == "places of their own"
    assert f"threads: 2, parts of {loop['source']} fill the result: places of their own" in text
    assert found["matrix_products"] == []
