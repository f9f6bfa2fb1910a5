"""What the compiler knows about the names that a term refers to but does not bind.

Everything declared about a format's arrays, and the statistics of the data at hand, reaches the
calculus, the optimizer and the plan through these facts. They are promises: whoever builds a
``Symbols`` table has verified them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, TypeAlias

from numpy.typing import NDArray

from storel.degrees import KnownDegrees
from storel.scalars import ScalarType

_AT_ONCE = 2**18
"""How many elements are copied in one go."""


@dataclass(frozen=True, eq=False)
class Elements:
    """The integers in an array, and a number that tells them from others."""

    vector: NDArray[Any]

    @cached_property
    def checksum(self) -> int:
        steps = range(0, len(self.vector), _AT_ONCE)
        return reduce(
            lambda before, at: zlib.crc32(self.vector[at : at + _AT_ONCE].tobytes(), before), steps, 0
        )


@dataclass(frozen=True, slots=True)
class ArraySymbol:
    """A physical array.

    ``low`` and ``high`` bound its integer elements inclusively, padding included. ``ascending`` (≤) and
    ``increasing`` (<) speak of the whole array; ``within`` names the array of segment boundaries
    inside whose segments the elements are increasing. ``group`` names the arrays, this one first or
    later, whose tuples are lexicographically increasing over the positions (so: unique), e.g.
    ``("A_row", "A_col")``; ``unique`` says that no element occurs twice. ``first`` and ``last`` are the
    values at both ends where declared. ``distinct`` estimates the number of distinct elements,
    ``nonzeros`` of those that are not zero (values only), ``finite`` says that no element is inf or NaN.
    That none is zero, ``nonzero``, is said of sparse operands only, and whoever relies on it must see to it
    in each call.
    ``holds_indices`` says that they are keys, positions or sizes, which are int64 in a program, however few
    bits they are stored in.

    ``elements`` are the integers themselves,
    ``occurrences`` are how often each integer is an element, ``segments`` how long the segment is that
    begins at each position; these are for estimates only.
    """

    name: str
    type: ScalarType
    length: int
    low: int | None = None
    high: int | None = None
    ascending: bool = False
    increasing: bool = False
    unique: bool = False
    within: str | None = None
    group: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None
    distinct: int | None = None
    nonzeros: int | None = None
    nonzero: bool = False
    finite: bool = False
    holds_indices: bool = False
    elements: Elements | None = field(default=None, compare=False, repr=False)
    occurrences: KnownDegrees | None = field(default=None, compare=False, repr=False)
    segments: KnownDegrees | None = field(default=None, compare=False, repr=False)

    @property
    def element_type(self) -> ScalarType:
        """The type that elements are of in a program, whatever ``type`` they are stored in."""
        return ScalarType.INT64 if self.holds_indices else self.type

    @property
    def holds_boundaries(self) -> bool:
        """Whether the elements are where segments begin and end."""
        return self.ascending and self.first is not None

    @property
    def never_descends(self) -> bool:
        """Whether no element is less than one before it."""
        return self.increasing or self.ascending or self.group[:1] == (self.name,)


@dataclass(frozen=True, slots=True)
class SizeSymbol:
    """A non-negative integer known when compiling: an extent, a length, a format's parameter."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class ParameterSymbol:
    """A scalar whose value is only known when running: a ``PARAMETER`` or a tensor of rank 0.

    Whether it is finite is known: a kernel is compiled anew for one that is not. That it is ``nonzero`` is a
    fact like those of data: whoever relies on it must see to it in each call.
    """

    name: str
    type: ScalarType
    finite: bool = True
    nonzero: bool = False


@dataclass(frozen=True, slots=True)
class EndSymbol:
    """An end of the part of a loop that one thread runs: an integer from ``low`` to ``high``, inclusively."""

    name: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class MappingSymbol:
    """The mapping of a stored tensor, a closed term of the calculus, whose keys are within its ``extents``.

    Padding may be beyond these: what is there is zero. ``makes_keys_once`` says that no entry is made twice.
    """

    name: str
    term: object
    extents: tuple[int, ...] = ()
    makes_keys_once: bool = True


Fact: TypeAlias = ArraySymbol | SizeSymbol | ParameterSymbol | EndSymbol | MappingSymbol
Symbols: TypeAlias = Mapping[str, Fact]
