"""The command writes what the renderings give, to a file or to where it was called from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from storel.cli.application import app

SCRIPT = """
LOAD TENSOR A FROM 'a.npy' STORED AS csr
CREATE TENSOR s STORED AS csr AS sum(<(i, j), a> in A) { (j, i) -> a }
CREATE TENSOR r AS sum(<(i, j), a> in s) { i -> a }
"""

OPENINGS = {"text": "=== s in csr", "json": '{"s": {', "html": "<!DOCTYPE html>", "dot": "digraph plans {"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", np.diag([1.0, 2.0, 3.0]))
    (tmp_path / "s.sdql").write_text(SCRIPT, "utf-8")
    return tmp_path / "s.sdql"


@pytest.mark.parametrize("rendering", OPENINGS)
def test_to_a_file(script: Path, rendering: str) -> None:
    out = script.with_suffix(".out")
    arguments = ["explain", str(script), "--analyze", "--format", rendering, "-o", str(out)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (0, "")
    assert out.read_text("utf-8").startswith(OPENINGS[rendering])


@pytest.mark.parametrize("option", [["--json"], ["--format", "json"]])
def test_to_the_terminal(script: Path, option: list[str]) -> None:
    done = CliRunner().invoke(app, ["explain", str(script), *option], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert found.keys() == {"s", "r"}
    assert found["r"]["measured"] is None


def test_what_is_analyzed_was_run(script: Path) -> None:
    done = CliRunner().invoke(app, ["explain", str(script), "--analyze", "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert found["s"]["measured"]["operand_bytes"] > 0 and found["r"]["measured"]["seconds"] > 0
    assert not list(script.parent.glob("*.npz"))


def test_a_script_may_ask_for_it(script: Path) -> None:
    script.write_text(SCRIPT + "EXPLAIN ANALYZE r\n", "utf-8")
    done = CliRunner().invoke(app, ["run", str(script)], catch_exceptions=False)
    assert done.stdout.count("time (attributed)") == 1 and done.stdout.count("time (expected)") == 1
