"""The constants that were measured here are kept, and plans are priced with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import storel
from storel.calibration import measure
from storel.calibration.probes import Probe, vector
from storel.cli.application import app
from storel.compilation import machine
from storel.errors import DataError
from storel.optimizer.cost.constants import CONSTANTS

SLOW = replace(CONSTANTS, step=40.0, gather=tuple(10 * each for each in CONSTANTS.gather))
NUMBERS = dict(SLOW.listed())

FEW_PROBES = (
    Probe("sum", "CREATE TENSOR s AS sum(<i, v> in x) v", lambda: {"x": vector(1_000)}),
    Probe("function", "CREATE TENSOR s AS sum(<i, v> in x) exp(v)", lambda: {"x": vector(1_000)}),
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def note(cache: Path) -> Path:
    (found,) = cache.glob("constants-*.json")
    return found


def estimated() -> float:
    kernel = storel.compile("CREATE TENSOR s AS sum(<i, v> in x) v", x=np.ones(100))
    return kernel.compilation.optimized.cost.nanoseconds


def test_what_is_shipped_holds_until_something_is_measured() -> None:
    assert machine.constants() == CONSTANTS
    machine.keep(SLOW)
    assert machine.constants() == SLOW
    machine.reset()
    assert machine.constants() == CONSTANTS
    machine.reset()


def test_plans_are_priced_with_what_was_measured() -> None:
    before = estimated()
    machine.keep(SLOW)
    assert estimated() > 20 * before
    machine.reset()
    assert estimated() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        json.dumps({**NUMBERS, "step": -1.0}),
        json.dumps({**NUMBERS, "step": "fast"}),
        json.dumps({**NUMBERS, "step": float("nan")}),
        json.dumps({**NUMBERS, "step": [1.0]}),
    ],
)
def test_a_damaged_note_is_none(own_cache: Path, text: str) -> None:
    machine.keep(SLOW)
    note(own_cache).write_text(text)
    assert machine.constants() == CONSTANTS


def test_a_cache_that_cannot_be_written_is_an_error(own_cache: Path) -> None:
    own_cache.write_text("a file where a directory should be")
    with (
        pytest.warns(UserWarning, match="nothing is kept on disk"),
        pytest.raises(DataError, match="nothing can be kept"),
    ):
        machine.keep(SLOW)


def test_the_command_measures_shows_and_resets(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "probes", lambda: FEW_PROBES)
    monkeypatch.setattr(measure, "PATIENCE", 0.0)

    def command(*options: str) -> str:
        done = CliRunner().invoke(app, ["calibrate", *options])
        assert done.exit_code == 0, done.output
        return done.output

    shipped = command("--show")
    measured = command()
    assert all(name in measured for name, _ in CONSTANTS.listed())
    assert note(own_cache).is_file()
    assert command("--show") == measured != shipped
    assert command("--reset") == shipped
    assert not list(own_cache.glob("constants-*.json"))


def test_to_show_and_to_reset_is_a_contradiction(own_cache: Path) -> None:
    machine.keep(SLOW)
    done = CliRunner().invoke(app, ["calibrate", "--show", "--reset"])
    assert done.exit_code == 2 and "--show" in done.stderr
    assert machine.constants() == SLOW
