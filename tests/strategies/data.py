"""Nasty tensors: zeros, -0.0, NaN, inf, empty rows, dimensions of size 0 and 1, every scalar type.

    @given(arrays((3, 4)))                      a dense array of that shape
    @given(tensors(rank=2))                     one of random shape
    @given(coordinate_lists(rank=2))            duplicates, stored zeros, any order

``entries_of`` and ``densified`` go between dense arrays and the dictionaries of the interpreter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from storel.arrays import Array
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.syntax.signatures import (
    ArraySignature,
    Extent,
    ParameterSignature,
    Signature,
    SizeSignature,
    TensorSignature,
)

DTYPES = ("float64", "float32", "int64", "int32", "bool")
EXACT = (0.0, 0.0, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0)
"""Small multiples of 1/2: their sums are exact in any order."""

NASTY = (*EXACT, np.inf, -np.inf, np.nan, 1e300, 5e-324)
INTEGERS = (0, 0, 0, 1, -1, 2, 3, -7)


@st.composite
def arrays(
    draw: st.DrawFn, shape: tuple[int, ...], dtypes: tuple[str, ...] = DTYPES, *, finite: bool = False
) -> Array:
    """Draw a dense array; some of its rows are empty. ``finite`` values are small and sum exactly."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    values = _values(dtype, finite)
    count = int(np.prod(shape))
    drawn = draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))
    with np.errstate(over="ignore"):
        array = np.array(drawn, dtype=np.float64 if dtype.kind == "f" else dtype).reshape(shape).astype(dtype)
    if array.ndim and len(array):
        empty = draw(st.lists(st.integers(0, len(array) - 1), max_size=2))
        array[empty] = 0
    return array


@st.composite
def tensors(
    draw: st.DrawFn, rank: int, dtypes: tuple[str, ...] = DTYPES, *, finite: bool = False, limit: int = 4
) -> Array:
    """Draw a dense array of ``rank`` dimensions of at most ``limit``, of sizes 0 and 1 too."""
    shape = tuple(draw(st.integers(0, limit)) for _ in range(rank))
    return draw(arrays(shape, dtypes, finite=finite))


@dataclass(frozen=True)
class CoordinateList:
    """Entries as files have them: ``coordinates`` is rank × n, with repetitions, unsorted."""

    shape: tuple[int, ...]
    coordinates: Array
    values: Array

    def dense(self) -> Array:
        """Return the sum of the entries."""
        total = np.zeros(self.shape, dtype=self.values.dtype)
        np.add.at(total, tuple(self.coordinates), self.values)
        return total


@st.composite
def coordinate_lists(draw: st.DrawFn, rank: int, limit: int = 4, *, finite: bool = True) -> CoordinateList:
    """Draw the entries of a tensor; zeros are stored and coordinates repeat."""
    shape = tuple(draw(st.integers(0, limit)) for _ in range(rank))
    count = draw(st.integers(0, 8)) if all(shape) else 0
    columns = [
        draw(st.lists(st.integers(0, max(size - 1, 0)), min_size=count, max_size=count)) for size in shape
    ]
    drawn = draw(
        st.lists(st.sampled_from(_values(np.dtype("float64"), finite)), min_size=count, max_size=count)
    )
    coordinates = np.array(columns, dtype=np.int64).reshape(rank, count)
    return CoordinateList(shape, coordinates, np.array(drawn, dtype=np.float64))


def _values(dtype: np.dtype[Any], finite: bool) -> tuple[Any, ...]:
    if dtype.kind == "b":
        return (False, False, True)
    return INTEGERS if dtype.kind == "i" else EXACT if finite else NASTY


def entries_of(array: Array, semiring: str = "plus_times") -> Any:
    """Return a dense array as nested dictionaries; what is the semiring's zero is no entry.

    A 0-d array is its scalar.
    """
    if array.ndim == 0:
        return array.item()
    found = {key: entries_of(array[key, ...], semiring) for key in range(len(array))}
    zero = SEMIRINGS[semiring].zero
    return {key: value for key, value in found.items() if (value if array.ndim > 1 else value != zero)}


def densified(value: Any, shape: tuple[int, ...], semiring: str = "plus_times", dtype: Any = None) -> Array:
    """Return a scalar or nested dictionaries as a dense array; missing entries are the semiring's zero."""
    dense = np.full(shape, SEMIRINGS[semiring].zero, dtype=dtype or np.float64)
    _fill(dense, value)
    return dense


def _fill(dense: Array, value: Any) -> None:
    if not isinstance(value, dict):
        dense[...] = value
        return
    for key, inner in value.items():
        _fill(dense[key, ...], inner)


@dataclass(frozen=True)
class Tensor:
    """An input that is a dense array read as a tensor over ``semiring``, not as a raw array."""

    dense: Array
    semiring: str = "plus_times"


def signature_of(value: Any) -> Signature:
    """Return the signature of an input: a ``Tensor``, a raw array, an ``int`` (a size), or a NumPy scalar."""
    if isinstance(value, Tensor):
        extents = tuple(Extent(size) for size in value.dense.shape)
        return TensorSignature(ScalarType(value.dense.dtype.name), extents, value.semiring)
    if isinstance(value, int):
        return SizeSignature(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return ParameterSignature(ScalarType(array.dtype.name))
    if array.dtype.kind == "i" and len(array):
        return ArraySignature(ScalarType(array.dtype.name), len(array), int(array.min()), int(array.max()))
    return ArraySignature(ScalarType(array.dtype.name), len(array))


def value_of(value: Any) -> Any:
    """Return an input as the interpreter takes it."""
    if isinstance(value, Tensor):
        return entries_of(value.dense, value.semiring)
    return value.item() if isinstance(value, np.generic) else value
