"""Tables of entries: Parquet and Arrow (Feather) files, and tables in memory by Arrow's C interface.

    i0 … in-1: integers     the keys, from 0
    value: numbers          the last column

One row is one entry, in any order; what the columns are called does not matter. The table does not say
how large the tensor is, so that its shape is open, unless storel wrote it: then the schema's metadata
describes the tensor. pyarrow reads and writes; it is imported when the first table is met.
Source: https://arrow.apache.org/docs/format/Columnar.html, https://parquet.apache.org/docs/file-format.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.text import reading
from storel.storage.files.contents import SparseContents, reason
from storel.storage.files.description import KEY, Description, describe, parse_description
from storel.storage.stored import Stored

LAYOUT = "columns of integer keys, then one of values"
SELECT = "select the columns in this order"
AS_SPARSE = "make a SciPy matrix of it, as its .sparse does"
AS_ARRAY = "make a NumPy array of it, as numpy.asarray does"
LARGEST_EXTENT = 2**63 - 1
PANDAS_INDEX = "__index_level_"
"""How the columns begin that pandas makes of an index without a name."""


def read_parquet(path: Path) -> SparseContents:
    """Read a ``.parquet`` file; raises DataError that names the first bad column and row."""
    _require_pyarrow(str(path))
    import pyarrow.parquet

    def read(stream: Any) -> Any:
        return pyarrow.parquet.ParquetFile(stream).read()

    return _read(path, read)


def read_arrow(path: Path) -> SparseContents:
    """Read an ``.arrow`` or ``.feather`` file; raises DataError that names the first bad column and row."""
    pyarrow = _require_pyarrow(str(path))
    return _read(path, lambda stream: pyarrow.ipc.open_file(stream).read_all())


def read_stream(table: Any) -> SparseContents:
    """Read an object with ``__arrow_c_stream__``: a table of any library that speaks Arrow's C interface."""
    what = f"the {type(table).__name__}"
    pyarrow = _require_pyarrow(what)
    try:
        rows = pyarrow.RecordBatchReader.from_stream(table).read_all()
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        is_vector = hasattr(table, "__array__") and getattr(table, "ndim", 1) == 1
        hint = AS_ARRAY if is_vector else AS_SPARSE if hasattr(table, "sparse") else None
        raise DataError(f"{what} is not a table: {reason(error)}", expected=LAYOUT, hint=hint) from error
    return _entries(rows, what)


