"""``storel stats`` and what becomes of its output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import storel
from storel.cli.application import app
from storel.errors import DataError, FormatError, StorelError
from storel.host import resources

PROGRAM = "CREATE TENSOR s AS sum(<(i, j), a> in A) { i -> a }"


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "A.mtx"
    storel.tensor(np.array([[1.0, 2, 0, 4], [0, 0, 0, 0], [0, 0, 5, 0]]), "csr").save(path)
    return path


def output(*arguments: str) -> str:
    shown = CliRunner().invoke(app, list(arguments))
    assert shown.exit_code == 0, shown.output
    return shown.output


def test_a_row_per_mode_and_a_histogram(matrix: Path) -> None:
    lines = [line.split() for line in output("stats", f"{matrix}:csc").splitlines()]
    assert ["float64[3,", "4]", "in", "csc,", "4", "entries"] in lines
    assert ["0", "3", "2", "0", "2", "1.33333", "3.16228", "3"] in lines
    assert ["2-3", "#" * 40, "1"] in lines


def test_statistics_stand_for_the_data(matrix: Path, tmp_path: Path) -> None:
    stated, script = tmp_path / "A.json", tmp_path / "rows.sdql"
    stated.write_text(output("stats", str(matrix), "--json"))
    script.write_text(PROGRAM)
    plan = output("explain", str(script), "--stats", f"A={stated}", "--stage", "plan")
    assert plan == output("explain", str(script), "-b", f"A={matrix}", "--stage", "plan")
    other = output("explain", str(script), "--stats", f"A={stated}:csc", "--stage", "plan")
    assert other == output("explain", str(script), "-b", f"A={matrix}:csc", "--stage", "plan")


def own_formats(directory: Path, shipped: str) -> Path:
    """Return a directory with a format of one's own, which is a shipped one but for its name."""
    directory.mkdir()
    text = (resources.directory("storage_formats") / f"{shipped}.sdql").read_text(encoding="utf-8")
    (directory / "mine.sdql").write_text(text.replace(f"FORMAT {shipped}", "FORMAT mine"))
    return directory


def test_a_format_of_ones_own_is_kept(matrix: Path, tmp_path: Path) -> None:
    by_columns, by_rows = (own_formats(tmp_path / name, name) for name in ("csc", "csr"))
    stated, script = tmp_path / "A.json", tmp_path / "rows.sdql"
    stated.write_text(output("stats", f"{matrix}:mine", "--formats", str(by_columns), "--json"))
    script.write_text(PROGRAM)
    explained = ("explain", str(script), "--stage", "plan")
    data = output(*explained, "-b", f"A={matrix}:mine", "--formats", str(by_columns))
    for formats in ((), ("--formats", str(by_columns)), ("--formats", str(by_rows))):
        assert output(*explained, "--stats", f"A={stated}", *formats) == data
    asked = output(*explained, "--stats", f"A={stated}:mine", "--formats", str(by_rows))
    assert asked == output(*explained, "-b", f"A={matrix}:mine", "--formats", str(by_rows)) != data


def test_a_format_of_a_script_that_has_the_name_of_one_that_ships(matrix: Path, tmp_path: Path) -> None:
    text = (own_formats(tmp_path / "own", "csc") / "mine.sdql").read_text().replace("mine", "csr")
    stated, script = tmp_path / "A.json", tmp_path / "rows.sdql"
    stated.write_text(output("stats", f"{matrix}:csr", "--json"))
    assert "creation" not in json.loads(stated.read_text())
    plans: list[str] = []
    for start in ("", f"{text};\n"):
        script.write_text(start + PROGRAM)
        plans.append(output("explain", str(script), "--stage", "plan", "--stats", f"A={stated}"))
    assert plans[0] == plans[1]


def test_statistics_that_name_a_format_alone_are_read() -> None:
    given = {"shape": [3, 4], "nnz": 4, "format": "csc"}
    assert storel.declare(given).format == "csc"
    with pytest.raises(FormatError, match="unknown format 'cssr'") as raised:
        storel.declare(given | {"format": "cssr"})
    assert raised.value.hint == "did you mean 'csr'?"


@pytest.mark.parametrize(
    ("creation", "message"),
    [
        ("CREATE FORMAT", "bad 'creation'"),
        ({"text": "CREATE FORMAT"}, "bad 'creation'"),
        ({"text": "CREATE FORMAT", "parts": [1]}, "bad 'creation'"),
        ({"text": "CREATE FORMAT", "parts": []}, "the statistics: "),
    ],
)
def test_a_text_that_creates_no_format_is_an_error(creation: object, message: str) -> None:
    with pytest.raises(StorelError, match=message):
        storel.declare({"shape": [3, 4], "nnz": 4, "format": "mine", "creation": creation})


def test_edited_statistics_change_the_estimate(matrix: Path) -> None:
    given = json.loads(output("stats", str(matrix), "--json"))
    large = {"shape": [10**6, 10**6], "nnz": 10**7, "format": given["format"]}
    costs = [
        storel.compile(PROGRAM, A=storel.declare(each)).compilation.optimized.cost.nanoseconds
        for each in (given, large)
    ]
    assert costs[1] > 1000 * costs[0]


def test_nothing_runs_on_statistics() -> None:
    with pytest.raises(DataError, match="declared by its statistics"):
        storel.run(PROGRAM, A=storel.declare({"shape": [3, 4], "nnz": 4}))


def test_a_malformed_option(tmp_path: Path) -> None:
    script = tmp_path / "rows.sdql"
    script.write_text(PROGRAM)
    assert CliRunner().invoke(app, ["explain", str(script), "--stats", "A"]).exit_code == 2


@pytest.mark.parametrize("text", ["auto", ""])
def test_no_format_is_chosen_by_statistics_alone(text: str) -> None:
    given = {"shape": [3, 4], "nnz": 4, "format": "auto"}
    with pytest.raises(DataError, match="formats are chosen by trying them on data") as raised:
        storel.declare(given, text or None)
    assert raised.value.hint == "name the format to plan for, or bind the data itself"


def test_a_contradiction_names_the_file_the_tensor_and_both_figures(tmp_path: Path) -> None:
    stated, script = tmp_path / "A.json", tmp_path / "rows.sdql"
    stated.write_text(json.dumps({"shape": [9, 9], "nnz": 8, "modes": [{"l2": 4, "linf": 5}, {}]}))
    script.write_text(PROGRAM)
    shown = CliRunner().invoke(app, ["explain", str(script), "--stats", f"A={stated}"])
    assert shown.exit_code == 1
    message = str(shown.exception) if shown.exception and not shown.output else shown.output
    assert f"{stated}, for A, mode 0: linf, the largest degree, is more than l2" in message
    assert "at most 4" in message and "5" in message
