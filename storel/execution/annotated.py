"""What the declaration of a name says of the data that is loaded for it: its type and its extents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import ExtentError, TypeMismatchError
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.storage.files.contents import (
    Contents,
    DenseContents,
    MatrixContents,
    SparseContents,
    StoredContents,
)
from storel.syntax.nodes.declarations import TypeAnnotation
from storel.syntax.nodes.expressions import Number

DECLARED_TYPES = {
    "real": (ScalarType.FLOAT32, ScalarType.FLOAT64),
    "int": (ScalarType.INT32, ScalarType.INT64),
    **{scalar.value: (scalar,) for scalar in ScalarType},
}
"""The types of data that a declared name admits as they are; other data is converted to the last."""


def numbers_of(annotation: TypeAnnotation | None) -> tuple[int, ...] | None:
    """Return the declared extents, if there are some and all are numbers."""
    if annotation is None or not annotation.extents:
        return None
    extents = [each.value for each in annotation.extents if isinstance(each, Number)]
    sizes = tuple(extent for extent in extents if isinstance(extent, int))
    return sizes if len(sizes) == len(annotation.extents) else None


def extents_of(
    contents: Contents, annotation: TypeAnnotation | None, path: Path
) -> tuple[tuple[int, ...], bool]:
    """Return the shape of a file's tensor and whether it is closed, with what the annotation adds."""
    match contents:
        case (
            StoredContents(shape=shape, is_closed=is_closed)
            | SparseContents(shape=shape, is_closed=is_closed)
        ):
            pass
        case DenseContents(values):
            shape, is_closed = tuple(values.shape), True
        case MatrixContents(matrix):
            shape, is_closed = tuple(int(extent) for extent in matrix.shape), True
    if annotation is None or not annotation.extents:
        return shape, is_closed
    if len(annotation.extents) != len(shape):
        raise TypeMismatchError(
            f"{path} holds a tensor of rank {len(shape)}",
            expected=f"rank {len(annotation.extents)}, as declared",
            found=f"shape {shape}",
            span=annotation.span,
        )
    return _declared(annotation, shape, is_closed, path)


def _declared(
    annotation: TypeAnnotation, shape: tuple[int, ...], is_closed: bool, path: Path
) -> tuple[tuple[int, ...], bool]:
    agreed: list[int] = []
    for dimension, (extent, size) in enumerate(zip(annotation.extents, shape, strict=True)):
        declared = extent.value if isinstance(extent, Number) and isinstance(extent.value, int) else size
        if declared < size or (is_closed and declared != size):
            raise ExtentError(
                f"{path} does not have the declared extents",
                expected=f"{declared} in dimension {dimension}",
                found=f"shape {shape}",
                span=annotation.span,
            )
        agreed.append(declared)
    is_fixed = any(isinstance(extent, Number) for extent in annotation.extents)
    return tuple(agreed), is_closed or is_fixed


def as_declared(
    values: Array,
    annotation: TypeAnnotation | None,
    *,
    coordinates: Array | None = None,
    semiring: str = "plus_times",
) -> Array:
    """Return values of the declared type; those over truths stay as they are, since storing makes them such.

    ``coordinates`` are those of entries, rank × count; without them a value's are its place in the array.
    Raises TypeMismatchError that names the first value which the type does not hold.
    """
    if annotation is None or SEMIRINGS[semiring].has_truths or is_admitted(values.dtype, annotation):
        return values
    with np.errstate(invalid="ignore", over="ignore"):  # what is lost is found below
        converted = values.astype(DECLARED_TYPES[annotation.scalar][-1].dtype)
    kept = _kept(values, converted)
    if not kept.all():
        first = int(np.argmin(kept))
        place = np.unravel_index(first, values.shape) if coordinates is None else coordinates[:, first]
        key = f" at ({', '.join(map(str, place))})" if len(place) else ""
        raise TypeMismatchError(
            "the values are not of the declared type",
            expected=annotation.scalar,
            found=f"{values.dtype}, such as {values.flat[first]}{key}",
            span=annotation.span,
            hint=f"{values.dtype} holds all values",
        )
    return converted


def _kept(values: Array, converted: Array) -> Array:
    """Return which values are the same numbers as before they were converted; NaN stays NaN.

    Where a real has no integer, processors differ in what they make of it: 2^63 may become 2^63 - 1, which is
    2^63 again as a real. So the real is compared with the end of the integers, too.
    """
    with np.errstate(invalid="ignore"):
        back = converted.astype(values.dtype)
    kept = (back == values) | (back != back)
    match values.dtype.kind, converted.dtype.kind:
        case "f", "i":
            kept &= values < 2.0 ** (8 * converted.itemsize - 1)
        case "i", "f":
            kept &= converted < 2.0 ** (8 * values.itemsize - 1)
        case _:
            pass
    return kept


def is_admitted(dtype: np.dtype[Any], annotation: TypeAnnotation | None) -> bool:
    """Return whether data of a type is what is declared as it is."""
    return annotation is None or ScalarType.of(dtype) in DECLARED_TYPES[annotation.scalar]
