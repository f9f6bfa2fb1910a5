"""``.npy`` and ``.npz``, NumPy's files.

An ``.npz`` holds what its keys say: a tensor that storel saved (its arrays, and under ``storel`` a JSON
object with format, shape and semiring), a matrix that SciPy saved, or plain arrays.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from storel.errors import DataError
from storel.storage.files.contents import Contents, DenseContents, MatrixContents, StoredContents
from storel.storage.files.description import KEY, describe, parse_description
from storel.storage.files.text import reading
from storel.storage.stored import Stored

Array: TypeAlias = NDArray[Any]

MAPPED_FROM = 1 << 24
"""The size of files, in bytes, from which arrays are mapped: reading less costs no more than mapping it."""


def read_array(path: Path) -> Array:
    """Return the array in a ``.npy`` file: read if it is small, else mapped into memory."""
    with reading(path) as stream:
        try:
            if path.is_file() and path.stat().st_size >= MAPPED_FROM:
                return np.asarray(np.lib.format.open_memmap(path, mode="r"))
            return np.lib.format.read_array(stream, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise DataError(f"{path} is not a usable .npy file: {_reason(error)}") from error


def read_archive(path: Path) -> dict[str, Array]:
    """Read all arrays in a ``.npz`` file."""
    found: dict[str, Array] = {}
    with reading(path) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                for name in archive.namelist():
                    with archive.open(name) as member:
                        key = name.removesuffix(".npy")
                        found[key] = np.lib.format.read_array(cast(BinaryIO, member), allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile, NotImplementedError) as error:
            raise DataError(f"{path} is not a usable .npz file: {_reason(error)}") from error
    return found


def read_dense(path: Path) -> DenseContents:
    """Read a ``.npy`` file as a dense tensor."""
    return DenseContents(read_array(path))


def read_stored(path: Path) -> Contents:
    """Read a ``.npz`` file as one tensor; raises DataError if it holds several arrays that are none."""
    arrays = read_archive(path)
    if KEY in arrays:
        return _described(path, arrays)
    if "format" in arrays and "shape" in arrays:
        return MatrixContents(_scipy_matrix(path))
    if len(arrays) == 1:
        return DenseContents(next(iter(arrays.values())))
    raise DataError(
        f"{path} holds arrays, not a tensor",
        expected="a file that storel or SciPy saved, or a single array",
        found=", ".join(sorted(arrays)) or "nothing",
        hint="LOAD ARRAYS FROM takes arrays by their names",
    )


def write_array(tensor: Stored, stream: BinaryIO) -> None:
    """Write all places of a tensor as ``.npy``; raises MemoryLimitError if they do not fit."""
    np.lib.format.write_array(stream, tensor.to_numpy(), allow_pickle=False)


def write_stored(tensor: Stored, stream: BinaryIO) -> None:
    """Write a tensor's arrays and format as ``.npz``."""
    arrays = {KEY: np.array(describe(tensor)), **tensor.arrays}
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(cast(BinaryIO, member), np.asarray(array), allow_pickle=False)


def _described(path: Path, arrays: dict[str, Array]) -> StoredContents:
    found = parse_description(str(arrays.pop(KEY)), str(path))
    return StoredContents(found.format, arrays, found.shape, found.semiring, found.is_closed)


def _scipy_matrix(path: Path) -> Any:
    import scipy.sparse

    try:
        matrix = scipy.sparse.load_npz(path)
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(f"{path} holds a broken matrix: {_reason(error)}") from error
    return matrix


def _reason(error: Exception) -> str:
    """Return the first line of what a library says, without its advice to unpickle."""
    return (
        "it holds Python objects"
        if "pickle" in str(error)
        else (str(error) or "it ends early").splitlines()[0]
    )
