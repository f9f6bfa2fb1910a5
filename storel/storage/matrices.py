"""SciPy's sparse matrices → tensors: verified once, wrapped without a copy where the layout agrees."""

from __future__ import annotations

from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.host.memory import require_memory
from storel.storage.build import as_values, from_arrays, require_inside, require_unmasked
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.signature import LevelKind, level_signature
from storel.storage.tensor import Tensor, pack


def from_scipy(
    matrix: Any, formats: Formats, storage: Format | None = None, semiring: str = "plus_times"
) -> Tensor:
    """Store a ``scipy.sparse`` matrix or array; canonical CSR and CSC data is wrapped without a copy."""
    values: Any = getattr(matrix, "data", None)
    is_array = isinstance(values, np.ndarray) and values.dtype == matrix.dtype  # and no lists of rows
    as_values(values if is_array else np.empty(0, matrix.dtype), "the matrix")
    require_unmasked(values, "the matrix")
    if matrix.format in ("csr", "csc", "bsr"):
        _require_sound(matrix)
    candidates = [storage] if storage else formats.alternatives(matrix.ndim, is_dense=False)
    for candidate in candidates:
        wrapped = _wrapped(matrix, candidate, semiring)
        if wrapped is not None:
            return wrapped
    if matrix.format == "dia":
        # SciPy lists the entries row by row.
        require_memory(24 * matrix.shape[0], "listing the entries of diagonals")
    shape = tuple(int(extent) for extent in matrix.shape)
    coordinates, values = _listed(matrix, shape)
    return pack(candidates[0], coordinates, values, shape, semiring)


def _wrapped(matrix: Any, storage: Format, semiring: str) -> Tensor | None:
    """Wrap compressed rows or columns, which are sound, if ``storage`` has just these levels."""
    signature = level_signature(storage)
    if signature is None or matrix.ndim != 2 or matrix.format not in ("csr", "csc"):
        return None
    order = (0, 1) if matrix.format == "csr" else (1, 0)
    kinds = tuple(level.kind for level in signature.levels)
    if signature.order != order or kinds != (LevelKind.DENSE, LevelKind.COMPRESSED):
        return None
    inner = signature.levels[1]
    if inner.pos is None or inner.idx is None:
        return None
    if not matrix.has_canonical_format:
        if semiring != "plus_times":
            return None
        matrix = matrix.copy()
        matrix.sum_duplicates()
    count = int(matrix.indptr[-1])
    arrays = {
        inner.pos: matrix.indptr,
        inner.idx: matrix.indices[:count],
        signature.values: as_values(matrix.data[:count], "the matrix"),
    }
    return from_arrays(storage, arrays, matrix.shape, semiring=semiring, are_read_inside=True)


def _listed(matrix: Any, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the entries that SciPy lists; raises DataError if its arrays do not make a matrix."""
    try:
        listed = matrix.tocoo()
        coordinates = np.array(listed.coords, dtype=np.int64).reshape(len(shape), len(listed.data))
    except (ValueError, IndexError, TypeError) as error:
        raise DataError("the matrix is broken: its entries cannot be listed", found=str(error)) from error
    require_inside(coordinates, shape)
    return coordinates, as_values(listed.data, "the matrix")


def _require_sound(matrix: Any) -> None:
    """Raise DataError for compressed indices that SciPy's own code would follow out of its arrays."""
    boundaries, minor = matrix.indptr, matrix.shape[0 if matrix.format == "csc" else -1]
    major = 1 if matrix.ndim == 1 else matrix.shape[1 if matrix.format == "csc" else 0]
    if matrix.format == "bsr":
        major, minor = major // matrix.blocksize[0], minor // matrix.blocksize[1]
    for name, array in (("indptr", boundaries), ("indices", matrix.indices)):
        if array.dtype.kind not in "iu":
            raise DataError(f"the matrix is broken: {name} holds {array.dtype} values", expected="integers")
    if len(boundaries) != major + 1:
        raise DataError(
            "the matrix is broken", expected=f"indptr of {major + 1} elements", found=f"{len(boundaries)}"
        )
    available = min(len(matrix.indices), len(matrix.data))
    if boundaries[0] != 0 or boundaries[-1] > available or (boundaries[1:] < boundaries[:-1]).any():
        raise DataError("the matrix is broken", expected=f"indptr ascending from 0 to at most {available}")
    keys = matrix.indices[: boundaries[-1]]
    outside = (keys < 0) | (keys >= minor)
    if outside.any():
        first = int(np.argmax(outside))
        raise DataError(f"the matrix is broken: indices({first}) = {keys[first]} is outside 0:{minor}")
