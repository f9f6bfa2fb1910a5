"""``storel advise``, and ``auto`` in place of a format, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from strategies.command_line import storel

from storel.advice.trial import Measured, Tensors, Trial
from storel.execution.loading import as_tensor
from storel.storage.formats.known import Formats

sparse: Any = scipy.sparse

N = 300
PRODUCT = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
BINDINGS = ("-b", "A=a.mtx", "-b", "x=x.npy")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).random((3, N))
    matrix = sparse.diags_array(values, offsets=[-1, 0, 1], shape=(N, N)).tocsr()
    as_tensor(matrix, Formats()).save(Path("a.mtx"))
    np.save("x.npy", np.ones(N))
    Path("p.sdql").write_text(PRODUCT)
    monkeypatch.setattr("storel.candidates.candidates.MOST_CANDIDATES", 4)
    Path("one.sdql").write_text("CREATE TENSOR y AS 1")


def test_advice_is_printed() -> None:
    shown = storel("advise", "p.sdql", *BINDINGS)
    assert (shown.code, shown.err) == (0, "")
    assert "csr *" in shown.out
    assert "band(lower=1, upper=1)" in shown.out
    assert "formats not considered" in shown.out
    assert (
        "kronecker: format kronecker needs a value of p" in storel("advise", "p.sdql", *BINDINGS, "--all").out
    )


def test_json_is_one_object() -> None:
    shown = storel("advise", "p.sdql", *BINDINGS, "--json")
    operands = json.loads(shown.out)["operands"]
    assert list(operands) == ["A", "x"]
    formats = [row["format"] for row in operands["A"]["rows"]]
    assert formats.index("band(lower=1, upper=1)") < formats.index("csr")


def test_binders_and_threads_are_those_of_all_that_is_planned_and_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned: list[tuple[str, int | None]] = []
    run: list[set[int]] = []
    expected, measured = Trial.expected, Trial.measured

    def planning(trial: Trial, tensors: Tensors) -> float:
        planned.append((trial.runner.options.binders, trial.runner.options.threads))
        return expected(trial, tensors)

    def running(trial: Trial, tensors: Tensors) -> Measured:
        other = trial.runner.again(trial.analysis, tensors, runs=True)
        run.append({each.threads for each in other.outcome.compilations.values()})
        return measured(trial, tensors)

    monkeypatch.setattr(Trial, "expected", planning)
    monkeypatch.setattr(Trial, "measured", running)
    shown = storel("advise", "p.sdql", *BINDINGS, "--measure", "--binders", "debruijn", "--threads", "3")
    assert (shown.code, shown.err) == (0, "")
    assert set(planned) == {("debruijn", 3)}
    assert run and all(threads == {3} for threads in run)


@pytest.mark.parametrize(
    ("option", "message"),
    [(("--binders", "lifted"), "'lifted' is none of named"), (("--threads", "0"), "--threads")],
)
def test_options_that_are_none(option: tuple[str, str], message: str) -> None:
    shown = storel("advise", "p.sdql", *BINDINGS, *option)
    assert shown.code == 2
    assert message in shown.err


def test_nothing_to_advise_on() -> None:
    shown = storel("advise", "one.sdql")
    assert shown.code == 1
    assert shown.err.startswith("error: there is no storage to advise on")


@pytest.mark.parametrize("loads", [True, False])
def test_a_format_is_chosen_for_the_program(loads: bool) -> None:
    bindings = BINDINGS[2:] if loads else ("-b", "A=a.mtx:auto", *BINDINGS[2:])
    load = "LOAD TENSOR A FROM 'a.mtx' STORED AS auto\n" if loads else ""
    Path("p.sdql").write_text(load + PRODUCT)
    shown = storel("run", "p.sdql", *bindings)
    assert shown.code == 0, shown.err
    assert shown.err.startswith("A is stored as ")
    assert "A is stored as csr" not in shown.err
    assert "(0) = " in shown.out


def test_the_smallest_format_of_a_file() -> None:
    shown = storel("convert", "a.mtx", "a.npz", "--format", "auto")
    assert shown.code == 0, shown.err
    assert "band" in shown.out or "dia" in shown.out


def test_auto_is_not_for_every_place() -> None:
    shown = storel("formats", "show", "auto")
    assert shown.code == 1
    assert "'auto' is no format" in shown.err