def write_parquet(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries of a tensor of rank 1 or more in order."""
    table = _table(tensor)
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, stream)


def write_arrow(tensor: Stored, stream: BinaryIO) -> None:
    """Write the entries of a tensor of rank 1 or more in order."""
    table = _table(tensor)
    import pyarrow

    with pyarrow.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)


def _require_pyarrow(what: str) -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise DataError(
            f"{what}: tables are read and written with pyarrow, which is not installed",
            hint='pip install "storel[arrow]"',
        ) from error
    return pyarrow


def _read(path: Path, read: Callable[[Any], Any]) -> SparseContents:
    """Read a table from a file of Arrow's own, for which its threads need not wait for the interpreter.

    A process that has read Parquet from Python's may hang (https://github.com/apache/arrow/issues/50482).
    """
    pyarrow = _require_pyarrow(str(path))
    with reading(path):  # what cannot be opened is told as of any other file
        try:
            with pyarrow.OSFile(str(path)) as stream:
                table = read(stream)
        except (pyarrow.ArrowException, ValueError) as error:
            raise DataError(f"{path} is not a usable {path.suffix} file: {reason(error)}") from error
    return _entries(table, str(path))


def _entries(table: Any, what: str) -> SparseContents:
    names, rank = list(table.column_names), len(table.column_names) - 1
    if rank < 1:
        lacking = "holds values without keys" if names else "has no columns"
        raise DataError(f"{what} {lacking}", expected=LAYOUT)
    _require_no_index(table.schema, what)
    description = _description(table, what, rank)
    coordinates = np.empty((rank, table.num_rows), dtype=np.int64)
    for axis, name in enumerate(names[:-1]):
        extent = LARGEST_EXTENT if description is None else description.shape[axis]
        _fill_keys(coordinates[axis], table.column(axis), extent, f"{what}: column '{name}'")
    values = _values(table.column(rank), f"{what}: column '{names[-1]}'")
    if description is None:
        shape = tuple(int(extent) for extent in coordinates.max(axis=1, initial=-1) + 1)
        return SparseContents(coordinates, values, shape, is_closed=False)
    shape, is_closed = description.shape, description.is_closed
    return SparseContents(coordinates, values, shape, is_closed, description.semiring)


def _require_no_index(schema: Any, what: str) -> None:
    """Raise DataError for an index of pandas: it comes last, where it would be taken for values, or is lost.

    A range without a name says nothing but how many rows there are.
    """
    index = _pandas_index(schema)
    names: list[str] = schema.names
    lost = [each["name"] for each in index if isinstance(each, dict) and each.get("name") is not None]
    found = [name for name in names if name.startswith(PANDAS_INDEX) or (name == names[-1] and name in index)]
    for name in lost + found:
        hint = "call .reset_index(), with drop=True if it is no key"
        raise DataError(f"{what}: '{name}' is pandas' index", expected=LAYOUT, hint=hint)


def _pandas_index(schema: Any) -> list[Any]:
    """Return what pandas says of its index: names of columns, and descriptions of ranges that are none."""
    try:
        return list((schema.pandas_metadata or {}).get("index_columns", ()))
    except (AttributeError, TypeError, ValueError):  # written by something else
        return []


def _description(table: Any, what: str, rank: int) -> Description | None:
    text = (table.schema.metadata or {}).get(KEY.encode())
    if text is None:
        return None
    description = parse_description(text.decode("utf-8", errors="replace"), what)
    if len(description.shape) != rank:
        raise DataError(
            f"{what} describes a tensor of rank {len(description.shape)}",
            expected=f"{len(description.shape)} columns of keys",
            found=str(rank),
        )
    return description


def _fill_keys(keys: Array, column: Any, extent: int, what: str) -> None:
    """Copy a column into ``keys``; raises DataError unless they are integers in 0:extent."""
    import pyarrow.types as kinds

    if not kinds.is_integer(column.type):
        hint = f"cast it to integers, or {SELECT}; of a dense matrix, {AS_ARRAY}"
        raise DataError(f"{what} holds {column.type} keys", expected=LAYOUT, hint=hint)
    _require_no_null(column, what)
    start = 0
    for part in column.chunks:
        # Integers from 2**63 on become negative here, and are found as such.
        keys[start : start + len(part)] = part.to_numpy().astype(np.int64, copy=False)
        start += len(part)
    outside = (keys < 0) | (keys >= extent)
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(f"{what}, row {row} (from 0): key {column[row].as_py()} is outside 0:{extent}")


def _values(column: Any, what: str) -> Array:
    """Return a column as numbers that storel knows; raises DataError where one does not fit."""
    import pyarrow.types as kinds

    if not any(is_kind(column.type) for is_kind in (kinds.is_boolean, kinds.is_integer, kinds.is_floating)):
        hint = f"cast it to integers or floats, or {SELECT}"
        raise DataError(f"{what} holds {column.type} values", expected=LAYOUT, hint=hint)
    _require_no_null(column, what)
    values = column.to_numpy()
    match values.dtype.name:
        case "float16":
            return values.astype(np.float32)
        case "uint64":
            is_large = values > np.iinfo(np.int64).max
            if is_large.any():
                row = int(np.argmax(is_large))
                raise DataError(f"{what}, row {row} (from 0): {values[row]} does not fit into 64 bits")
            return values.astype(np.int64)
        case _:
            return values


def _require_no_null(column: Any, what: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise DataError(f"{what}, row {row} (from 0): null", expected=LAYOUT, hint="drop such rows first")


def _table(tensor: Stored) -> Any:
    pyarrow = _require_pyarrow("the file to write")
    coordinates, values = tensor.to_coo()
    names = [*(f"i{axis}" for axis in range(tensor.rank)), "value"]
    table = pyarrow.table(dict(zip(names, [*coordinates, values], strict=True)))
    return table.replace_schema_metadata({KEY: describe(tensor)})
