"""The command on tiny data: every kernel is timed and right, what is wrong is told, files are written."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from storel.bench import kernels, measure, run
from storel.bench.problem import Formulation, Problem
from storel.bench.rivals.rival import Rival
from storel.bench.rivals.table import RIVALS
from storel.bench.table import table_of, width_of
from storel.bench.task import Measurement, Task, Timing
from storel.cli.application import app

TINY = ("--size", "40", "--nonzeros", "200", "--repetitions", "1", "--backends", "c")


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure without processes, so that rivals can be replaced, and in as few runs as there may be."""
    monkeypatch.setattr(run, "in_own_process", measure.measure)
    monkeypatch.setattr(measure, "SPAN", 0.0)
    monkeypatch.setattr(measure, "SETTLING", 0.0)


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["bench", *TINY, *arguments])


def measured(path: Path, *arguments: str) -> list[dict[str, Any]]:
    shown = bench(*arguments, "--json", str(path))
    assert shown.exit_code == 0, shown.output
    return json.loads(path.read_text())["measurements"]


@pytest.mark.usefixtures("in_this_process")
def test_every_kernel_is_right(tmp_path: Path) -> None:
    found = measured(tmp_path / "found.json", "--rivals", "scipy,numpy")
    assert [each["kernel"] for each in found] == list(kernels.KERNELS)
    for each in found:
        assert {"storel c"} < {timing["name"] for timing in each["timings"]}
        assert all(timing["is_right"] for timing in each["timings"])
        assert each["best_rival"] in ("scipy", "numpy")
        assert each["limit_seconds"] == max(each["limits"].values()) > 0
        (own,) = (timing for timing in each["timings"] if not timing["is_rival"])
        assert own["plan"].startswith("result <-")
        assert 0 < own["minimum"] <= own["median"]
        assert own["first"] > own["minimum"]


@pytest.mark.usefixtures("in_this_process")
def test_data_that_suits_a_kernel_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.tns").write_text("1 1 1 2.0\n2 3 1 4.0\n")
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 5\n2 3 7\n")
    data = f"power-law,banded,triangular,{tmp_path / 'a.mtx'},{tmp_path / 'a.tns'}"
    names = "add3,ttv,product"
    found = measured(tmp_path / "found.json", "--kernels", names, "--data", data, "--rivals", "scipy")
    taken: dict[str, list[str]] = {}
    for each in found:
        taken.setdefault(each["kernel"], []).append(Path(each["data"]).name)
    matrices = ["power-law", "banded", "triangular", "a.mtx"]
    assert taken == {
        "add3": matrices,
        "ttv": ["power-law", "a.tns"],
        "product": ["dense"],
    }


@pytest.mark.usefixtures("in_this_process")
def test_a_wrong_answer_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def wrong(_: str, problem: Problem) -> Formulation:
        assert problem.scipy is not None
        right = problem.scipy.run
        return Formulation(lambda: right() + 1e-3)

    monkeypatch.setitem(RIVALS, "numpy", Rival("numpy", "numpy", "numpy", wrong))
    shown = bench("--kernels", "spmv", "--rivals", "numpy,scipy", "--json", str(tmp_path / "found.json"))
    assert shown.exit_code == 1
    assert "WRONG" in shown.output
    assert "numpy on spmv, uniform: the answer is wrong" in shown.stderr
    (found,) = json.loads((tmp_path / "found.json").read_text())["measurements"]
    assert found["best_rival"] == "scipy"
    assert {timing["name"]: timing["is_right"] for timing in found["timings"]}["numpy"] is False


@pytest.mark.usefixtures("in_this_process")
def test_a_wrong_answer_of_storel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels.problem_of

    def wrong(task: Task) -> Problem:
        problem = right(task)
        return replace(problem, program=problem.program.replace("a * v", "a * v * 2.0"))

    monkeypatch.setattr(measure, "problem_of", wrong)
    shown = bench("--kernels", "spmv", "--rivals", "scipy")
    assert shown.exit_code == 1
    assert "storel c on spmv, uniform: the answer is wrong" in shown.stderr


@pytest.mark.usefixtures("in_this_process")
def test_a_rival_that_fails_is_told_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Any:
        raise RuntimeError("no such luck")

    monkeypatch.setitem(RIVALS, "numpy", Rival("numpy", "numpy", "numpy", failing))
    shown = bench("--kernels", "spmv,scale", "--rivals", "numpy,scipy")
    assert shown.exit_code == 0
    assert "numpy on spmv, uniform and 1 more: RuntimeError: no such luck" in shown.stderr


def test_a_process_of_its_own_finds_the_same_fields(tmp_path: Path) -> None:
    (found,) = measured(tmp_path / "found.json", "--kernels", "spmv", "--rivals", "scipy", "--threads", "1")
    assert found["kernel"] == "spmv"
    assert all(timing["is_right"] for timing in found["timings"])


