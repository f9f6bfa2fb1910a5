"""``.tns``, the coordinate lists of FROSTT: each line the indices of an entry, from 1, and its value.

Comments run from ``#`` to the end of the line. The file does not say how large the tensor is: the
shape is open, unless a comment before the entries says it, as in ``# shape: 4 3``. One is written where the
largest indices do not tell the shape. Values are int64 where all are written as integers, else float64.
Source: FROSTT, http://frostt.io/tensors/file-formats.html.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.text import reading_text
from storel.scalars import ScalarType
from storel.storage.files.contents import SparseContents
from storel.storage.files.table import Column, Table, is_integer, read_table
from storel.storage.stored import Stored

COMMENT = "#"
LINES_AT_ONCE = 1 << 16
SHAPE = re.compile(r"#\s*shape:((?:\s+\d{1,19})+)\s*")


def read_coordinate_list(path: Path) -> SparseContents:
    """Read a ``.tns`` file; raises DataError that shows the first bad line."""
    with reading_text(path) as stream:
        start = stream.tell()
        shape, words = _beginning(stream)
        if len(words) < 2:
            what = "holds values without indices" if words else "holds no entry, so it has no rank"
            hint = "numbers stand apart by spaces, not by commas" if "," in "".join(words) else None
            raise DataError(f"{path} {what}", expected="lines of indices and a value", hint=hint)
        extents = shape or (None,) * (len(words) - 1)
        columns = tuple(Column(f"index {number}", extent) for number, extent in enumerate(extents, 1))
        stream.seek(start)
        kind = ScalarType.INT64 if is_integer(words[-1]) else ScalarType.FLOAT64
        table = Table(columns, kind, COMMENT)
        coordinates, values = read_table(stream, table, path, 0, otherwise=ScalarType.FLOAT64)
    assert values is not None
    return SparseContents(coordinates, values, shape or _reached(coordinates), is_closed=shape is not None)


def _beginning(stream: TextIO) -> tuple[tuple[int, ...] | None, list[str]]:
    """Return the shape, if a comment before the first entry says it, and that entry's words."""
    shape = None
    for line in stream:
        if said := SHAPE.fullmatch(line):
            shape = tuple(map(int, said[1].split()))
        if words := line.partition(COMMENT)[0].split():
            return shape, words
    return shape, []


def _reached(coordinates: Array) -> tuple[int, ...]:
    """Return the least shape that has a place for all entries."""
    return tuple(int(extent) for extent in coordinates.max(axis=1) + 1)


def write_coordinate_list(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries of a tensor of rank 1 or more in order; raises DataError where there are none."""
    coordinates, values = tensor.to_coo()
    if not len(values):
        raise DataError(
            "a coordinate list without entries would not say its rank", hint="save it as .mtx or .npz"
        )
    if values.dtype == np.bool_:
        values = values.astype(np.int64)
    if tensor.shape != _reached(coordinates):
        stream.write(f"{COMMENT} shape: {' '.join(map(str, tensor.shape))}\n".encode("ascii"))
    line = " ".join(["{}"] * (tensor.rank + 1)) + "\n"
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        columns = [*(coordinates[:, part] + 1).tolist(), values[part].tolist()]
        stream.write("".join(map(line.format, *columns)).encode("ascii"))
