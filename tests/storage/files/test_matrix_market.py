from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import DataError
from storel.storage.files.contents import DenseContents, SparseContents
from storel.storage.files.kinds import read_tensor

BANNER = "%%MatrixMarket matrix "

DENSE_OF = [
    ("coordinate real general", "2 3 2\n1 1 1.5\n2 3 -2e1\n", [[1.5, 0, 0], [0, 0, -20]]),
    ("coordinate integer general", "2 2 1\n2 1 7\n", [[0, 0], [7, 0]]),
    ("coordinate pattern general", "2 2 2\n1 2\n2 1\n", [[0, 1], [1, 0]]),
    ("coordinate real symmetric", "2 2 2\n1 1 3\n2 1 5\n", [[3, 5], [5, 0]]),
    ("coordinate pattern symmetric", "2 2 1\n2 1\n", [[0, 1], [1, 0]]),
    ("coordinate integer skew-symmetric", "2 2 1\n2 1 5\n", [[0, -5], [5, 0]]),
    ("array real general", "2 3\n1\n2\n3\n4\n5\n6\n", [[1, 3, 5], [2, 4, 6]]),
    ("array integer symmetric", "2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    (
        "array real skew-symmetric",
        "3 3\n1\n2\n3\n",
        [[0, -1, -2], [1, 0, -3], [2, 3, 0]],
    ),
    ("coordinate real general", "% note\n\n2 2 1\n% one more\n\n1 1 4 % the only one\n\n", [[4, 0], [0, 0]]),
    ("coordinate real general", "2 2 2\n1 1 1\n1 1 2\n", [[3, 0], [0, 0]]),
    ("coordinate real general", "2 2 0\n", [[0, 0], [0, 0]]),
    ("Coordinate Real General", "1 1 1\r\n1 1 4\r\n", [[4]]),
]


def write(directory: Path, text: str, name: str = "m.mtx") -> Path:
    path = directory / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, newline="")
    return path


def densely(path: Path) -> np.ndarray:
    contents = read_tensor(path)
    if isinstance(contents, DenseContents):
        return contents.values
    assert isinstance(contents, SparseContents)
    assert contents.is_closed
    dense = np.zeros(contents.shape, dtype=contents.values.dtype)
    np.add.at(dense, tuple(contents.coordinates), contents.values)
    return dense


@pytest.mark.parametrize("name", ["m.mtx", "m.mtx.gz"])
@pytest.mark.parametrize(("kind", "body", "expected"), DENSE_OF)
def test_every_kind_is_read(
    tmp_path: Path, kind: str, body: str, expected: list[list[float]], name: str
) -> None:
    dense = densely(write(tmp_path, f"{BANNER}{kind}\n{body}", name))
    np.testing.assert_array_equal(dense, np.array(expected))
    assert dense.dtype == (np.int64 if "integer" in kind else np.float64)


def test_special_values_are_read(tmp_path: Path) -> None:
    path = write(tmp_path, f"{BANNER}coordinate real general\n1 3 3\n1 1 nan\n1 2 inf\n1 3 -inf\n")
    np.testing.assert_array_equal(densely(path), [[np.nan, np.inf, -np.inf]])


GENERAL = f"{BANNER}coordinate real general\n"

