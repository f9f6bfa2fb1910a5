"""``.mtx``, the Matrix Market exchange format.

    %%MatrixMarket matrix (coordinate | array) (real | integer | pattern) SYMMETRY
    % comments
    rows columns [entries]
    row column [value]        coordinate: indices from 1
    value                     array: column after column

SYMMETRY is ``general``, or ``symmetric`` or ``skew-symmetric``, which store one triangle; an array then
holds the part of each column from (symmetric) or below (skew-symmetric) the diagonal on.
Source: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, nearest
from storel.host.memory import require_memory
from storel.host.text import reading_text, whole_source
from storel.scalars import ScalarType
from storel.source import Source, Span
from storel.storage.files.contents import DenseContents, SparseContents
from storel.storage.files.table import WORD, Column, Table, bad_data, data_lines, read_table
from storel.storage.stored import Stored

COMMENT = "%"
FIELDS = {
    "real": ScalarType.FLOAT64,
    "double": ScalarType.FLOAT64,
    "integer": ScalarType.INT64,
    "unsigned-integer": ScalarType.INT64,
    "pattern": None,
}
LAYOUTS = ("coordinate", "array")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line and the line of sizes; ``entries`` is None in an array."""

    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int | None
    lines: int


def read_matrix_market(path: Path) -> DenseContents | SparseContents:
    """Read a ``.mtx`` file; raises DataError that shows the first bad line."""
    with reading_text(path) as stream:
        header = _read_header(stream, path)
        if header.entries is None:
            return _read_array(stream, header, path)
        return _read_entries(stream, header, path)


def _read_entries(stream: TextIO, header: Header, path: Path) -> SparseContents:
    indices = (Column("row", header.rows), Column("column", header.columns))
    table = Table(indices, FIELDS[header.field], COMMENT)
    coordinates, values = read_table(stream, table, path, header.lines)
    count = coordinates.shape[1]
    _check_count(path, header, header.entries or 0, count)
    if values is None:
        values = np.ones(count, dtype=np.float64)
    if header.symmetry != "general":
        coordinates, values = _mirrored(coordinates, values, header, path)
    return SparseContents(coordinates, values, (header.rows, header.columns), is_closed=True)


def _mirrored(coordinates: Array, values: Array, header: Header, path: Path) -> tuple[Array, Array]:
    is_off_diagonal = coordinates[0] != coordinates[1]
    if header.symmetry == "skew-symmetric" and not is_off_diagonal.all():
        row = int(coordinates[0, np.argmin(is_off_diagonal)]) + 1
        raise DataError(f"{path}: a skew-symmetric matrix with an entry at ({row}, {row}), on the diagonal")
    mirrored = values[is_off_diagonal]
    if header.symmetry == "skew-symmetric":
        mirrored = -mirrored
    coordinates = np.concatenate([coordinates, coordinates[::-1, is_off_diagonal]], axis=1)
    return coordinates, np.concatenate([values, mirrored])


