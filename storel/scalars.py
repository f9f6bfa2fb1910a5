"""The scalar types of tensors, arrays and loop variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np


class ScalarType(Enum):
    """A machine scalar; the order of declaration is the order of promotion.

    >>> ScalarType.INT64.join(ScalarType.FLOAT32).name
    'FLOAT32'
    """

    BOOL = "bool"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"

    def __init__(self, name: str) -> None:
        self.dtype: np.dtype[np.generic] = np.dtype(name)
        self.itemsize = self.dtype.itemsize

    @property
    def is_real(self) -> bool:
        return self in (ScalarType.FLOAT32, ScalarType.FLOAT64)

    @property
    def is_integer(self) -> bool:
        return self in (ScalarType.INT32, ScalarType.INT64)

    @property
    def first(self) -> bool | int | float:
        """The number that all others are at least."""
        if self.is_integer:
            return -(1 << (8 * self.itemsize - 1))
        return -math.inf if self.is_real else False

    @property
    def last(self) -> bool | int | float:
        """The number that no other exceeds."""
        if self.is_integer:
            return (1 << (8 * self.itemsize - 1)) - 1
        return math.inf if self.is_real else True

    def join(self, other: ScalarType) -> ScalarType:
        """Return the type that arithmetic between the two yields (``docs/language.md``, on types)."""
        return self if _PLACES[self] >= _PLACES[other] else other

    @staticmethod
    def of(dtype: np.dtype[np.generic]) -> ScalarType | None:
        """Return the scalar type of a NumPy dtype, or None if storel has no such type."""
        dtype = np.dtype(dtype)
        return _BY_FORM.get((dtype.kind, dtype.itemsize))


def index_type(extents: Sequence[int]) -> ScalarType:
    """Return the smaller index type that holds every key below the extents."""
    return ScalarType.INT32 if all(extent < 2**31 for extent in extents) else ScalarType.INT64


_BY_FORM = {(each.dtype.kind, each.itemsize): each for each in ScalarType}
_PLACES = {each: place for place, each in enumerate(ScalarType)}
