"""Arrays and lists of entries → tensors: verified once, wrapped without a copy where the layout agrees."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Set
from typing import Any, cast

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError, TypeMismatchError
from storel.host.memory import require_memory
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.storage.evident import verified_sizes
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.formats.signature import level_signature
from storel.storage.packing.pack import all_sizes, full_arrays, scalar_type_of
from storel.storage.packing.parameters import with_parameters_of_extents
from storel.storage.tensor import Tensor, pack
from storel.storage.unpacking.reads import verify_reads
from storel.syntax.nodes.declarations import ArrayDeclaration
from storel.syntax.nodes.expressions import Call

LARGEST_INDEX = np.iinfo(np.int64).max

_WIDENED = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64"}
"""Integer types that another type holds without loss."""


def as_values(array: Array, what: str) -> Array:
    """Return ``array`` with one of storel's scalar types; raises TypeMismatchError where none fits."""
    if ScalarType.of(array.dtype) is not None:
        if not array.dtype.isnative:
            return array.astype(array.dtype.newbyteorder("="))
        # Kernels read numbers at addresses that are multiples of their size.
        return array if array.flags.aligned else array.copy()
    wider = _WIDENED.get(array.dtype.name)
    if wider is None:
        raise TypeMismatchError(
            f"{what} holds {array.dtype} values",
            expected=", ".join(each.value for each in ScalarType),
            hint=_conversion(array),
        )
    return array.astype(wider)


def _conversion(array: Array) -> str:
    """Return what to do with values that no type holds, by NumPy's letters for kinds of types."""
    match array.dtype.kind:
        case "u" if array.max(initial=0) <= LARGEST_INDEX:
            return "convert it first, for example with .astype('int64')"
        case "u":
            return f"int64 does not hold {array.max()}: .astype('float64') does, rounded to 53 bits"
        case "U" | "S":
            return "number the texts first, for example with numpy.unique(…, return_inverse=True)"
        case "c":
            return "give its parts, .real and .imag, as two"
        case "V" if array.dtype.names is not None:
            fields = ", ".join(f"x[{name!r}]" for name in array.dtype.names)
            return f"give its fields as arrays of their own: {fields}"
        case _:
            return "convert it first, for example with .astype('float64')"


def require_unmasked(values: Any, what: str) -> None:
    """Raise DataError for a masked array, some of whose places have no value, also within lists."""
    if _is_masked(values):
        hint = "say what the masked places hold, for example with .filled(0)"
        raise DataError(f"{what} is masked", hint=hint)


def _is_masked(values: Any) -> bool:
    if isinstance(values, list | tuple):
        elements = cast(list[Any], values)
        kinds = set(map(type, elements))  # where all are numbers, none of them is looked at
        is_nested = any(issubclass(kind, list | tuple | np.ma.MaskedArray) for kind in kinds)
        return is_nested and any(map(_is_masked, elements))
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def from_numpy(
    array: Array, formats: Formats, storage: Format | None = None, semiring: str = "plus_times"
) -> Tensor:
    """Store a dense array; without a copy where it lies in memory as a format for dense data says."""
    array = as_values(np.asarray(array), "the array")
    candidates = [storage] if storage else formats.alternatives(array.ndim, is_dense=True)
    if semiring == "plus_times":
        wanted = next((each for each in candidates if _lies_as(array, each)), candidates[0])
        if (arrays := full_arrays(array, wanted)) is not None:
            sizes = verified_sizes(wanted, array.shape, arrays)
            return Tensor(array.shape, scalar_type_of(array), wanted, arrays, sizes, semiring)
    wanted = candidates[0]
    listed = int(np.count_nonzero(array)) if semiring == "plus_times" else array.size
    keys = 2 * array.ndim * np.dtype(np.int64).itemsize  # as they are found, and put in order
    require_memory(listed * (keys + array.itemsize), f"a list of the {listed:,} entries of a dense array")
    if semiring == "plus_times" and array.ndim:
        coordinates = np.array(np.nonzero(array), dtype=np.int64).reshape(array.ndim, -1)
        return pack(wanted, coordinates, array[tuple(coordinates)], array.shape, semiring)
    coordinates = np.indices(array.shape).reshape(array.ndim, array.size)
    return pack(wanted, coordinates, array.reshape(-1), array.shape, semiring)


