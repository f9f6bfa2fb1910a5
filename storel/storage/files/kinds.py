"""Which kind of file a name's ending stands for: reading and saving tensors and arrays."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, cast

from storel.arrays import Array
from storel.errors import DataError, TypeMismatchError, about, nearest
from storel.host.output import replacing, require_writable
from storel.storage.files.archive import read_archive, read_array
from storel.storage.files.arrow import read_arrow, read_parquet, write_arrow, write_parquet
from storel.storage.files.contents import Contents, NamedArrays
from storel.storage.files.coordinate_list import read_coordinate_list, write_coordinate_list
from storel.storage.files.description import KEY
from storel.storage.files.matrix_market import read_matrix_market, write_matrix_market
from storel.storage.files.saved import read_dense, read_stored, write_array, write_stored
from storel.storage.stored import Stored

READERS: dict[str, Callable[[Path], Contents | NamedArrays]] = {
    ".mtx": read_matrix_market,
    ".mtx.gz": read_matrix_market,
    ".tns": read_coordinate_list,
    ".tns.gz": read_coordinate_list,
    ".npy": read_dense,
    ".npz": read_stored,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
}

WRITERS: dict[str, Callable[[Stored, BinaryIO], None]] = {
    ".mtx": write_matrix_market,
    ".tns": write_coordinate_list,
    ".npy": write_array,
    ".npz": write_stored,
    ".parquet": write_parquet,
    ".arrow": write_arrow,
    ".feather": write_arrow,
}

WRITTEN = (*WRITERS, ".mtx.gz", ".tns.gz")

MATRICES = frozenset((".mtx", ".mtx.gz"))
"""Endings of files that hold tensors of rank 2 only."""

TABLES = frozenset((".tns", ".tns.gz", ".parquet", ".arrow", ".feather"))
"""Endings of files of a line for each entry, with its indices: there are none in a scalar."""


TEXTS = frozenset((".csv", ".tsv", ".txt", ".dat"))
"""Endings of texts that say nothing of what their columns are."""


def read_tensor(path: Path) -> Contents | NamedArrays:
    """Read the tensor in a file, or arrays of which one may be made.

    Raises DataError for what is missing, unknown or broken.
    """
    return READERS[_ending(path, READERS)](path)


def is_readable(path: Path) -> bool:
    """Return whether the ending of a file's name says how it is read."""
    return path.name.endswith(tuple(READERS))


def keeps_arrays(path: Path) -> bool:
    """Return whether a file to be read holds arrays as they are stored, not a list of entries."""
    return _ending(path, READERS) in (".npy", ".npz")


def keeps_format(path: Path) -> bool:
    """Return whether a file to be written holds a tensor in its format, not the entries alone."""
    return _ending(path, WRITTEN) == ".npz"


def save_tensor(tensor: Stored, path: Path) -> None:
    """Write a tensor to a file, as its ending says; on an error, such as without data, nothing is written."""
    tensor.require_data()
    ending = _ending(path, WRITTEN)
    _require_rank(path, ending, tensor.rank)
    write = WRITERS[ending.removesuffix(".gz")]
    with replacing(path) as stream, about(str(path)):
        if not ending.endswith(".gz"):
            write(tensor, stream)
            return
        # Neither name nor time go in, so that equal tensors give equal files.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as packed:
            write(tensor, cast(BinaryIO, packed))


def require_savable(path: Path, rank: int | None = None) -> None:
    """Raise where no tensor could be saved, before one is computed.

    That is a DataError, or a TypeMismatchError where one of such a ``rank`` could not.
    """
    ending = _ending(path, WRITTEN)
    if rank is not None:
        _require_rank(path, ending, rank)
    require_writable(path)


def read_arrays(path: Path) -> dict[str, Array]:
    """Read raw arrays: those of a ``.npz`` by their names, that of a ``.npy`` by the file's.

    Of a tensor that storel saved these are its arrays; what describes it is none of them.
    """
    if _ending(path, (".npy", ".npz")) == ".npz":
        return {name: array for name, array in read_archive(path).items() if name != KEY}
    return {path.stem: read_array(path)}


def read_named_array(path: Path, name: str) -> Array:
    """Read the raw array of this name, or the only one in a file, whatever it is called.

    Raises DataError for a file that holds none, or several others.
    """
    found = read_arrays(path)
    if name in found:
        return found[name]
    if len(found) != 1:
        names = ", ".join(sorted(found)) or "none"
        raise DataError(f"{path} holds no array {name}", found=names, hint=nearest(name, found))
    return next(iter(found.values()))


def _require_rank(path: Path, ending: str, rank: int) -> None:
    if ending in MATRICES and rank != 2:
        raise TypeMismatchError(f"{path}: a {ending} file holds a matrix", found=f"a tensor of rank {rank}")
    if ending in TABLES and rank == 0:
        raise TypeMismatchError(
            f"{path}: a {ending} file holds tensors of rank 1 or more",
            found="a scalar",
            hint="save it as .npz",
        )


def _ending(path: Path, known: Iterable[str]) -> str:
    endings = sorted(known)
    for ending in sorted(endings, key=len, reverse=True):
        if path.name.endswith(ending):
            return ending
    raise DataError(
        f"{path}: the ending of the name does not say what kind of file it is",
        expected=", ".join(endings),
        hint=_other_ending("".join(path.suffixes), endings),
    )


def _other_ending(ending: str, known: Iterable[str]) -> str | None:
    """Return a hint for an unknown ending; short ones are alike by chance, so a known one must be close."""
    if ending in TEXTS:
        return "a table of keys and values is saved as .parquet, a dense array with numpy.save as .npy"
    return nearest(ending, known, likeness=0.7)
