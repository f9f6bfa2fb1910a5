"""``storel run``: what is written, what is printed, and where scripts and data come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from strategies.command_line import storel as command

import storel

MATRIX = np.array([[1.5, 0.0], [0.0, 2.0]])
SUM = "CREATE TENSOR y AS sum(<(i, j), a> in A) a"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storel.tensor(MATRIX, "csr").save("a.mtx")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (f"LOAD TENSOR A FROM 'a.mtx' {SUM} SAVE A TO 'c.npz'", ()),
        (f"{SUM} SAVE A TO 'c.npz'", ("-b", "A=a.mtx")),
        ("SAVE A TO 'c.npz'", ("-b", "A=a.mtx")),
        (SUM, ("-b", "A=a.mtx", "--output", "A=c.npz")),
        ("CREATE TENSOR y AS 1", ("-b", "A=a.mtx", "--output", "A=c.npz")),
    ],
)
def test_what_was_given_is_saved(script: str, arguments: tuple[str, ...]) -> None:
    ended = command("run", "-", *arguments, stdin=script)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    np.testing.assert_array_equal(storel.read("c.npz").to_numpy(), MATRIX)
