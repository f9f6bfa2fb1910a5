"""Tensors in NumPy's files.

An ``.npz`` holds what its keys say: a tensor that storel saved (its arrays, and under ``storel`` what
describes it), a matrix or array of SciPy (``format``, ``shape``, …), a tensor of pydata/sparse (also with a
``fill_value``), or a single array. A ``.npy`` file is a dense tensor.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import BinaryIO

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.storage.files.archive import read_archive, read_array, write_archive
from storel.storage.files.contents import (
    Contents,
    DenseContents,
    MatrixContents,
    NamedArrays,
    SparseContents,
    StoredContents,
    reason,
)
from storel.storage.files.description import KEY, describe, parse_description
from storel.storage.formats.creation import creation_of
from storel.storage.stored import Stored

NOT_INDICES = frozenset({"data", "fill_value", "format", "_is_array"})
BROKEN = (
    ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError, NotImplementedError
)  # fmt: skip
"""What SciPy and NumPy raise for arrays that do not fit together, and for formats that SciPy cannot read."""


def read_dense(path: Path) -> DenseContents:
    """Read a ``.npy`` file as a dense tensor."""
    return DenseContents(read_array(path))


def read_stored(path: Path) -> Contents | NamedArrays:
    """Read a ``.npz`` file as one tensor, or as arrays of which there may be made one."""
    arrays = read_archive(path)
    if KEY in arrays:
        return _described(path, arrays)
    if {"data", "shape", "fill_value"} <= arrays.keys():
        return _pydata_entries(path, arrays)
    if "format" in arrays and "shape" in arrays:
        return _scipy_matrix(path, arrays)
    return NamedArrays(arrays)


def write_array(tensor: Stored, stream: BinaryIO) -> None:
    """Write all places of a tensor as ``.npy``; raises MemoryLimitError if they do not fit.

    An array that has them all is written as it lies, which may be in a file that is larger than memory.
    """
    np.lib.format.write_array(stream, np.asarray(tensor), allow_pickle=False)


def write_stored(tensor: Stored, stream: BinaryIO) -> None:
    """Write a tensor's arrays and format as ``.npz``."""
    description = describe(tensor, creation_of(tensor.storage))
    write_archive({KEY: np.array(description), **tensor.arrays}, stream)


def _described(path: Path, arrays: dict[str, Array]) -> StoredContents:
    found = parse_description(str(arrays.pop(KEY)), str(path))
    return StoredContents(found.format, arrays, found.shape, found.semiring, found.is_closed, found.creation)


def _scipy_matrix(path: Path, arrays: dict[str, Array]) -> MatrixContents:
    """Return what SciPy reads from the file, once it is certain that it can be relied on."""
    import scipy.sparse

    _require_integers(path, arrays)
    try:
        matrix = scipy.sparse.load_npz(path)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except BROKEN as error:
        raise DataError(f"{path} holds a broken matrix: {reason(error)}") from error
    return MatrixContents(matrix)


def _require_integers(path: Path, arrays: dict[str, Array]) -> None:
    """Raise DataError unless all that is no value is an integer: SciPy would round it."""
    for name in sorted(arrays.keys() - NOT_INDICES):
        if arrays[name].size and arrays[name].dtype.kind not in "iu":
            raise DataError(f"{path}: array {name} holds {arrays[name].dtype} numbers", expected="integers")


def _pydata_entries(path: Path, arrays: dict[str, Array]) -> SparseContents:
    """Return the entries of a tensor of pydata/sparse: its coordinates, or compressed rows (GCXS)."""
    _require_integers(path, arrays)
    if arrays["fill_value"].any():
        raise DataError(
            f"{path}: what is no entry is {arrays['fill_value']}",
            expected="a tensor whose fill value is 0",
        )
    try:
        shape = tuple(int(extent) for extent in arrays["shape"])
        if "coords" in arrays:
            return SparseContents(arrays["coords"], arrays["data"], shape, is_closed=True)
        coordinates, values = _uncompressed(arrays, shape)
        return SparseContents(coordinates, values, shape, is_closed=True)
    except BROKEN as error:
        raise DataError(f"{path} holds a broken tensor: {reason(error)}") from error


def _uncompressed(arrays: dict[str, Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the entries of a tensor that is a matrix of ``compressed_axes`` by the other axes."""
    import scipy.sparse

    compressed = [int(axis) for axis in arrays["compressed_axes"]]
    order = compressed + [axis for axis in range(len(shape)) if axis not in compressed]
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"compressed_axes {compressed} of {len(shape)}")
    extents = [shape[axis] for axis in order]
    rows, columns = math.prod(extents[: len(compressed)]), math.prod(extents[len(compressed) :])
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    matrix = scipy.sparse.csr_array(parts, shape=(rows, columns))
    matrix.check_format(full_check=True)
    row, column = (axis.astype(np.int64) for axis in matrix.tocoo().coords)
    coordinates = np.empty((len(shape), matrix.nnz), dtype=np.int64)
    coordinates[order] = np.unravel_index(row * columns + column, extents)
    return coordinates, matrix.data
