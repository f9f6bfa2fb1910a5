"""``storel tune`` on the command line, and what ``storel run`` and ``explain`` make of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from strategies.command_line import storel

from storel.execution.loading import as_tensor
from storel.execution.run import execute
from storel.storage.formats.known import Formats
from storel.tuning.candidates import Candidate, describe
from storel.tuning.measure import Measured
from storel.tuning.rows import Tuned
from storel.tuning.tune import Search

PRODUCT = "CREATE TENSOR C AS sum(<(i, k), a> in A, <(k, j), b> in A) { (i, j) -> a * b }"
TUNE = ("tune", "p.sdql", "-b", "A=a.mtx")
PLAN = ("explain", "p.sdql", "-b", "A=a.mtx", "--stage", "plan")


def unlike(*_: object) -> bool:
    return False


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache that the tests of this module share: plans and kernels are made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def files(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a program and a matrix; nothing is remembered; lists are fast, whatever the clock says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STOREL_CACHE_DIR", str(own_cache))
    for note in own_cache.glob("schedule-*.json"):
        note.unlink()
    matrix = sp.random_array((30, 30), density=0.05, format="csr", rng=np.random.default_rng(1))
    as_tensor(matrix, Formats()).save(Path("a.mtx"))
    Path("p.sdql").write_text(PRODUCT)

    def measured(search: Search, candidate: Candidate) -> Measured:
        search.report(describe(candidate, search.own), 0.5)
        is_fast = describe(candidate, search.own) == "by lists"
        return Measured(1e3 if is_fast else 2e3, execute(candidate.compilation, search.task.environment))

    monkeypatch.setattr(Search, "_measured", measured)


def test_the_table_says_what_was_tried_and_chosen() -> None:
    before = storel(*PLAN)
    shown = storel(*TUNE)
    assert (shown.code, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert lines[0].split() == ["C", "expected", "measured"]
    assert lines[2].split()[:3] == ["by", "lists", "*"]
    assert any(line.split()[:2] == ["as", "estimated"] for line in lines)
    assert lines[-1] == "* is taken from now on: 2.00 times as fast as estimated"
    after = storel(*PLAN)
    assert "by bitmap" in before.out
    assert after.out == before.out.replace("by bitmap", "by list")
    assert storel("run", "p.sdql", "-b", "A=a.mtx").code == 0


def test_json_is_one_object() -> None:
    shown = storel(*TUNE, "--json")
    (tuned,) = json.loads(shown.out).values()
    assert [row["description"] for row in tuned["rows"] if row["is_chosen"]] == ["by lists"]
    assert (tuned["speedup"], tuned["remembered"]) == (2.0, True)


def test_what_is_remembered_is_forgotten() -> None:
    before = storel(*PLAN)
    storel(*TUNE)
    shown = storel(*TUNE, "--forget")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.splitlines()[-1] == "nothing is remembered"
    assert storel(*PLAN).out == before.out


def test_another_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storel.tuning.tune.is_same", unlike)
    shown = storel(*TUNE)
    assert shown.code == 1
    assert "another result" in shown.out
    assert shown.err.startswith("error: plans give other results; please report this")


def interrupted_after(definitions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come when so many definitions are tuned."""
    run, done = Search.run, list[Search]()

    def interrupted(search: Search) -> Tuned:
        if len(done) == definitions:
            raise KeyboardInterrupt
        done.append(search)
        return run(search)

    monkeypatch.setattr(Search, "run", interrupted)


def test_an_interrupt_says_that_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    before = storel(*PLAN)
    interrupted_after(0, monkeypatch)
    shown = storel(*TUNE)
    assert (shown.code, shown.out, shown.err) == (130, "", "interrupted: nothing was remembered\n")
    assert storel(*PLAN).out == before.out


def test_an_interrupt_says_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = PRODUCT.replace("CREATE TENSOR C", "CREATE TENSOR C STORED AS csr")
    Path("p.sdql").write_text(f"{stored};\nCREATE TENSOR s AS sum(<(i, j), c> in C) c * c")
    interrupted_after(1, monkeypatch)
    shown = storel(*TUNE)
    assert shown.code == 130
    assert shown.err == "interrupted: what was found for C is remembered, nothing else\n"
    assert "by list" in storel(*PLAN).out


def test_an_interrupt_of_forgetting_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("storel.cli.tune.forgotten", interrupted)
    shown = storel(*TUNE, "--forget")
    assert shown.code == 130
    assert shown.err == "interrupted: what was remembered may not be forgotten yet\n"


def test_what_is_remembered_is_for_one_way_to_hold_binders() -> None:
    named = storel(*PLAN)
    indices = ("--binders", "debruijn")
    shown = storel(*TUNE, *indices)
    assert (shown.code, shown.err) == (0, "")
    assert storel(*PLAN).out == named.out
    assert "by list" in storel(*PLAN, *indices).out


def test_unknown_binders() -> None:
    shown = storel(*TUNE, "--binders", "lifted")
    assert shown.code == 2
    assert "'lifted' is none of named, debruijn" in shown.err
