"""``storel convert``: any file into any format and any kind of file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from strategies.command_line import storel as command

import storel

MATRIX = np.array([[1.0, 2, 0, 0], [0, 3, 0, 0], [0, 0, 4, 5]])
MINE = """CREATE FORMAT mine(T: real[m, n]) USING val: real[m * n]
  AS sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> val(j * m + i) }"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    storel.tensor(MATRIX, "csr").save("in.mtx")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "out", "options", "stored"),
    [
        ("in.mtx", "out.npz", ("--format", "band"), "band(lower=0, upper=1)"),
        ("in.mtx", "out.npz", ("--format", "levels(dense, compressed; order=(1,0))"), None),
        ("in.mtx", "out.npz", (), "csr"),
        ("in.mtx:coo", "out.npz", (), "coo"),
        ("in.mtx:csc", "out.npz", ("--format", "ell(width=2)"), "ell(width=2)"),
        ("in.mtx:csc", "out.npz", ("--format", "auto"), "band(lower=0, upper=1)"),
    ],
)
def test_the_tensor_stays_and_the_storage_changes(
    given: str, out: str, options: tuple[str, ...], stored: str | None
) -> None:
    ended = command("convert", given, out, *options)
    wanted = stored or options[1]
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{out}: float64[3, 4] in {wanted}, 5 entries, {Path(out).stat().st_size} bytes\n"
    read = storel.read(out)
    np.testing.assert_array_equal(read.to_numpy(), MATRIX)
    assert read.format == wanted


@pytest.mark.parametrize("out", ["out.npy", "out.tns.gz", "out.mtx"])
def test_a_format_is_said_and_asked_for_where_the_file_keeps_one(out: str, directory: Path) -> None:
    refused = command("convert", "in.mtx", out, "--format", "csc")
    assert (refused.code, refused.out) == (2, "")
    assert "--format" in refused.err and "keep no format" in refused.err
    assert not (directory / out).exists()
    ended = command("convert", "in.mtx:csc", out)
    assert ended.out == f"{out}: float64[3, 4], 5 entries, {Path(out).stat().st_size} bytes\n"
    np.testing.assert_array_equal(storel.read(out).to_numpy(), MATRIX)


def test_what_was_converted_converts_back() -> None:
    assert command("convert", "in.mtx", "a.npz", "--format", "dia").code == 0
    assert command("convert", "a.npz", "b.mtx").code == 0
    assert Path("b.mtx").read_bytes() == Path("in.mtx").read_bytes()


def test_a_format_of_ones_own(directory: Path) -> None:
    (directory / "formats").mkdir()
    (directory / "formats" / "mine.sdql").write_text(MINE)
    ended = command("convert", "in.mtx", "out.npz", "--format", "mine", "--formats", "formats")
    assert ended.code == 0
    np.testing.assert_array_equal(np.load("out.npz")["val"], MATRIX.T.reshape(-1))
    assert command("convert", "out.npz", "back.mtx").code == 0
    np.testing.assert_array_equal(storel.read("back.mtx").to_numpy(), MATRIX)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("in.mtx", "out.npz", "--format", "diagonal"), "diagonal: 2 of 5 entries do not fit; the first is"),
        (("in.mtx", "out.npz", "--format", "symmetric"), "does not store tensors of this shape"),
        (("in.mtx", "out.npz", "--format", "bnad"), "did you mean 'band'?"),
        (("in.mtx", "out.xyz"), "out.xyz: the ending of the name"),
        (("none.mtx", "out.npz"), "none.mtx"),
        (("in.mtx", "nowhere/out.npz"), "the directory nowhere does not exist"),
    ],
)
def test_a_failure_is_a_message_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, directory: Path
) -> None:
    before = sorted(directory.rglob("*"))
    ended = command("convert", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err
    assert sorted(directory.rglob("*")) == before
