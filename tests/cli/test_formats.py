"""``storel formats`` and ``storel check-format``: what they print, draw and refuse."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from strategies.command_line import storel

from storel.storage import evident
from storel.storage.trials.checking import SHAPES

ROWS = """CREATE FORMAT rows(T: real[m, n])
  USING pos: int[m + 1] ASCENDING FROM 0 TO nnz, idx: int[nnz] IN 0:n INCREASING{within}, val: real[nnz]
  AS sum(<i, _> in 0:m) {{ i -> sum(<p, j> in idx(pos(i):pos(i + 1))) {{ j -> val(p) }} }}
"""
PRODUCT = """CREATE FORMAT product(T: real[m, n])
  USING u: real[m], v: real[n]
  AS sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> u(i) * v(j) }
"""
LAST_ROWS = """CREATE FORMAT last_rows(T: real[m, n]; number: int = 2)
  USING first: csr TAKES <(i, _), _> WHERE i < m - number, last: coo
  AS first + last
"""
SIZED = """CREATE FORMAT sized(T: real[m, n])
  USING pos: int[m + 1], idx: int[m], val: real[m]
  AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1))) { (i, j) -> val(p) }
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SHAPES, 2, ((0, 3), (1, 1), (2, 3), (5, 5)))
    monkeypatch.setattr("storel.storage.trials.checking.EXAMPLE_PLACES", 64)
    Path("mine").mkdir()
    for path, within in (("rows.sdql", " WITHIN pos"), ("mine/rows.sdql", " WITHIN pos"), ("wrong.sdql", "")):
        Path(path).write_text(ROWS.format(within=within))
    Path("empty.sdql").write_text("CREATE TENSOR y AS 1")
    Path("product.sdql").write_text(PRODUCT)
    Path("last_rows.sdql").write_text(LAST_ROWS)


def test_the_columns_of_the_list_stand_below_each_other() -> None:
    rows = storel("formats").out.splitlines()
    assert {row.partition(" rank ")[2][:3] for row in rows} >= {"2  ", "1–6", "0–6"}
    assert len({row.index(re.split(r" rank \S+ +", row)[1]) for row in rows}) == 1


def test_the_list_names_every_format() -> None:
    listed = storel("formats")
    assert listed.code == 0
    assert "csr " in listed.out
    assert "rows " in storel("formats", "--formats", "mine").out


@pytest.mark.parametrize(
    ("arguments", "text", "last"),
    [
        (("csr",), "-- The entries of row i lie", "val  1 2 3 4 5"),
        (("levels(dense, compressed)",), "CREATE FORMAT levels(", "val   1 2 3 4 5"),
        (("rows.sdql", "--size", "1x3"), "CREATE FORMAT rows(", "val  1 2"),
        (("rows", "--formats", "mine"), "CREATE FORMAT rows(", "val  1 2 3 4 5"),
        (("ell(width=3)", "--size", "1x3"), "-- Rows of `width` entries", "val  1 2 0"),
        (("coo", "--size", "3"), "-- The coordinates", "val  1 2"),
    ],
)
def test_show(arguments: tuple[str, ...], text: str, last: str) -> None:
    shown = storel("formats", "show", *arguments)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(text)
    assert shown.out.rstrip().splitlines()[-1] == last


def test_show_draws_a_picture() -> None:
    assert storel("formats", "show", "dia", "--svg", "dia.svg").code == 0
    assert ElementTree.parse("dia.svg").getroot().tag.endswith("svg")


