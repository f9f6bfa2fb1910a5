from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from storel import read, tensor
from storel.errors import DataError
from storel.storage.files.contents import SparseContents
from storel.storage.files.kinds import read_tensor, save_tensor


def test_lines_are_entries_and_the_shape_is_open(tmp_path: Path) -> None:
    path = tmp_path / "t.tns"
    path.write_text("# a comment\n\n1 1 4 2.5\n3 2 1 -1 # last\n1 1 4 1\n")
    contents = read_tensor(path)
    assert isinstance(contents, SparseContents)
    assert contents.shape == (3, 2, 4)
    assert not contents.is_closed
    np.testing.assert_array_equal(contents.coordinates, [[0, 2, 0], [0, 1, 0], [3, 0, 3]])
    np.testing.assert_array_equal(contents.values, [2.5, -1, 1])


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("1 9007199254740993\n2 -1\n", np.int64, [2**53 + 1, -1]),
        ("1 2\n2 2.5\n", np.float64, [2.0, 2.5]),
        ("1 2\n2 nan # no integer\n", np.float64, [2.0, np.nan]),
        ("1 2.0\n2 3\n", np.float64, [2.0, 3.0]),
        ("1 1\n2 9223372036854775808\n", np.float64, [1.0, 2.0**63]),
    ],
)
def test_integers_stay_what_they_are(tmp_path: Path, text: str, dtype: type, values: list[float]) -> None:
    (tmp_path / "t.tns").write_text(text)
    contents = read_tensor(tmp_path / "t.tns")
    assert isinstance(contents, SparseContents) and contents.values.dtype == dtype
    np.testing.assert_array_equal(contents.values, np.array(values, dtype))