def test_a_process_that_the_system_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "WORKER", ("-c", "import os; os.kill(os.getpid(), 9)"))
    shown = bench("--kernels", "spmv", "--rivals", "scipy")
    assert shown.exit_code == 1
    assert "process on spmv, uniform: ended by signal 9" in shown.stderr


ENDING = """
import os
from storel.bench import worker
from storel.bench.problem import Formulation
from storel.bench.rivals.rival import Rival
from storel.bench.rivals.table import RIVALS

calls = []

def run():
    calls.append(None)
    if len(calls) == {last}:
        os.kill(os.getpid(), 9)

formulation = Formulation(run, lambda _: 0.0)
RIVALS["numpy"] = Rival("numpy", "numpy", "numpy", lambda *_: formulation)
worker.main()
"""
"""A process that measures, and whose rival ends it in one of its calls."""


@pytest.mark.parametrize("last", [1, 2])
def test_a_rival_that_ends_the_process_is_told_and_the_others_are_measured(
    last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WORKER", ("-c", ENDING.format(last=last)))
    path = tmp_path / "found.json"
    shown = bench("--kernels", "spmv", "--rivals", "numpy,scipy", "--json", str(path))
    assert shown.exit_code == 0
    assert "numpy on spmv, uniform: ended by signal 9" in shown.stderr
    (found,) = json.loads(path.read_text())["measurements"]
    assert {each["name"]: each["is_right"] for each in found["timings"]} == {
        "storel c": True,
        "scipy": True,
        "numpy": False,
    }


@pytest.mark.usefixtures("in_this_process")
def test_a_failure_of_storel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels.problem_of

    def malformed(task: Task) -> Problem:
        return replace(right(task), program="nonsense")

    monkeypatch.setattr(measure, "problem_of", malformed)
    shown = bench("--kernels", "spmv", "--rivals", "scipy")
    assert shown.exit_code == 1
    assert "storel c on spmv, uniform:" in shown.stderr


def test_a_mistake_in_the_other_process_is_a_mistake_here(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mtx"
    damaged.write_text("nothing")
    shown = bench("--kernels", "spmv", "--data", str(damaged), "--rivals", "scipy")
    assert "cannot be measured" in str(shown.exception)


@pytest.mark.usefixtures("in_this_process")
def test_contractions_of_a_table_are_timed(tmp_path: Path) -> None:
    table = tmp_path / "contractions.csv"
    table.write_text('einsum_row_major\n"ki,jk->ji"\n"lki,kjl->ji"\n')
    options = ("--contractions", str(table), "--contraction-mib", "0.001", "--rivals", "numpy")
    found = measured(tmp_path / "found.json", *options)
    assert [each["kernel"] for each in found] == ["ki,jk->ji", "lki,kjl->ji"]
    assert [each["flops"] for each in found] == [2 * 12**3, 2 * 4**4]


@pytest.mark.usefixtures("in_this_process")
def test_what_a_run_was_asked_for_is_kept_and_asks_for_the_same_again(tmp_path: Path) -> None:
    first, second, table = (tmp_path / name for name in ("first.json", "second.json", "contractions.csv"))
    table.write_text('einsum_row_major\n"ki,jk->ji"\n')
    contractions = ("--contractions", str(table), "--contraction-mib", "0.001")
    measured(first, "--kernels", "scale,product", "--rivals", "scipy,numpy", *contractions)
    run = json.loads(first.read_text())
    assert run["parameters"] == {
        "kernels": ["scale", "product"],
        "data": ["uniform"],
        "size": 40,
        "nonzeros": 200,
        "backends": ["c"],
        "rivals": ["scipy", "numpy"],
        "repetitions": 1,
        "threads": 1,
        "contractions": str(table),
        "contraction_mib": 0.001,
    }
    options: list[str] = []
    for name, value in run["parameters"].items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        options += [f"--{name.replace('_', '-')}", text]
    assert CliRunner().invoke(app, ["bench", *options, "--json", str(second)]).exit_code == 0
    again = json.loads(second.read_text())
    assert again["parameters"] == run["parameters"]
    named = [[(each["kernel"], each["data"]) for each in found["measurements"]] for found in (run, again)]
    assert named[0] == named[1] == [("scale", "uniform"), ("product", "dense"), ("ki,jk->ji", "dense")]


@pytest.mark.usefixtures("in_this_process")
def test_what_figures_depend_on_is_kept(tmp_path: Path) -> None:
    measured(tmp_path / "found.json", "--kernels", "scale", "--rivals", "scipy")
    run = json.loads((tmp_path / "found.json").read_text())
    assert datetime.fromisoformat(run["began"]) <= datetime.now(UTC)
    assert {"storel", "python", "numpy", "scipy", "numba", "egglog"} == run["versions"].keys()
    assert all(run["versions"].values())
    host = run["host"]
    assert host["processor"] and host["processors"] > 0 and host["memory"] > 0
    assert host["compiler"] is None or {"command", "version", "flags"} == host["compiler"].keys()


@pytest.mark.usefixtures("in_this_process")
def test_ratios_are_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "ratios.svg"
    assert bench("--kernels", "spmv", "--rivals", "scipy", "--plot", str(picture)).exit_code == 0
    assert picture.read_text().count("<svg") == 1
    refused = bench("--kernels", "spmv", "--rivals", "scipy", "--plot", str(tmp_path / "ratios.none"))
    assert "cannot be drawn" in str(refused.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "unifrom"), "no data 'unifrom'"),
        (("--contractions", "none.csv"), "none.csv cannot be read"),
        (("--contractions", sys.executable), "is no table"),
        (("--json", "no/where.json"), "cannot write no/where.json"),
        (("--plot", "ratios.none"), "cannot be drawn"),
        (("--kernels", "ttv", "--data", "banded"), "none of the kernels takes such data"),
    ],
)
def test_mistakes_are_told_before_anything_runs(arguments: tuple[str, ...], message: str) -> None:
    shown = CliRunner().invoke(app, ["bench", *arguments])
    assert message in str(shown.exception)


