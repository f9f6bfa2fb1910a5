"""``storel run``: what is written, what is printed, and where scripts and data come from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strategies.command_line import storel as command

import storel
from storel.cli.options import path_and_format

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


def test_names_of_options_are_free_on_the_command_line() -> None:
    script = "PARAMETER threads: int = 4; CREATE TENSOR y AS threads * 2"
    assert command("run", "-", "-b", "threads=1", stdin=script).out == "y = 2\n"


def test_only_what_is_to_be_explained_is() -> None:
    script = f"{SUM}; CREATE TENSOR z AS y + 1; CREATE TENSOR w AS sum(<(i, j), a> in A) {{ j -> a }}"
    ended = command("run", "-", "-b", "A=a.mtx", stdin=f"{script}; SAVE w TO 'w.npy'; EXPLAIN z")
    assert ended.code == 0, ended.err
    assert "=== z in" in ended.out and "=== w in" not in ended.out


def test_what_is_followed_as_it_is_written_is_not_explained() -> None:
    given = ("-", "-b", "A=a.mtx", "--backend", "interpret")
    ended = command("explain", *given, "--analyze", stdin=SUM)
    assert (ended.code, ended.out) == (1, "")
    assert "there is no plan to explain: the backend 'interpret'" in ended.err
    with pytest.raises(storel.StorelError, match="there is no plan to explain"):
        storel.explain(SUM, A=MATRIX, backend="interpret")
    ended = command("run", *given, stdin=f"{SUM}; EXPLAIN y")
    assert (ended.code, ended.out) == (0, "y = 3.5\n")
    assert ended.err == "warning: nothing is explained: the backend 'interpret' makes no plan\n"


def test_an_operand_in_a_format_that_the_script_creates() -> None:
    rows = "CREATE FORMAT rows(T: real[m, n]) USING v: real[m * n] AS sum(<i, _> in 0:m, <j, _> in 0:n)"
    script = f"{rows} {{ (i, j) -> v(i * n + j) }} {SUM}"
    ended = command("explain", "-", "-b", "A=a.mtx:rows", "--stage", "plan", stdin=script)
    assert ended.code == 0
    assert "A_v(" in ended.out
    ended = command("run", "-", "-b", "A=a.mtx:row", stdin=script)
    assert ended.code == 1
    assert "did you mean 'rows'?" in ended.err


@pytest.mark.parametrize("given", ["A=1", "A=a.mtx"])
def test_an_operand_that_is_given_twice(given: str) -> None:
    ended = command("run", "-", "-b", given, "-b", "A=a.mtx", stdin=SUM)
    hint = "  hint: two of -b and --stats name it: leave out one\n"
    assert (ended.code, ended.err) == (1, "error: 'A' is defined twice\n" + hint)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (f"{SUM} SAVE A TO 'c.npz' SAVE y TO 'c.mtx'", ()),
        (f"{SUM} SAVE A TO 'c.npz'", ("--output", "y=c.mtx")),
        (f"{SUM} SAVE A TO 'c.npz'", ("--output", "A=d.npz", "--output", "y=c.tns")),
        (SUM, ("-o", "c.mtx")),
    ],
)
def test_nothing_is_written_where_one_of_the_results_cannot_be(
    script: str, arguments: tuple[str, ...]
) -> None:
    ended = command("run", "-", "-b", "A=a.mtx", *arguments, stdin=script)
    assert (ended.code, ended.out) == (1, "")
    assert "holds a matrix" in ended.err or "holds tensors of rank 1 or more" in ended.err
    assert [each.name for each in Path().iterdir()] == ["a.mtx"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a.mtx", "csr"),
        ("a.mtx:coo", "coo"),
        ("a:b.mtx", "csr"),
        ("a:b.mtx:coo", "coo"),
        ("a:b.mtx:levels(dense, compressed; order=(1,0))", "levels(dense, compressed; order=(1,0))"),
    ],
)
def test_names_of_files_may_have_colons(given: str, stored: str) -> None:
    storel.tensor(MATRIX, "csr").save("a:b.mtx")
    assert path_and_format(given)[0].exists()
    ended = command("run", "-", "-b", f"A={given}", "-o", "c.npz", stdin="SAVE A TO 'd.npz'")
    assert (ended.code, ended.err, storel.read("c.npz").format) == (0, "", stored)
    assert command("stats", given).code == 0


def test_a_file_that_is_not_there_is_named_without_its_format() -> None:
    for name, message in (("b.mtx", "there is no file b.mtx\n"), (f"{'a' * 400}.mtx", "cannot read aaa")):
        ended = command("run", "-", "-b", f"A={name}:coo", stdin=SUM)
        assert ended.code == 1 and message in ended.err


def test_what_does_not_fit_its_format_is_named() -> None:
    storel.tensor(MATRIX, "csr").save("b.mtx")
    for name, message in (("nosuch", "A: unknown format 'nosuch'"), ("one_hot", "A: b.mtx: one_hot: ")):
        ended = command("run", "-", "-b", f"A=b.mtx:{name}", stdin=SUM)
        assert ended.code == 1 and message in ended.err


SCALAR = {"shape": [], "dtype": "float64", "format": "dense", "nnz": 1}


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        (SUM, {"result": {"name": "y", **SCALAR}}),
        (
            f"{SUM} CREATE TENSOR z AS y * 2 SAVE z TO 'z.npz' SAVE y TO 'y.npz'",
            {"results": {"y": {"name": "y", **SCALAR}, "z": {"name": "z", **SCALAR}}},
        ),
    ],
)
def test_one_object_holds_all_results(script: str, printed: dict[str, Any]) -> None:
    ended = command("run", "-", "-b", "A=a.mtx", "--json", stdin=script)
    assert json.loads(ended.out) == printed


def test_what_is_explained_is_in_the_object() -> None:
    script = f"{SUM} CREATE TENSOR z AS y + 1 EXPLAIN ANALYZE y"
    ended = command("run", "-", "-b", "A=a.mtx", "--json", stdin=script)
    printed = json.loads(ended.out)
    assert printed["result"] == {"name": "z", **SCALAR}
    explained = printed["explained"]
    assert explained.keys() == {"y"} and explained["y"]["operators"] and explained["y"]["measured"]


@pytest.mark.parametrize("name", ["run", "explain"])
def test_one_file_is_written(name: str) -> None:
    ended = command(name, "-", "-b", "A=a.mtx", "-o", "b.npy", "-o", "c.npy", stdin=SUM)
    assert (ended.code, ended.out) == (2, "") and "one file, not b.npy and c.npy" in ended.err
    assert [each.name for each in Path().iterdir()] == ["a.mtx"]
    both = command("run", "-", "-b", "A=a.mtx", "--output", "y=b.npy", "--output", "y=c.npy", stdin=SUM)
    assert (both.code, both.err) == (0, "") and Path("b.npy").read_bytes() == Path("c.npy").read_bytes()


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line in which ``$storel`` is the command, where the locale knows ASCII only."""
    root = str(Path(storel.__file__).parents[1])
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": root}
    shell = ["sh", "-c", line.replace("$storel", f"{sys.executable} -m storel")]
    return subprocess.run(shell, env={**os.environ, **locale}, capture_output=True, encoding="ascii")


