from __future__ import annotations

from pathlib import Path

import pytest

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats import Formats
from storel.syntax.nodes import CreateFormat
from storel.syntax.parser import parse

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


def test_a_users_file_hides_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "csr.sdql").write_text(BOTH.replace("pair", "csr"))
    assert [each.name for each in Formats((tmp_path,)).find("csr", 2).arrays] == ["val"]


def test_a_format_may_be_created_once() -> None:
    formats = Formats()
    first, second = (s for s in parse(Source("test", BOTH)).statements if isinstance(s, CreateFormat))
    created = formats.create(second)
    assert formats.find("pair", 2) is created
    formats.create(first)
    with pytest.raises(FormatError, match="format pair of rank 2 is created twice"):
        formats.create(second)


ERRORS = [
    ("crs", 2, "unknown format 'crs'\n  hint: did you mean 'csr'?"),
    (
        "csr",
        3,
        "format csr does not store tensors of rank 3\n  expected: a tensor of rank 2\n  found: rank 3",
    ),
    (
        "csf",
        5,
        "format csf does not store tensors of rank 5\n  expected: a tensor of rank 1 or 2 or 3 or 4\n"
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
        assert "1 . 2 ." in text, name