@pytest.mark.parametrize(
    ("option", "names", "unknown"),
    [
        ("--kernels", "smpv", "'smpv'"),
        ("--kernels", "spmv,smpv", "'smpv'"),
        ("--kernels", "", "''"),
        ("--rivals", "scypi", "'scypi'"),
        ("--backends", "d", "'d'"),
    ],
)
def test_unknown_names(option: str, names: str, unknown: str) -> None:
    shown = bench(option, names)
    assert shown.exit_code == 2
    assert f"{option}: {unknown} is none of" in shown.stderr


@pytest.mark.parametrize("size", ["-3", "0", "nan", "inf"])
def test_contractions_have_a_size(size: str) -> None:
    shown = bench("--contractions", "none.csv", "--contraction-mib", size)
    assert (shown.exit_code, shown.exception.__class__) == (2, SystemExit)


@pytest.mark.parametrize(
    "option",
    [
        ("--contraction-mib", "8"),  # without contractions
        ("--size", str(10**24)),
        ("--nonzeros", str(10**15)),
        ("--threads", str(10**9)),
        ("--repetitions", "0"),
    ],
)
def test_sizes_make_sense(option: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["bench", *option]).exit_code == 2


def test_data_that_does_not_fit_into_memory_is_a_mistake() -> None:
    options = ("--kernels", "spmv", "--rivals", "scipy", "--nonzeros", str(2**40))
    shown = CliRunner().invoke(app, ["bench", *options])
    assert "the data does not fit into memory" in str(shown.exception)


def test_the_table_has_storel_first_and_ratios_to_the_fastest_right_rival() -> None:
    def columns(number: int) -> list[Any]:
        return list(table_of([found]).columns[number].cells)

    found = Measurement(
        *("kernel", "data"),
        (
            Timing("wrong", 0.5e-3, 0.5e-3),
            Timing("fast", 1e-3, 1e-3, is_right=True),
            Timing("slow", 9e-3, 9e-3, is_right=True),
            Timing("storel", 2e-3, 3e-3, is_right=True, is_rival=False),
        ),
        {"stream": 4e-4, "flops": 1e-4},
        *(0, 0, 0),
    )
    assert columns(2) == ["storel", "wrong", "fast", "slow", "limit: stream"]
    assert columns(5) == ["2.00", "WRONG", "1.00", "9.00", ""]
    assert columns(6) == ["5.00", "", "2.50", "22.50", ""]
    assert not found.is_sound
    assert np.isclose(found.limit[1], 4e-4)


@pytest.mark.parametrize("places", [80, 40, None])
def test_numbers_are_never_cut(places: int | None) -> None:
    storel = Timing("storel numba", 0.1237, 0.8765, 0.4321, 123_400, is_right=True, is_rival=False)
    name = "a_matrix_with_a_name_that_is_longer_than_most.mtx"
    found = Measurement("triangles", f"/data/{name}", (storel,), {"stream": 0.0567}, 0, 0, 0)
    table, shown = table_of([found]), StringIO()
    Console(file=shown, width=width_of(table, places)).print(table)
    for number in ("124 ms", "876 ms", "432 ms", "123 kB", "56.7 ms"):
        assert number in shown.getvalue()
    assert "…" not in shown.getvalue() and "/data/" not in shown.getvalue()
    assert (name in shown.getvalue()) is (places is None)
