from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from storel.errors import FormatError, StorelError
from storel.host.resources import directory
from storel.source import Source
from storel.storage.build import from_arrays
from storel.storage.formats.known import Formats
from storel.syntax.format_check import OWN_FORMATS
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

BOTH = """
CREATE FORMAT pair(T: real[m]) USING val: real[m] AS sum(<i, _> in 0:m) { i -> val(i) }
CREATE FORMAT pair(T: real[m, n]) USING val: real[m * n]
  AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }
"""


def test_only_the_file_asked_for_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "broken.sdql").write_text("CREATE FORMAT")
    (tmp_path / "pair.sdql").write_text(BOTH)
    formats = Formats((tmp_path,))
    assert {"broken", "pair", "csr"} < set(formats.names)
    assert [formats.find("pair", rank).rank for rank in (1, 2)] == [1, 2]
    assert formats.find("csr", 2).extents == ("m", "n")
    assert formats.find("pair", 2) is formats.find("pair", 2)


def test_a_users_file_does_not_replace_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "csr.sdql").write_text(BOTH.replace("pair", "csr"))
    with pytest.raises(FormatError, match="two formats are called csr") as caught:
        Formats((tmp_path,)).find("coo", 2)
    shipped = directory("storage_formats")
    assert caught.value.found == f"{shipped / 'csr.sdql'} and {tmp_path / 'csr.sdql'}"
    assert Formats((shipped,)).find("csr", 2).rank == 2  # it is the same file


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("sum(<i, _> in 0:m) { i -> val(i) }", "has another rank than its tensor"),
        ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i * 1.0, j) -> val(i) }", "a key must be an integer"),
        ("sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, k) -> val(i) }", "unknown name 'k'"),
    ],
)
def test_the_text_of_a_users_file_is_checked(tmp_path: Path, mapping: str, message: str) -> None:
    (tmp_path / "mine.sdql").write_text(f"CREATE FORMAT mine(T: real[m, n]) USING val: real[m] AS {mapping}")
    with pytest.raises(StorelError, match=message):
        Formats((tmp_path,)).find("mine", 2)


def test_a_format_may_be_created_once() -> None:
    formats = Formats()
    first, second = (s for s in parse(Source("test", BOTH)).statements if isinstance(s, CreateFormat))
    created = formats.create(second)
    assert formats.find("pair", 2) is created
    formats.create(first)
    with pytest.raises(FormatError, match="format pair of rank 2 is created twice"):
        formats.create(second)


def test_no_format_that_a_script_creates_is_a_part_of_itself() -> None:
    (statement,) = parse(
        Source("t", "CREATE FORMAT own(T: real[m]) USING a: own, b: coo AS a + b")
    ).statements
    assert isinstance(statement, CreateFormat)
    with pytest.raises(FormatError, match="format own is a part of itself") as caught:
        Formats().create(statement)
    assert caught.value.span is not None and caught.value.span.text == "own"


def test_a_file_says_the_same_whatever_a_script_creates(tmp_path: Path) -> None:
    (tmp_path / "both.sdql").write_text("CREATE FORMAT both(T: real[m, n]) USING a: hyb(1), b: coo AS a + b")
    text = "CREATE FORMAT coo(T: real[m, n]) USING val: real[m] AS sum(<i, v> in val(0:m)) { (i, 0) -> v }"
    (statement,) = parse(Source("t", text)).statements
    assert isinstance(statement, CreateFormat)
    formats = Formats((tmp_path,))
    formats.create(statement)
    for name in ("hyb", "both"):
        assert formats.find(name, 2).declaration == Formats((tmp_path,)).find(name, 2).declaration


ERRORS = [
    ("crs", 2, "unknown format 'crs'\n  hint: did you mean 'csr'?"),
    ("zigzag", 2, f"unknown format 'zigzag'\n  hint: {OWN_FORMATS}"),
    (
        "csr",
        3,
        "format csr does not store tensors of rank 3\n  expected: a tensor of rank 2\n  found: rank 3",
    ),
    (
        "coo",
        5,
        "format coo does not store tensors of rank 5\n  expected: a tensor of rank 1 or 2 or 3 or 4\n"
        "  found: rank 5",
    ),
]


@pytest.mark.parametrize(("name", "rank", "message"), ERRORS)
def test_what_is_not_there_is_an_error(name: str, rank: int, message: str) -> None:
    with pytest.raises(FormatError) as raised:
        Formats().find(name, rank)
    assert str(raised.value) == message


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="does not exist"):
        Formats((tmp_path / "nowhere",)).find("csr", 2)


@pytest.mark.parametrize(("rank", "name"), [(1, "coo"), (2, "csr"), (3, "csf"), (4, "csf")])
def test_each_rank_has_defaults(rank: int, name: str) -> None:
    assert Formats().default(rank, is_dense=False).name == name
    assert Formats().default(rank, is_dense=True).name == "dense"


def test_every_shipped_format_says_what_it_looks_like() -> None:
    formats = Formats()
    for name in formats.names:
        text = formats.files[name].read_text(encoding="utf-8")
        assert text.startswith("-- "), name
        assert len(re.findall(r"^--     -?[1-9.]( -?[0-9.]){3}( |$)", text, re.MULTILINE)) == 4, name


