"""Files and foreign objects into tensors, as statements and callers ask for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storel.candidates.choice import smallest
from storel.errors import (
    DataError,
    FormatError,
    TypeMismatchError,
    UnknownNameError,
    about,
    nearest,
)
from storel.execution.annotated import as_declared, extents_of, is_admitted, numbers_of
from storel.semiring import SEMIRINGS
from storel.storage.build import (
    as_shape,
    as_values,
    from_arrays,
    from_coordinates,
    from_numpy,
    require_unmasked,
)
from storel.storage.files.arrow import AS_ARRAY, read_stream
from storel.storage.files.contents import (
    DenseContents,
    MatrixContents,
    NamedArrays,
    SparseContents,
    StoredContents,
    reason,
)
from storel.storage.files.kinds import read_tensor
from storel.storage.formats.creation import described
from storel.storage.formats.known import Formats, is_automatic
from storel.storage.matrices import from_scipy
from storel.storage.tensor import Tensor
from storel.syntax.nodes.declarations import FormatReference, TypeAnnotation
from storel.syntax.parser import parse_format


def load_tensor(
    path: Path,
    formats: Formats,
    *,
    annotation: TypeAnnotation | None = None,
    semiring: str | None = None,
    reference: FormatReference | None = None,
) -> Tensor:
    """Read a file; without ``reference`` dense data stays dense and sparse data gets the default format.

    Where a format is to be chosen, it is the one that takes the least memory.

    Raises DataError for a bad file, ExtentError or TypeMismatchError where it contradicts the annotation.
    """
    if is_automatic(reference):
        return smallest(load_tensor(path, formats, annotation=annotation, semiring=semiring), formats)
    contents, ring = read_tensor(path), known_semiring(semiring)
    if isinstance(contents, NamedArrays):
        given = _of_named_arrays(contents.arrays, formats, annotation, ring, reference, path)
        if isinstance(given, Tensor):
            return given
        contents = given
    shape, is_closed = extents_of(contents, annotation, path)
    storage = None if reference is None else formats.resolve(reference, len(shape))

    with about(str(path)):
        match contents:
            case StoredContents(format=text, arrays=arrays, semiring=own, creation=creation):
                kept = described(text, len(shape), creation, formats)
                stored = from_arrays(kept, arrays, shape, semiring=own)
                if storage is None and semiring in (None, own):
                    stored = replace(stored, is_closed=is_closed)
                else:
                    coordinates, values = stored.to_coo()
                    wanted, over = storage or stored.storage, semiring or own
                    stored = from_coordinates(
                        coordinates, values, shape, formats, wanted, over, is_closed=is_closed
                    )
            case DenseContents(values):
                values = as_declared(as_values(values, "the data"), annotation, semiring=ring)
                stored = from_numpy(values, formats, storage, ring)
            case MatrixContents(matrix):
                stored = from_scipy(matrix, formats, storage, ring)
            case SparseContents(coordinates, values, semiring=own):
                over = semiring or own or ring
                stored = from_coordinates(
                    coordinates, values, shape, formats, storage, over, is_closed=is_closed
                )
        return _with_declared_type(stored, annotation, formats)


def _with_declared_type(tensor: Tensor, annotation: TypeAnnotation | None, formats: Formats) -> Tensor:
    """Return a tensor whose entries are of the declared type: equal keys of a file are added up before."""
    if is_admitted(tensor.dtype, annotation):
        return tensor
    coordinates, values = tensor.to_coo()
    values = as_declared(values, annotation, coordinates=coordinates, semiring=tensor.semiring)
    shape, storage, is_closed = tensor.shape, tensor.storage, tensor.is_closed
    return from_coordinates(
        coordinates, values, shape, formats, storage, tensor.semiring, is_closed=is_closed
    )


def _of_named_arrays(
    arrays: Mapping[str, NDArray[Any]],
    formats: Formats,
    annotation: TypeAnnotation | None,
    semiring: str,
    reference: FormatReference | None,
    path: Path,
) -> Tensor | DenseContents:
    """Wrap the arrays of a format that is asked for, or return the only array as one of all places.

    Raises DataError where there are several and no format, or no extents to know the shape by.
    """
    shape = numbers_of(annotation)
    is_one = len(arrays) == 1 and (shape is None or len(shape) == next(iter(arrays.values())).ndim)
    if is_one:
        return DenseContents(next(iter(arrays.values())))
    if reference is None or shape is None:
        raise DataError(
            f"{path} holds arrays, not a tensor",
            expected="a file that storel, SciPy or pydata/sparse saved, or a single array",
            found=", ".join(sorted(arrays)) or "nothing",
            hint="LOAD TENSOR A: real[4, 3] FROM … STORED AS … takes the arrays of a format, "
            "LOAD ARRAYS FROM arrays by their names",
        )
    storage = formats.resolve(reference, len(shape))
    values = {each.name for each in storage.arrays if each.holds_values}
    declared = {
        name: as_declared(
            as_values(array, f"array {name}"), annotation if name in values else None, semiring=semiring
        )
        for name, array in arrays.items()
    }
    with about(str(path)):
        return from_arrays(storage, declared, shape, semiring=semiring)


def as_tensor(
    value: Any,
    formats: Formats,
    *,
    reference: FormatReference | None = None,
    shape: tuple[int, ...] | None = None,
    semiring: str | None = None,
) -> Tensor:
    """Store what a caller has: an array, a SciPy matrix, entries, a format's arrays, a table, or a tensor.

    Where a format is to be chosen, it is the one that takes the least memory.

    Raises TypeMismatchError for anything else and for a tensor over another semiring, DataError for data of
    another shape, UnknownNameError for an unknown semiring.
    """
    if is_automatic(reference):
        return smallest(as_tensor(value, formats, shape=shape, semiring=semiring), formats)
    extents = None if shape is None else as_shape(shape)
    stored = _stored(value, formats, reference, extents, semiring)
    if extents is not None and stored.shape != extents:
        raise DataError(
            "the data does not have the shape that was asked for",
            expected=f"shape {extents}",
            found=f"shape {stored.shape}",
        )
    return stored


def _stored(
    value: Any,
    formats: Formats,
    reference: FormatReference | None,
    shape: tuple[int, ...] | None,
    semiring: str | None,
) -> Tensor:
    """Store data; the shape is for what has none."""
    ring = known_semiring(semiring)
    if _is_scipy_matrix(value):  # some of them are dictionaries, too
        storage = None if reference is None else formats.resolve(reference, value.ndim)
        return from_scipy(value, formats, storage, ring)
    match value:
        case Tensor():
            if semiring not in (None, value.semiring):
                raise TypeMismatchError(
                    "a tensor keeps its semiring",
                    expected=str(semiring),
                    found=value.semiring,
                    hint="make a new one of its entries: tensor((coordinates, values), shape=…, semiring=…)",
                )
            return value if reference is None else value.stored_as(formats.resolve(reference, value.rank))
        case {}:
            return _from_dictionary(value, formats, reference, shape, ring)
        case tuple((coordinates, values)):
            coordinates, values = _as_array(coordinates), _as_array(values)
            rank = coordinates.shape[0] if coordinates.ndim else 0
            storage = None if reference is None else formats.resolve(reference, rank)
            return from_coordinates(coordinates, values, shape, formats, storage, ring)
        case _:
            pass
    if hasattr(value, "__arrow_c_stream__"):
        return _from_entries(read_stream(value), formats, reference, shape, semiring)
    if isinstance(value, np.ndarray | np.generic | int | float | list) or _is_foreign_array(value):
        array = _as_array(value)
        storage = None if reference is None else formats.resolve(reference, array.ndim)
        return from_numpy(array, formats, storage, ring)
    raise TypeMismatchError(
        f"a {_type_name(value)} cannot be stored as a tensor",
        expected="an array, a scipy.sparse matrix, (coordinates, values), {coordinates: value}, "
        "a dict of a format's arrays, or an Arrow table",
        hint=_instead_of(value),
    )


def _instead_of(value: Any) -> str | None:
    """Return what to give instead, for a hint."""
    if isinstance(value, str | PathLike):
        return f"storel.read({str(value)!r}) reads a file"
    if isinstance(getattr(value, "coords", None), np.ndarray):  # as in pydata/sparse
        return "give its entries: storel.tensor((x.coords, x.data), shape=x.shape)"
    if _is_sparse_layout(value):
        return "give its entries: (y.indices(), y.values()) of y = x.to_sparse().coalesce()"
    if hasattr(value, "tocoo"):
        return "make a list of entries of it first: .tocoo()"
    return AS_ARRAY if hasattr(value, "__array__") or isinstance(value, Sequence) else None


def _is_foreign_array(value: Any) -> bool:
    """Return whether another library has made this, a dense array that can be shared (https://dmlc.github.io/dlpack)."""
    return hasattr(value, "__dlpack__") and not _is_sparse_layout(value)


def _is_sparse_layout(value: Any) -> bool:
    """Return whether this is a tensor of PyTorch whose places are not all in memory."""
    return "sparse" in str(getattr(value, "layout", ""))


def _type_name(value: Any) -> str:
    """Return what a type is called, with its library where another has types of that name."""
    library, _, _ = type(value).__module__.partition(".")
    return type(value).__name__ if library == "builtins" else f"{library}.{type(value).__name__}"


def _as_array(value: Any) -> NDArray[Any]:
    """Return an array, of any library, or nested lists, as an array, which shares its memory if it can.

    Raises DataError where places have no value, TypeMismatchError for arrays that are not
    shown by their library, as those on another device.
    """
    try:
        require_unmasked(value, "the array")
        return np.asarray(value)
    except (ValueError, RecursionError) as error:
        raise DataError("the lists are no array", expected="lists of equal lengths") from error
    except (TypeError, RuntimeError) as error:
        raise TypeMismatchError(f"a {_type_name(value)} is no array of NumPy: {reason(error)}") from error


def _from_entries(
    entries: SparseContents,
    formats: Formats,
    reference: FormatReference | None,
    shape: tuple[int, ...] | None,
    semiring: str | None,
) -> Tensor:
    """Store entries; a shape and a semiring that are asked for replace their own."""
    storage = None if reference is None else formats.resolve(reference, len(entries.coordinates))
    return from_coordinates(
        entries.coordinates,
        entries.values,
        entries.shape if shape is None else shape,
        formats,
        storage,
        known_semiring(semiring or entries.semiring),
        is_closed=entries.is_closed or shape is not None,
    )


def _is_scipy_matrix(value: Any) -> bool:
    """Return whether ``value`` is a scipy.sparse matrix or array; if none was made, SciPy is not imported."""
    scipy_sparse = sys.modules.get("scipy.sparse")
    return scipy_sparse is not None and bool(scipy_sparse.issparse(value))


def known_semiring(name: str | None) -> str:
    """Return the name of a semiring, the default where there is none; raises UnknownNameError."""
    match name:
        case None:
            return "plus_times"
        case str() if name in SEMIRINGS:
            return name
        case _:
            message = f"unknown semiring '{name}'"
            raise UnknownNameError(message, expected=", ".join(SEMIRINGS), hint=nearest(str(name), SEMIRINGS))


def _from_dictionary(
    value: Mapping[Any, Any],
    formats: Formats,
    reference: FormatReference | None,
    shape: tuple[int, ...] | None,
    semiring: str,
) -> Tensor:
    """Store ``{coordinates: value}``, or ``{array name: array}`` of a format."""
    if value and all(isinstance(key, str) for key in value):
        if reference is None or shape is None:
            raise FormatError("the arrays of a format need format= and shape=")
        arrays = {name: _as_array(array) for name, array in value.items()}
        return from_arrays(formats.resolve(reference, len(shape)), arrays, shape, semiring=semiring)
    keys = [key if isinstance(key, tuple) else (key,) for key in value]
    rank = len(keys[0]) if keys else len(shape or ())
    if any(len(key) != rank for key in keys):
        raise DataError("the keys of a dictionary must all have the same number of coordinates")
    coordinates = _as_array(keys).T if keys else np.zeros((rank, 0))
    storage = None if reference is None else formats.resolve(reference, rank)
    values = _as_array(list(value.values()))  # of nothing: reals
    return from_coordinates(coordinates, values, shape, formats, storage, semiring)


def format_text(reference: str | FormatReference | None) -> FormatReference | None:
    """Return what ``format=`` means: text as after ``STORED AS``, or what was parsed already."""
    if reference is None or isinstance(reference, FormatReference):
        return reference
    return parse_format(reference)
