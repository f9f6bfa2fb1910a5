"""``.tns``, the coordinate lists of FROSTT: each line the indices of an entry, from 1, and its value.

Comments run from ``#`` to the end of the line. The file does not say how large the tensor is: the
shape is open, unless a comment says it, as in ``# shape: 4 3``, ``# Shape: 4, 3`` or ``# shape: 4x3``. One is
written where the largest indices do not tell the shape. Values are int64 where there are some and all are
written as integers, else float64.
Source: FROSTT, http://frostt.io/tensors/file-formats.html.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.text import reading_text, whole_source
from storel.scalars import ScalarType
from storel.source import Span
from storel.storage.files.contents import SparseContents
from storel.storage.files.table import Column, Table, bad_data, is_integer, read_table
from storel.storage.stored import Stored

COMMENT = "#"
CHARACTERS_AT_ONCE = 1 << 16
LINES_AT_ONCE = 1 << 16
SHAPE = re.compile(r"#[ \t]*shape[ \t]*:(.*)", re.IGNORECASE)
EXTENTS = re.compile(r"\s*\d{1,19}((\s+|\s*[,x]\s*)\d{1,19})*\s*", re.IGNORECASE)


def read_coordinate_list(path: Path) -> SparseContents:
    """Read a ``.tns`` file; raises DataError that shows the first bad line."""
    with reading_text(path) as stream:
        start = stream.tell()
        shape = _said_shape(stream, path)
        stream.seek(start)
        words = _first_entry(stream)
        if shape is not None and not words:
            return SparseContents(np.empty((len(shape), 0), np.int64), np.empty(0), shape, is_closed=True)
        if len(words) < 2:
            raise _no_rank(path, words)
        extents = shape or (None,) * (len(words) - 1)
        columns = tuple(Column(f"index {number}", extent) for number, extent in enumerate(extents, 1))
        stream.seek(start)
        kind = ScalarType.INT64 if is_integer(words[-1]) else ScalarType.FLOAT64
        table = Table(columns, kind, COMMENT)
        coordinates, values = read_table(stream, table, path, 0, otherwise=ScalarType.FLOAT64)
    assert values is not None
    return SparseContents(coordinates, values, shape or _reached(coordinates), is_closed=shape is not None)


def _said_shape(stream: TextIO, path: Path) -> tuple[int, ...] | None:
    """Return the shape that comments say, if any does; raises DataError that shows one which does not."""
    blocks = iter(lambda: stream.read(CHARACTERS_AT_ONCE) + stream.readline(), "")
    said = [match[1] for block in blocks if COMMENT in block for match in SHAPE.finditer(block)]
    shapes = [_extents(each) for each in said]
    for number, shape in enumerate(shapes):
        if shape is None:
            raise _bad_shape(path, number, "a comment that says no shape", "extents, as in # shape: 4 3")
        if shape != shapes[0]:
            raise _bad_shape(path, number, "another shape than before", f"none, or {said[0].strip()}")
    return shapes[0] if shapes else None


def _extents(said: str) -> tuple[int, ...] | None:
    return tuple(map(int, re.findall(r"\d+", said))) if EXTENTS.fullmatch(said) else None


def _bad_shape(path: Path, number: int, message: str, expected: str) -> DataError:
    """Return an error that shows one of the comments that should say the shape."""
    source = whole_source(path)
    shown = next(islice(SHAPE.finditer(source.text), number, None))
    return bad_data(path, message, Span(source, shown.start(), shown.end()), expected)


def _first_entry(stream: TextIO) -> list[str]:
    """Return the words of the first line that holds any, without comments; none if there is no entry."""
    lines = (line.partition(COMMENT)[0].split() for line in stream)
    return next(filter(None, lines), [])


def _no_rank(path: Path, words: list[str]) -> DataError:
    expected = "lines of indices and a value"
    if not words:
        hint = "a comment such as # shape: 4 3 says the rank, too"
        return DataError(f"{path} holds no entry, so it has no rank", expected=expected, hint=hint)
    hint = "numbers stand apart by spaces, not by commas" if "," in words[0] else None
    return DataError(f"{path} holds values without indices", expected=expected, hint=hint)


def _reached(coordinates: Array) -> tuple[int, ...]:
    """Return the least shape that has a place for all entries."""
    return tuple(int(extent) for extent in coordinates.max(axis=1) + 1)


def write_coordinate_list(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries of a tensor of rank 1 or more in order."""
    coordinates, values = tensor.to_coo()
    if values.dtype == np.bool_:
        values = values.astype(np.int64)
    if not len(values) or tensor.shape != _reached(coordinates):
        stream.write(f"{COMMENT} shape: {' '.join(map(str, tensor.shape))}\n".encode("ascii"))
    line = " ".join(["{}"] * (tensor.rank + 1)) + "\n"
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        columns = [*(coordinates[:, part] + 1).tolist(), values[part].tolist()]
        stream.write("".join(map(line.format, *columns)).encode("ascii"))