def test_what_cannot_be_packed_is_shown_and_not_drawn() -> None:
    shown = storel("formats", "show", "product.sdql")
    assert shown.code == 0
    assert "\nnot drawn: format product cannot be packed: its leaf" in shown.out
    large = storel("formats", "show", "hash(buckets=65536)")
    assert large.code == 0
    assert "\nnot drawn: too many elements to draw" in large.out
    asked = storel("formats", "show", "product.sdql", "--svg", "product.svg")
    assert asked.code == 1
    assert not Path("product.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("formats", "show", "crs"), 1, "did you mean 'csr'?"),
        (("formats", "show", "empty.sdql"), 1, "creates no format"),
        (("formats", "show", "none.sdql"), 1, "cannot be read"),
        (("formats", "show", "csr", "--size", "4"), 1, "does not store tensors of rank 1"),
        (("formats", "show", "csr", "--svg", "csr.png"), 1, "ends in .svg"),
        (("formats", "show", "csr", "--size", "4xfour"), 2, "is not a size"),
        (("formats", "show", "tiled(q=1)"), 1, "does not take these arguments"),
        (("formats", "show", "tiled(99999999999999999999)"), 1, "  expected: at most 9223372036854775807\n"),
        (("formats", "show", "levels()"), 1, "levels needs a kind of level for each dimension"),
        (("formats", "show", "identity", "--size", "500x500"), 1, "too many places to draw"),
        (("formats", "--formats", "mine", "show", "csr"), 2, "goes after show"),
        (("formats", "--formats", "."), 1, "empty.sdql creates no format empty"),
        (("check-format", "crs"), 1, "did you mean 'csr'?"),
        (("check-format", "levels(dense, densed)"), 1, "did you mean 'dense'?"),
        (("check-format", "csr(3)"), 1, "does not take these arguments"),
        (("check-format", "product.sdql"), 1, "not one array read"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], code: int, message: str) -> None:
    ended = storel(*arguments)
    assert ended.code == code
    assert message in ended.err


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("near: ell(2), rest: coo AS rest", "the mapping does not read 'near'\nparts.sdql:1:42\n"),
        (
            "near: ell(2) TAKES <(i, j), _> WHERE k < 3, rest: coo AS near + rest",
            "unknown name 'k'\nparts.sdql:1:79\n",
        ),
    ],
)
def test_mistakes_in_parts_are_shown_as_they_are_written(parts: str, message: str) -> None:
    Path("parts.sdql").write_text(f"CREATE FORMAT parts(T: real[m, n]) USING {parts}")
    ended = storel("check-format", "parts.sdql")
    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err


@pytest.mark.parametrize(
    "what",
    ["rows.sdql", "last_rows.sdql", "last_rows.sdql(number=1)", "csr", "ell(width=2)", "levels(compressed)"],
)
def test_a_right_format(what: str) -> None:
    ended = storel("check-format", what)
    assert (ended.code, ended.err) == (0, "")
    assert "any entries " in ended.out
    assert "what fits reads back as it was" in ended.out
    assert "memory of float64 " in ended.out


def test_what_is_declared_wrongly_does_not_fit() -> None:
    ended = storel("check-format", "wrong.sdql")
    assert ended.code == 0
    assert "for example: rows: the entries do not fit what is declared of idx: idx(" in ended.out
    assert "not INCREASING" in ended.out


def test_a_wrong_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should packing ever let one pass."""

    def believe(*_: object) -> None:
        """Look at nothing."""

    monkeypatch.setattr(evident, "verify_made", believe)
    ended = storel("check-format", "wrong.sdql")
    assert ended.code == 1
    assert "wrong:\n  float64[2, 3] with (" in ended.out
    assert "not INCREASING" in ended.out
    assert "not to be relied on: rows" in ended.err


def test_what_is_refused_is_told_in_full() -> None:
    Path("sized.sdql").write_text(SIZED)
    ended = storel("check-format", "sized.sdql")
    assert re.search(
        r"for example: sized: .* entries do not fit; the first is .*: idx\(\d\) is outside 0:\d", ended.out
    )


def test_what_is_refused_is_told() -> None:
    ended = storel("check-format", "symmetric")
    assert ended.code == 0
    assert "no tensor fits of 0 x 3, 2 x 3" in ended.out
    assert "what does not fit, for example: symmetric: " in ended.out