@pytest.mark.parametrize(
    ("line", "code", "out", "message"),
    [
        ("$storel run - <&-", 1, "", "error: the standard input is closed"),
        ("printf '\\377' | $storel run -", 1, "", "error: the standard input is no UTF-8 text"),
        ("$storel run - < p.sdql", 0, "? = 2\n", ""),
        ("$storel run p.sdql >&-", 1, "", "error: cannot write the output: the standard output is closed"),
        ("$storel run p.sdql --json >&-", 1, "", "error: cannot write the output: the standard output"),
        ("$storel run p.sdql 1</dev/null", 1, "", "error: cannot write the output: Bad file descriptor"),
        ("$storel run p.sdql >/dev/full", 1, "", "error: cannot write the output: No space left"),
        ("$storel run p.sdql -o y.npy >&-", 0, "", ""),
        ("{ $storel run p.sdql; echo $?; } | true", 0, "", ""),
        ("$storel run loads.sdql", 0, "y = 3.5\n", ""),
        ("$storel run includes.sdql", 0, "y = 3.5\n", ""),
        ("$storel run saves.sdql && $storel run -b A=\u00e4.npz sum.sdql", 0, "y = 3.5\n", ""),
        ("$storel run -b A=\u00f6.mtx sum.sdql", 1, "", "error: A: there is no file "),
        ("$storel run p.sdql 2>&-", 0, "? = 2\n", ""),
        ("$storel run none.sdql 2>&-", 1, "", ""),
    ],
)
def test_streams_that_are_closed_or_know_ascii_only(line: str, code: int, out: str, message: str) -> None:
    scripts = {
        "p.sdql": "CREATE TENSOR \u03bb AS 1 + 1",
        "sum.sdql": SUM,
        "loads.sdql": f"LOAD TENSOR A FROM '\u00fc.mtx' {SUM}",
        "\u00fc.sdql": f"LOAD TENSOR A FROM '\u00fc.mtx' {SUM}",
        "includes.sdql": "INCLUDE '\u00fc.sdql'",
        "saves.sdql": "LOAD TENSOR A FROM 'a.mtx' SAVE A TO '\u00e4.npz'",
    }
    for name, script in scripts.items():
        Path(name).write_text(script, encoding="utf-8")
    storel.read("a.mtx").save("\u00fc.mtx")
    ended = in_a_shell(line)
    assert (ended.returncode, ended.stdout) == (code, out)
    assert ended.stderr.startswith(message)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", ["run", "explain"])