def _read_array(stream: TextIO, header: Header, path: Path) -> DenseContents:
    require_memory(header.rows * header.columns * 8, f"the matrix in {path}")
    _, values = read_table(stream, Table((), FIELDS[header.field], COMMENT), path, header.lines)
    assert values is not None
    rows, columns = header.rows, header.columns
    if header.symmetry == "general":
        _check_count(path, header, rows * columns, len(values))
        return DenseContents(np.ascontiguousarray(values.reshape(columns, rows).T))
    below = 0 if header.symmetry == "symmetric" else 1
    _check_count(path, header, rows * (rows + 1 - 2 * below) // 2, len(values))
    # The lower triangle column after column is the upper one row after row.
    column, row = np.triu_indices(rows, below)
    matrix = np.zeros((rows, columns), dtype=values.dtype)
    matrix[column, row] = values if header.symmetry == "symmetric" else -values
    matrix[row, column] = values
    return DenseContents(matrix)


def _check_count(path: Path, header: Header, expected: int, found: int) -> None:
    if found < expected:
        raise DataError(
            f"{path} ends early",
            expected=f"{expected} entries, as line {header.lines} says",
            found=str(found),
        )
    if found > expected:
        lines = data_lines(whole_source(path), COMMENT, header.lines)
        surplus = [words for _, words in zip(range(expected + 1), lines, strict=False)][-1]
        span = surplus[0].to(surplus[-1])
        raise bad_data(path, "more entries than the sizes allow", span, f"{expected} entries")


def _read_header(stream: TextIO, path: Path) -> Header:
    banner = stream.readline()
    words = banner.lower().split()
    if words[:1] != ["%%matrixmarket"]:
        raise DataError(f"{path} is no Matrix Market file", expected="a first line '%%MatrixMarket matrix …'")
    source = Source(str(path), banner.rstrip("\n"))
    spans = [Span(source, word.start(), word.end()) for word in WORD.finditer(source.text)]
    if len(words) != 5 or words[1] != "matrix":
        raise bad_data(path, "a malformed header", spans[0].to(spans[-1]), "matrix, layout, field, symmetry")
    _, _, layout, field, symmetry = words
    if field == "complex":
        raise bad_data(path, "complex matrices are not supported", spans[3], _choices(FIELDS))
    if symmetry == "hermitian":
        message = f"only complex matrices are hermitian, the field of this one is {field}"
        raise bad_data(path, message, spans[4], _choices(SYMMETRIES))
    for word, span, known in zip(words[2:], spans[2:], (LAYOUTS, FIELDS, SYMMETRIES), strict=True):
        if word not in known:
            raise DataError(
                f"'{word}' is unknown", expected=_choices(known), span=span, hint=nearest(word, known)
            )
    if layout == "array" and field == "pattern":
        raise bad_data(path, "an array has values, a pattern has none", spans[3], "real or integer")
    return _read_sizes(stream, path, layout, field, symmetry)


def _read_sizes(stream: TextIO, path: Path, layout: str, field: str, symmetry: str) -> Header:
    lines = 1
    sizes: list[str] = []
    while not sizes:
        line = stream.readline()
        if not line:
            raise DataError(f"{path} ends early", expected="a line of sizes")
        lines += 1
        sizes = line.partition(COMMENT)[0].split()
    names = ("rows", "columns", "entries") if layout == "coordinate" else ("rows", "columns")
    if len(sizes) != len(names) or not all(size.isdecimal() for size in sizes):
        words = next(iter(data_lines(whole_source(path), COMMENT, lines - 1)))
        raise bad_data(
            path, "malformed sizes", words[0].to(words[-1]), f"numbers of {_choices(names, 'and')}"
        )
    rows, columns = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and rows != columns:
        raise DataError(
            f"{path}: a {symmetry} matrix must be square", found=f"{rows} rows and {columns} columns"
        )
    return Header(field, symmetry, rows, columns, int(sizes[2]) if layout == "coordinate" else None, lines)


def _choices(names: tuple[str, ...] | dict[str, ScalarType | None], word: str = "or") -> str:
    *first, last = names
    return f"{', '.join(first)} {word} {last}"


def write_matrix_market(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries of a matrix in order."""
    import scipy.io  # here, since it takes 0.1 s and few programs need it
    import scipy.sparse

    coordinates, values = tensor.to_coo()
    field = "real" if tensor.type.is_real else "integer"
    if not len(values):  # SciPy would call it real
        rows, columns = tensor.shape
        header = f"%%MatrixMarket matrix coordinate {field} general\n%\n{rows} {columns} 0\n"
        stream.write(header.encode())
        return
    if values.dtype == np.bool_:
        values = values.astype(np.int64)
    matrix = scipy.sparse.coo_array((values, tuple(coordinates)), shape=tensor.shape)
    scipy.io.mmwrite(stream, matrix, field=field, symmetry="general")