def from_coordinates(
    coordinates: Array,
    values: Array,
    shape: tuple[int, ...] | None,
    formats: Formats,
    storage: Format | None = None,
    semiring: str = "plus_times",
    *,
    is_closed: bool = True,
    memory_limit: int | None = None,
) -> Tensor:
    """Store a list of entries; without a shape the extents are open and the largest keys decide."""
    coordinates, values = np.asarray(coordinates), as_values(np.asarray(values), "the array of values")
    if coordinates.ndim == 1 and coordinates.dtype.kind in "iu":
        coordinates = coordinates[np.newaxis]
    if values.ndim != 1 or coordinates.ndim != 2 or coordinates.shape[1] != len(values):
        is_transposed = coordinates.ndim == 2 and coordinates.shape[:1] == values.shape
        raise DataError(
            "coordinates and values do not fit together",
            expected="coordinates of shape (rank, count), or (count,), and values of shape (count,)",
            found=f"shapes {coordinates.shape} and {values.shape}",
            hint="there is a row for each dimension: give the transpose, .T" if is_transposed else None,
        )
    coordinates = _as_indices(coordinates)
    rank = coordinates.shape[0]
    if shape is None:
        bounds = tuple(int(largest) + 1 for largest in coordinates.max(axis=1, initial=-1))
        if max(bounds, default=0) > LARGEST_INDEX:
            raise DataError(f"coordinate {max(bounds) - 1} is too large", expected="less than 2**63 - 1")
    else:
        bounds = as_shape(shape)
    require_inside(coordinates, bounds)
    wanted = storage or formats.default(rank, is_dense=rank == 0)
    is_closed = is_closed and shape is not None
    return pack(wanted, coordinates, values, bounds, semiring, is_closed=is_closed, memory_limit=memory_limit)


def from_arrays(
    storage: Format,
    arrays: Mapping[str, Array],
    shape: tuple[int, ...],
    semiring: str = "plus_times",
    *,
    are_read_inside: bool = False,
) -> Tensor:
    """Wrap the arrays of a format; lengths, types, declared properties and reads are verified.

    ``are_read_inside`` says that the mapping is known to read what the arrays have, and to make no entry
    outside of the shape. Values are made truths where the semiring's numbers are, and of one type where
    arrays differ.

    Raises DataError naming the array and the first bad position.
    """
    unknown = sorted(set(arrays) - {declaration.name for declaration in storage.arrays})
    if unknown:
        wanted = ", ".join(declaration.name for declaration in storage.arrays)
        raise FormatError(f"format {storage.name} has no array {unknown[0]}", expected=wanted)
    if len(shape) != storage.rank:
        raise FormatError(
            f"format {storage.name} does not store tensors of rank {len(shape)}",
            expected=f"rank {storage.rank}",
            found=f"the shape {shape}",
        )
    shape = as_shape(shape)
    storage = with_parameters_of_extents(storage, shape)
    given = {
        each.name: np.ascontiguousarray(_as_elements(np.asarray(arrays[each.name]), each))
        for each in storage.arrays
        if each.name in arrays
    }
    sizes = all_sizes(storage, shape, given)
    verify_properties(storage, given, sizes)
    if not are_read_inside:
        verify_reads(storage, given, sizes, semiring)
    stored_type = _common_type(storage, given, semiring)
    for each in storage.arrays:
        if each.holds_values:
            given[each.name] = given[each.name].astype(stored_type.dtype, copy=False)
    if stored_type is ScalarType.BOOL and any(not isinstance(chain.leaf, Call) for chain in storage.chains):
        raise FormatError(
            f"format {storage.name} computes its entries, which truth values are not",
            hint="give its arrays as integers",
        )
    return Tensor(shape, stored_type, storage, given, sizes, semiring)