BAND = """
CREATE FORMAT strip(T: real[m, n]; lower: int, upper: int = lower)
  USING val: real[m * (lower + upper + 1)]
  AS sum(<i, _> in 0:m) sum(<j, _> in max(0, i - lower):min(n, i + upper + 1))
     { (i, j) -> val(i * (lower + upper + 1) + j - i + lower) }
"""


def with_band() -> Formats:
    formats = Formats()
    (statement,) = parse(Source("test", BAND)).statements
    assert isinstance(statement, CreateFormat)
    formats.create(statement)
    return formats


@pytest.mark.parametrize("text", ["strip(1, 2)", "strip(1, upper=2)", "strip(upper=2, lower=1)"])
def test_arguments_are_bound_by_position_and_name(text: str) -> None:
    formats = with_band()
    storage = formats.resolve(parse_format(text), 2)
    assert storage.text == "strip(lower=1, upper=2)"
    assert formats.resolve(parse_format(storage.text), 2) is storage


def test_a_default_may_use_earlier_parameters() -> None:
    assert with_band().resolve(parse_format("strip(3)"), 2).text == "strip(lower=3, upper=3)"


def test_hand_made_arrays_of_a_format_with_parameters() -> None:
    storage = with_band().resolve(parse_format("strip(lower=1, upper=0)"), 2)
    tensor = from_arrays(storage, {"val": np.array([0.0, 1, 2, 3, 4, 5])}, (3, 3))
    np.testing.assert_array_equal(tensor.to_numpy(), [[1, 0, 0], [2, 3, 0], [0, 4, 5]])
    assert tensor.format == "strip(lower=1, upper=0)"
    assert tensor.nnz == 5


ARGUMENT_ERRORS = [
    ("strip", "format strip needs a value of lower"),
    ("strip(1, 2, 3)", "format strip does not take these arguments"),
    ("strip(1, width=3)", "format strip does not take these arguments"),
    ("csr(3)", "format csr does not take these arguments"),
    ("strip(1, lower=2)", "format strip is given lower twice"),
    ("strip(lower=1, 2)", "format strip is given lower twice"),
    ("strip(1, upper=2, upper=3)", "format strip is given upper twice"),
    ("levels(dense, dense; order=(0,1), order=(1,0))", "format levels is given order twice"),
]


@pytest.mark.parametrize(("text", "message"), ARGUMENT_ERRORS)
def test_wrong_arguments_are_an_error(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        with_band().resolve(parse_format(text), 2)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("kronecker", "kronecker(p=…, q=…)"),
        ("kronecker(4)", "kronecker(p=4, q=…)"),
        ("kronecker(q=2 + 1)", "kronecker(p=…, q=2 + 1)"),
        ("strip", "strip(lower=…)"),
    ],
)  # fmt: skip
def test_what_to_write_is_a_format(text: str, wanted: str) -> None:
    formats = with_band()
    with pytest.raises(FormatError) as raised:
        formats.resolve(parse_format(text), 2)
    assert raised.value.hint == f"write {wanted}"
    formats.resolve(parse_format(wanted.replace("…", "2")), 2)


def test_arrays_of_a_part_and_of_the_whole_have_names_of_their_own() -> None:
    text = """CREATE FORMAT mixed(T: real[n, n]) USING a: diagonal, a_val: real[n * n]
    AS a + sum(<i, _> in 0:n) sum(<j, _> in 0:n) if (i != j) then { (i, j) -> a_val(i * n + j) }"""
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    formats = Formats()
    with pytest.raises(FormatError, match="the part a has an array a_val, and so has the format"):
        formats.create(statement)
        formats.resolve(parse_format("mixed"), 2)


def test_a_file_is_no_directory_of_formats(tmp_path: Path) -> None:
    (tmp_path / "mine.sdql").touch()
    with pytest.raises(FormatError, match=r"expected: a directory (.*\n)*  found: a file"):
        Formats((tmp_path / "mine.sdql",)).find("mine", 2)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.sdql").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"the format .*bytes\.sdql is no UTF-8 text"):
        Formats((tmp_path,)).find("bytes", 2)
    (tmp_path / "folder.sdql").mkdir()
    with pytest.raises(FormatError, match=r"the format .*folder\.sdql cannot be read: Is a directory"):
        Formats((tmp_path,)).find("folder", 2)


@pytest.mark.parametrize("is_dense", [False, True])
def test_where_there_is_no_default_levels_are_hinted_at(is_dense: bool) -> None:
    with pytest.raises(FormatError, match=r"of rank 7\n  hint: say which: levels\(…\)"):
        Formats().alternatives(7, is_dense=is_dense)


@pytest.mark.parametrize("rank", range(1, 7))
@pytest.mark.parametrize("is_dense", [False, True])
def test_data_of_the_usual_ranks_has_a_default(rank: int, is_dense: bool) -> None:
    assert Formats().default(rank, is_dense=is_dense).rank == rank
