"""``.tns``, the coordinate lists of FROSTT: each line the indices of an entry, from 1, and its value.

Comments run from ``#`` to the end of the line. The file does not say how large the tensor is: the
shape is open. Source: FROSTT, http://frostt.io/tensors/file-formats.html.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from storel.errors import DataError, TypeMismatchError
from storel.scalars import ScalarType
from storel.storage.files.contents import SparseContents
from storel.storage.files.table import Column, Table, read_table
from storel.storage.files.text import reading_text
from storel.storage.stored import Stored

COMMENT = "#"
LINES_AT_ONCE = 1 << 16


def read_coordinate_list(path: Path) -> SparseContents:
    """Read a ``.tns`` file; raises DataError that shows the first bad line."""
    with reading_text(path) as stream:
        width = 0
        for line in stream:
            width = len(line.partition(COMMENT)[0].split())
            if width:
                break
        if width < 2:
            what = "holds no entry, so it has no rank" if width == 0 else "holds values without indices"
            raise DataError(f"{path} {what}", expected="lines of indices and a value")
        stream.seek(0)
        columns = tuple(Column(f"index {number}", None) for number in range(1, width))
        coordinates, values = read_table(stream, Table(columns, ScalarType.FLOAT64, COMMENT), path, 0)
    assert values is not None
    shape = tuple(int(extent) for extent in coordinates.max(axis=1) + 1)
    return SparseContents(coordinates, values, shape, is_closed=False)


def write_coordinate_list(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries in order; raises TypeMismatchError for a scalar."""
    if tensor.rank == 0:
        raise TypeMismatchError("a coordinate list holds tensors of rank 1 or more", found="a scalar")
    coordinates, values = tensor.to_coo()
    if values.dtype == np.bool_:
        values = values.astype(np.int64)
    line = " ".join(["{}"] * (tensor.rank + 1)) + "\n"
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        columns = [*(coordinates[:, part] + 1).tolist(), values[part].tolist()]
        stream.write("".join(map(line.format, *columns)).encode("ascii"))
