"""What names outside an expression stand for, without their data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from storel.scalars import ScalarType

SCALAR_TYPES: dict[str, ScalarType] = {
    "real": ScalarType.FLOAT64,
    "int": ScalarType.INT64,
    **{scalar.value: scalar for scalar in ScalarType},
}
"""The scalar types by the names that a text gives them."""


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a dimension: closed (declared, or fixed by the data), or open (grows to what it meets)."""

    size: int
    is_closed: bool = True


@dataclass(frozen=True, slots=True)
class TensorSignature:
    """A tensor that an expression may name; a scalar one has no extents."""

    type: ScalarType
    extents: tuple[Extent, ...]
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class ArraySignature:
    """A raw array; ``low`` and ``high`` bound its integer elements inclusively where that is known."""

    type: ScalarType
    length: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class ParameterSignature:
    """A scalar that is known when the program runs."""

    type: ScalarType


@dataclass(frozen=True, slots=True)
class SizeSignature:
    """A size name with its value."""

    value: int


Signature: TypeAlias = TensorSignature | ArraySignature | ParameterSignature | SizeSignature
Signatures: TypeAlias = Mapping[str, Signature]