def test_what_is_doubtful_is_told(name: str) -> None:
    script = "CREATE TENSOR y: real[9] AS sum(<_, k> in O) { k -> 1 }"
    storel.tensor(np.array([1, 2])).save("o.npy")
    told = command(name, "-", "-b", "O=o.npy", stdin=script)
    assert told.code == 0
    assert told.err.startswith("warning: the value 'k' of a tensor is used as a key")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (SUM, ("-o", "no/where.npz")),
        (SUM, ("-o", "result.png")),
        (SUM, ("--output", "y=no/where.npz")),
        (f"{SUM} SAVE y TO 'no/where.npz'", ()),
    ],
)
def test_what_cannot_be_written_is_told_before_anything_is_computed(
    script: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*_: object) -> None:
        pytest.fail("it was computed")

    monkeypatch.setattr("storel.execution.script.Runner._make_results", computed)
    ended = command("run", "-", "-b", "A=a.mtx", *arguments, stdin=script)
    assert ended.code == 1 and ("cannot write" in ended.err or "the ending" in ended.err)


def test_several_results_for_one_file_are_told_before_anything_is_computed() -> None:
    script = "CREATE TENSOR x AS 1 CREATE TENSOR y AS 1 // 0 SAVE x TO 'x.npy' SAVE y TO 'y.npy'"
    ended = command("run", "-", "-o", "z.npy", stdin=script)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "error: -o takes one result\n  found: x, y\n  hint: use --output NAME=FILE\n"
    both = command("run", "-", "-o", "x.npy", "--output", "x=w.npy", stdin="CREATE TENSOR x AS 1")
    assert (both.code, both.err) == (0, "")
    assert Path("w.npy").read_bytes() == Path("x.npy").read_bytes()


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.tns.gz", "y.mtx", "y.parquet"])
def test_files_that_may_not_be_so_large_are_told_and_none_is_left(name: str) -> None:
    storel.tensor(np.ones((200, 200))).save("b.npy")
    Path("p.sdql").write_text("CREATE TENSOR y AS B")
    ended = in_a_shell(f"ulimit -f 1; $storel run p.sdql -b B=b.npy --backend interpret -o {name}")
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"error: cannot write {name}: ") and ended.stderr.count("\n") == 1
    assert not list(Path().glob("*y.*"))


def test_a_cache_that_cannot_be_used_is_told_once() -> None:
    Path("p.sdql").write_text("CREATE TENSOR y AS 2")
    ended = in_a_shell("STOREL_CACHE_DIR=p.sdql $storel run p.sdql")
    assert (ended.returncode, ended.stdout) == (0, "y = 2\n")
    warning = "warning: nothing is kept on disk: STOREL_CACHE_DIR is p.sdql: "
    assert ended.stderr.startswith(warning) and ended.stderr.count("\n") == 1


def test_no_place_for_what_is_compiled_is_told() -> None:
    Path("p.sdql").write_text("LOAD TENSOR A FROM 'a.mtx' CREATE TENSOR y AS A + A")
    ended = in_a_shell("ulimit -f 0; STOREL_CACHE_DIR=none $storel run p.sdql")
    assert (ended.returncode, ended.stdout) == (1, "")
    warning, error, *_ = ended.stderr.splitlines()
    assert warning == "warning: nothing is kept on disk: STOREL_CACHE_DIR is none: File too large"
    assert error.startswith("error: what is compiled cannot be kept: No usable temporary directory")


@pytest.mark.parametrize(
    "arguments",
    [("convert", "none.mtx", "no/where.npz"), ("explain", "none.sdql", "-o", "no/where.html")],
)
def test_what_cannot_be_written_is_told_before_anything_is_read(arguments: tuple[str, ...]) -> None:
    ended = command(*arguments)
    assert ended.code == 1 and ended.err.startswith(f"error: cannot write {arguments[-1]}: No such file")


def test_a_directory_that_is_gone_is_not_asked_for() -> None:
    line = "mkdir gone && cd gone && rmdir ../gone && printf 'CREATE TENSOR y AS 2' | $storel run -"
    ended = in_a_shell(line)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "y = 2\n", "")
