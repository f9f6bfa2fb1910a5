"""Help teaches by an example, and exit codes tell whose mistake it was."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import storel
from storel.cli import main
from storel.cli.application import app

COMMANDS = [
    *("run", "explain", "advise", "tune", "stats", "convert", "formats", "check-format", "rules"),
    *("calibrate", "bench"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    assert f"Example: storel {command}" in " ".join(shown.output.split())


def test_help_lists_the_commands() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert all(command in shown.output for command in COMMANDS)


def test_the_version_is_that_of_the_package() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.exit_code == 0
    assert shown.output == f"storel {version('storel')}\n" == f"storel {storel.__version__}\n"
    assert "__version__" in dir(storel)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["formats"], 0),
        (["formats", "show", "csr"], 0),
        (["formats", "show", "crs"], 1),
        (["formats", "csr"], 2),
        (["rules"], 0),
        (["calibrate", "--show"], 0),
        (["rules", "--rules", "none.rules"], 1),
        (["run", "none.sdql"], 1),
        (["explain", "none.sdql"], 1),
        (["explain", "a.sdql", "--analyze", "--stage", "plan"], 0),
        (["explain", "a.sdql", "--format", "dot", "-o", "no/such/directory.dot"], 1),
        (["explain", "a.sdql", "--format", "svg"], 2),
        (["explain", "a.sdql", "--format", "html", "--stage", "plan"], 2),
        (["explain", "a.sdql", "--format", "html", "--json"], 2),
        (["explain", "a.sdql", "--format", "text", "--json"], 2),
        (["run"], 2),
        (["run", "a.sdql", "-b", "nonsense"], 2),
        (["run", "a.sdql", "--backend", "d"], 2),
        (["walk"], 2),
        (["run", "a.sdql", "--output", "nonsense"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.sdql").write_text("CREATE TENSOR r AS 1 + 1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["storel", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code or 0) == code


def test_a_defect_is_told_from_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> str:
        raise KeyError("inside")

    monkeypatch.setattr("storel.cli.report.formats_text", broken)
    monkeypatch.setattr("sys.argv", ["storel", "formats"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert "failed internally" in capsys.readouterr().err