ERRORS = [
    (
        GENERAL + "2 2 2\n1 1 1\n2 2 x\n",
        "'x' is not a number\nm.mtx:4:5\n   4 | 2 2 x\n     |     ^",
    ),
    (
        GENERAL + "2 2 2\n1 1 1\n3 2 1\n",
        "row 3 is out of range\nm.mtx:4:1\n   4 | 3 2 1\n     | ^\n  expected: 1 to 2",
    ),
    (
        GENERAL + "2 2 1\n1 0 1\n",
        "column 0 is out of range\nm.mtx:3:3\n   3 | 1 0 1\n     |   ^\n  expected: 1 to 2",
    ),
    (
        GENERAL + "2 2 1\n1 nan 1\n",
        "'nan' is not an index\nm.mtx:3:3\n   3 | 1 nan 1\n     |   ^^^\n"
        "  expected: an integer, counted from 1",
    ),
    (
        GENERAL + "2 2 1\n1 1.5 1\n",
        "'1.5' is not an index\nm.mtx:3:3\n   3 | 1 1.5 1\n     |   ^^^\n"
        "  expected: an integer, counted from 1",
    ),
    (
        GENERAL + "2 2 1\n1 1\n",
        "a line with 2 numbers\nm.mtx:3:1\n   3 | 1 1\n     | ^^^\n"
        "  expected: 3 numbers per line: row, column, value",
    ),
    (
        GENERAL + "2 2 1\n1 1 2,5\n",
        "'2,5' is not a number\nm.mtx:3:5\n   3 | 1 1 2,5\n     |     ^^^",
    ),
    (
        GENERAL + "2 2 3\n1 1 1\n",
        "m.mtx ends early\n  expected: 3 entries, as line 2 says\n  found: 1",
    ),
    (
        GENERAL + "2 2 1\n1 1 1\n2 2 1\n",
        "more entries than the sizes allow\nm.mtx:4:1\n   4 | 2 2 1\n     | ^^^^^\n  expected: 1 entries",
    ),
    (
        GENERAL + "2 2\n1 1 1\n",
        "malformed sizes\nm.mtx:2:1\n   2 | 2 2\n     | ^^^\n"
        "  expected: numbers of rows, columns and entries",
    ),
    (GENERAL, "m.mtx ends early\n  expected: a line of sizes"),
    (
        BANNER + "coordinate complex general\n1 1 0\n",
        "complex matrices are not supported\nm.mtx:1:34\n"
        "   1 | %%MatrixMarket matrix coordinate complex general\n"
        "     |                                  ^^^^^^^\n"
        "  expected: real, double, integer, unsigned-integer or pattern",
    ),
    (
        BANNER + "coordinate real hermitian\n1 1 0\n",
        "only complex matrices are hermitian, the field of this one is real\nm.mtx:1:39\n"
        "   1 | %%MatrixMarket matrix coordinate real hermitian\n"
        "     |                                       ^^^^^^^^^\n"
        "  expected: general, symmetric or skew-symmetric",
    ),
    (
        BANNER + "coordinate reel general\n1 1 0\n",
        "'reel' is unknown\nm.mtx:1:34\n"
        "   1 | %%MatrixMarket matrix coordinate reel general\n"
        "     |                                  ^^^^\n"
        "  expected: real, double, integer, unsigned-integer or pattern\n"
        "  hint: did you mean 'real'?",
    ),
    (
        "1 1 1\n",
        "m.mtx is no Matrix Market file\n  expected: a first line '%%MatrixMarket matrix …'",
    ),
    (
        BANNER + "coordinate real symmetric\n2 3 0\n",
        "m.mtx: a symmetric matrix must be square\n  found: 2 rows and 3 columns",
    ),
    (
        BANNER + "coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
        "m.mtx: a skew-symmetric matrix with an entry at (2, 2), on the diagonal",
    ),
    (
        BANNER + "array real general\n2 2\n1\n2\n3\n",
        "m.mtx ends early\n  expected: 4 entries, as line 2 says\n  found: 3",
    ),
    (
        BANNER + "coordinate integer general\n1 1 1\n1 1 1.5\n",
        "'1.5' is not an integer\nm.mtx:3:5\n   3 | 1 1 1.5\n     |     ^^^",
    ),
    (
        BANNER + "coordinate integer general\n1 1 1\n1 1 9223372036854775808\n",
        "9223372036854775808 does not fit into 64 bits\nm.mtx:3:5\n"
        "   3 | 1 1 9223372036854775808\n     |     ^^^^^^^^^^^^^^^^^^^",
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_a_bad_file_is_shown_where_it_is_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(DataError) as raised:
        read_tensor(Path("m.mtx"))
    assert str(raised.value) == message


def test_a_long_bad_line_is_not_printed(tmp_path: Path) -> None:
    path = write(tmp_path, f"{GENERAL}1 1 1\n1 1 {'x' * 5000}\n")
    with pytest.raises(DataError, match="line 3") as raised:
        read_tensor(path)
    assert raised.value.span is None


def test_a_truncated_archive_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, GENERAL + "9 9 9\n" + "1 1 0.123\n" * 9, "m.mtx.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(DataError, match="its compressed data ends early or is broken"):
        read_tensor(path)


def test_what_is_not_compressed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx.gz"
    path.write_text(GENERAL)
    with pytest.raises(DataError, match="is damaged"):
        read_tensor(path)


@pytest.mark.parametrize("shape", [(0, 9), (2, 0), (2, 3)])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_a_matrix_without_entries_keeps_its_type(tmp_path: Path, dtype: type, shape: tuple[int, int]) -> None:
    storel.tensor(np.zeros(shape, dtype), "csr").save(tmp_path / "none.mtx")
    found = storel.read(tmp_path / "none.mtx")
    assert found.dtype == dtype and found.shape == shape