def _as_elements(array: Array, declaration: ArrayDeclaration) -> Array:
    """Return a given array with one of storel's scalar types; what is empty, as a list may be, has any."""
    name, holds_keys = f"array {declaration.name}", declaration.holds_indices
    if array.size == 0 and array.dtype.kind == "f" and not declaration.holds_values:
        return array.astype(np.int64 if holds_keys else np.bool_)
    if holds_keys and array.dtype.kind == "u" and array.max(initial=0) > LARGEST_INDEX:
        raise DataError(f"{name} holds {array.max()}", expected="positions and keys of at most 2**63 - 1")
    return as_values(array, name)


def _common_type(storage: Format, given: Mapping[str, Array], semiring: str) -> ScalarType:
    """Return a type that holds the elements of all arrays of values; raises FormatError without one."""
    types = [given[each.name].dtype for each in storage.arrays if each.holds_values]
    if not types:
        raise FormatError(
            f"format {storage.name} declares no array of values, so nothing says their type",
            expected="one that is real",
            span=storage.declaration.span,
        )
    found = ScalarType.of(np.result_type(*types))
    assert found is not None
    return ScalarType.BOOL if SEMIRINGS[semiring].has_truths else found


def _as_indices(coordinates: Array) -> Array:
    if coordinates.size == 0 or np.issubdtype(coordinates.dtype, np.signedinteger):
        return coordinates.astype(np.int64, copy=False)
    if coordinates.dtype.kind not in "uf":
        raise DataError("coordinates must be integers", found=f"{coordinates.dtype} values")
    is_index = (coordinates == np.floor(coordinates)) & (np.abs(coordinates) < 2.0**63)
    if not is_index.all():
        axis, number = (int(each) for each in np.argwhere(~is_index)[0])
        raise DataError(
            f"coordinate {axis} of entry {number} is {coordinates[axis, number]}",
            expected="an integer below 2**63",
        )
    return coordinates.astype(np.int64)


def as_shape(shape: Iterable[int]) -> tuple[int, ...]:
    """Return the extents as Python integers; raises DataError unless they are ordered integers from 0."""
    if isinstance(shape, Set | Mapping):
        raise DataError("a shape has an order", expected="a tuple of integers", found=str(shape))
    try:
        extents = tuple(operator.index(extent) for extent in shape)
    except TypeError as error:
        raise DataError("a shape is made of integers", found=str(shape)) from error
    if any(extent < 0 for extent in extents):
        raise DataError("an extent is at least 0", found=f"the shape {shape}")
    if max(extents, default=0) > ScalarType.INT64.last:
        raise DataError("an extent does not fit into 64 bits", found=f"the shape {shape}")
    return extents


def require_inside(coordinates: Array, shape: tuple[int, ...]) -> None:
    """Raise DataError naming the first of the coordinates, rank × count, that a shape does not have."""
    if len(shape) != coordinates.shape[0]:
        raise DataError(
            "the shape does not fit the coordinates",
            expected=f"{coordinates.shape[0]} extents",
            found=f"the shape {shape}",
        )
    for axis, extent in enumerate(shape):
        outside = (coordinates[axis] < 0) | (coordinates[axis] >= extent)
        if outside.any():
            first = int(np.argmax(outside))
            key = tuple(int(coordinate) for coordinate in coordinates[:, first])
            allowed = "not negative" if key[axis] < 0 else f"in 0:{extent}"
            raise DataError(
                f"coordinate {axis} of entry {first} is {key[axis]}", expected=allowed, found=f"the key {key}"
            )


def _lies_as(array: Array, storage: Format) -> bool:
    """Return whether the values of a format that has a place for each key are an array's memory."""
    signature = level_signature(storage)
    return signature is not None and signature.is_full and array.transpose(signature.order).flags.c_contiguous