NO_RANK = "t.tns holds no entry, so it has no rank\n  expected: lines of indices and a value\n"
ERRORS = [
    ("", f"{NO_RANK}  hint: a comment such as # shape: 4 3 says the rank, too"),
    ("# 1 1\n", f"{NO_RANK}  hint: a comment such as # shape: 4 3 says the rank, too"),
    (
        "# shape: -1 3\n1 2 3\n",
        "a comment that says no shape\nt.tns:1:1\n   1 | # shape: -1 3\n     | ^^^^^^^^^^^^^\n"
        "  expected: extents, as in # shape: 4 3",
    ),
    (
        "# shape: 4 3\n1 2 3\n#SHAPE: 3 4\n",
        "another shape than before\nt.tns:3:1\n   3 | #SHAPE: 3 4\n     | ^^^^^^^^^^^\n"
        "  expected: none, or 4 3",
    ),
    (
        "# shape: 2 3\n1 1 1 1\n",
        "a line with 4 numbers\nt.tns:2:1\n   2 | 1 1 1 1\n     | ^^^^^^^\n"
        "  expected: 3 numbers per line: index 1, index 2, value",
    ),
    (
        "# shape: 2 3\n3 1 1\n",
        "index 1 3 is out of range\nt.tns:2:1\n   2 | 3 1 1\n     | ^\n  expected: 1 to 2",
    ),
    ("3\n4\n", "t.tns holds values without indices\n  expected: lines of indices and a value"),
    (
        "1 1 1\n1 1 1 1\n",
        "a line with 4 numbers\nt.tns:2:1\n   2 | 1 1 1 1\n     | ^^^^^^^\n"
        "  expected: 3 numbers per line: index 1, index 2, value",
    ),
    (
        "1 1 1\n# fine\n1 0 1\n",
        "index 2 0 is out of range\nt.tns:3:3\n   3 | 1 0 1\n     |   ^\n  expected: at least 1",
    ),
    (
        "1 1 1\nnan 1 1\n",
        "'nan' is not an index\nt.tns:2:1\n   2 | nan 1 1\n     | ^^^\n"
        "  expected: an integer, counted from 1",
    ),
    (
        "1 99999999999999999999 1\n",
        "index 2 99999999999999999999 is out of range\nt.tns:1:3\n   1 | 1 99999999999999999999 1\n"
        "     |   ^^^^^^^^^^^^^^^^^^^^\n  expected: 1 to 9223372036854775807",
    ),
    (
        f"{-(2**63)} 1 1\n",
        "index 1 -9223372036854775808 is out of range\nt.tns:1:1\n   1 | -9223372036854775808 1 1\n"
        "     | ^^^^^^^^^^^^^^^^^^^^\n  expected: at least 1",
    ),
    ("1 1 one\n", "'one' is not a number\nt.tns:1:5\n   1 | 1 1 one\n     |     ^^^"),
    ("1 1 1_0\n", "'1_0' is not a number\nt.tns:1:5\n   1 | 1 1 1_0\n     |     ^^^"),
    ("1 1 é\n", "'\\xc3\\xa9' is not a number\nt.tns:1:5\n   1 | 1 1 \\xc3\\xa9\n     |     ^^^^^^^^"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_a_bad_file_is_shown_where_it_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.tns").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_tensor(Path("t.tns"))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("shape", "comment"), [((4, 5), "# shape: 4 5\n"), ((3, 5), "# shape: 3 5\n"), ((3, 2), "")]
)
def test_rows_without_entries_at_the_end_stay(tmp_path: Path, shape: tuple[int, ...], comment: str) -> None:
    for name in ("t.tns", "t.tns.gz"):
        save_tensor(tensor({(0, 1): 2.5, (2, 0): 1.0}, shape=shape), tmp_path / name)
        contents = read_tensor(tmp_path / name)
        assert isinstance(contents, SparseContents)
        assert (contents.shape, contents.is_closed) == (shape, bool(comment))
    assert (tmp_path / "t.tns").read_text() == f"{comment}1 2 2.5\n3 1 1.0\n"


@pytest.mark.parametrize(
    "text",
    [
        "# shape: 4 3\n1 2 3\n",
        "# Shape: 4, 3\n1 2 3\n",
        "#SHAPE:4x3\n1 2 3\n",
        "# shape : 4 X 3\r\n1 2 3\r\n",
        "1 2 3 # shape: 4,3\n",
        "1 2 3\n# shape: 4 3",
        "# shape: 4 3\n# the shape: of what?\n1 2 3\n  # shape: 4,3\n",
    ],
)
@pytest.mark.parametrize("name", ["t.tns", "t.tns.gz"])
def test_a_shape_may_be_said_in_several_ways(tmp_path: Path, text: str, name: str) -> None:
    with (gzip.open if name.endswith(".gz") else open)(tmp_path / name, "wb") as stream:
        stream.write(text.encode())
    contents = read_tensor(tmp_path / name)
    assert isinstance(contents, SparseContents)
    assert (contents.shape, contents.is_closed) == ((4, 3), True)
    np.testing.assert_array_equal(contents.coordinates, [[0], [1]])


@pytest.mark.parametrize(
    "said", ["", "4 3 rows", "(4, 3)", "4.0 3", "4 3,", "4;3", "4 3 # shape: 4 3", "9" * 20]
)
def test_a_shape_that_is_none_is_not_left_out(tmp_path: Path, said: str) -> None:
    for text in (f"# shape:{said}\n1 2 3\n", f"1 2 3\n# shape: {said}\n"):
        (tmp_path / "t.tns").write_text(text)
        with pytest.raises(DataError, match="says no shape"):
            read_tensor(tmp_path / "t.tns")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 2), (2, 2, 2)])
@pytest.mark.parametrize("name", ["t.tns", "t.tns.gz"])
def test_a_list_without_entries_has_a_shape(tmp_path: Path, shape: tuple[int, ...], name: str) -> None:
    save_tensor(tensor(np.zeros(shape)), tmp_path / name)
    found = read(tmp_path / name)
    assert (found.shape, found.nnz, found.is_closed) == (shape, 0, True)
