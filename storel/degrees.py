"""Degrees: how many entries each key has, and how many pairs a join on such keys makes.

    join(a, b) = sum over k of a(k) · b(k)

is exact where both vectors are at hand. Of vectors of which only the norms are known, it is estimated as
if they were independent, |a|₁ · |b|₁ / n, and bounded by Hölder's inequalities

    a · b ≤ min(|a|₁ · |b|∞, |a|₂ · |b|₂, |a|∞ · |b|₁)

(the norms of degrees as bounds on joins: Abo Khamis, Nakos, Olteanu, Suciu, "Join Size Bounds using
Lp-Norms on Degree Sequences", PODS 2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeAlias
from weakref import ReferenceType, WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[Any]

SPARSE = 64
"""Keys per entry beyond which degrees are counted by sorting, not in a vector over all keys."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many there may be: what is expected, and what is certain not to be exceeded."""

    estimate: float
    bound: float


@dataclass(frozen=True, slots=True)
class Degrees:
    """What is known of a vector of degrees over ``extent`` keys.

    ``nonempty`` keys have entries, ``total`` in all (ℓ1); ``root_square`` is the ℓ2 norm, ``largest`` the
    ℓ∞ norm. ``histogram`` counts the keys whose degree is in [2^b, 2^(b+1)), for b = 0, 1, …
    """

    extent: int
    nonempty: int
    total: float
    root_square: float
    largest: float
    histogram: tuple[int, ...] = ()

    @property
    def mean(self) -> float:
        """The average degree over all keys."""
        return self.total / max(1, self.extent)


class _Derived:
    """Vectors made of this and another one each, counted when they are first asked for, and then kept.

    What is counted lives as long as the other vector does. What is not refers to it, so that it lives only
    as long as somebody uses it.
    """

    def __init__(self) -> None:
        self._vectors: WeakKeyDictionary[DegreeVector, ReferenceType[DegreeVector]] = WeakKeyDictionary()
        self._counted: WeakKeyDictionary[DegreeVector, Vector] = WeakKeyDictionary()

    def vector(self, other: DegreeVector, count: Callable[[], Vector]) -> DegreeVector:
        """Return what is made of ``other`` by ``count``."""
        known = self._vectors.get(other)
        vector = None if known is None else known()
        if vector is None:
            vector = DegreeVector(partial(self._values, other, count))
            self._vectors[other] = ReferenceType(vector)
        return vector

    def _values(self, other: DegreeVector, count: Callable[[], Vector]) -> Vector:
        if other not in self._counted:
            self._counted[other] = count()
        return self._counted[other]


@dataclass(frozen=True, eq=False)
class DegreeVector:
    """A vector of degrees, one for each key, counted when it is first asked for."""

    count: Callable[[], Vector]
    _joins: WeakKeyDictionary[DegreeVector, float] = field(
        default_factory=WeakKeyDictionary["DegreeVector", float], repr=False
    )
    _products: _Derived = field(default_factory=_Derived, repr=False)

    @cached_property
    def values(self) -> Vector:
        return self.count()

    @cached_property
    def summary(self) -> Degrees:
        """The norms and the histogram."""
        return self._summarized()

    @cached_property
    def repetition(self) -> float:
        """The share of keys that have as many entries as the key before."""
        return float(np.mean(self.values[1:] == self.values[:-1])) if len(self.values) > 1 else 1.0

    def _summarized(self) -> Degrees:
        return summarized(self.values, len(self.values))

    def times(self, other: DegreeVector) -> DegreeVector:
        """Return the number of pairs of entries for each key."""

        def product() -> Vector:
            common = min(len(self.values), len(other.values))
            return self.values[:common].astype(np.float64) * other.values[:common]

        return self._products.vector(other, product)

    def join(self, other: DegreeVector) -> float:
        """Return the number of pairs of entries whose keys agree."""
        if other not in self._joins:
            common = min(len(self.values), len(other.values))
            one, two = (vector.values[:common].astype(np.float64) for vector in (self, other))
            self._joins[other] = float(one @ two)
        return self._joins[other]


@dataclass(frozen=True, eq=False)
class Occurrences(DegreeVector):
    """How often each integer of 0:``extent`` is an element of ``elements``, which may be ascending."""

    elements: Vector = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    extent: int = 0
    is_ascending: bool = False
    _positions: _Derived = field(default_factory=_Derived, repr=False)
    _elements: _Derived = field(default_factory=_Derived, repr=False)

    @staticmethod
    def of(elements: Vector, extent: int, *, is_ascending: bool = False) -> Occurrences:
        """Return the occurrences in ``elements``, which lie in 0:extent."""
        counted = partial(np.bincount, elements, minlength=extent)
        return Occurrences(counted, elements=elements, extent=extent, is_ascending=is_ascending)

    def _summarized(self) -> Degrees:
        """Return the norms; equal elements that follow each other are told without a vector over all keys."""
        if not self.is_ascending or len(self.elements) == 0:
            return super()._summarized()
        begins = np.flatnonzero(self.elements[1:] != self.elements[:-1]) + 1
        return summarized(np.diff(begins, prepend=0, append=len(self.elements)), self.extent)

    def positions(self, drawn: DegreeVector) -> DegreeVector:
        """Return how often each position is met by a search for integers of the degrees ``drawn``."""

        def found() -> Vector:
            padded = np.zeros(max(len(self.values), len(drawn.values)), dtype=drawn.values.dtype)
            padded[: len(drawn.values)] = drawn.values
            return padded[self.elements]

        return self._positions.vector(drawn, found)

    def elements_at(self, positions: DegreeVector) -> DegreeVector:
        """Return how often each integer is met where positions are visited so often."""

        def met() -> Vector:
            weights = positions.values
            return np.bincount(self.elements[: len(weights)], weights=weights)

        return self._elements.vector(positions, met)


KnownDegrees: TypeAlias = DegreeVector | Degrees


def summary_of(degrees: KnownDegrees) -> Degrees:
    """Return the norms of degrees, however they are known."""
    return degrees if isinstance(degrees, Degrees) else degrees.summary


def join(one: KnownDegrees, other: KnownDegrees) -> Size:
    """Return how many pairs of entries agree in their keys."""
    if isinstance(one, DegreeVector) and isinstance(other, DegreeVector):
        exact = one.join(other)
        return Size(exact, exact)
    a, b = summary_of(one), summary_of(other)
    bound = min(a.total * b.largest, a.root_square * b.root_square, a.largest * b.total)
    return Size(min(bound, a.total * b.total / max(1, a.extent, b.extent)), bound)


def is_countable(extent: int, entries: int) -> bool:
    """Return whether a vector over all keys is not far larger than the data itself."""
    return extent <= SPARSE * (entries + 1024)


def summarized(degrees: Vector, extent: int) -> Degrees:
    """Return the norms of the degrees of those keys that have entries, and maybe of others."""
    if len(degrees) == 0:
        return Degrees(extent, 0, 0.0, 0.0, 0.0)
    # Few degrees differ: the norms and the histogram are those of how often each one occurs. Those that
    # were derived from others may be fractions.
    largest = float(degrees.max())
    if degrees.dtype.kind != "f" and largest <= SPARSE * len(degrees):
        frequencies = np.bincount(degrees)
        keys = np.flatnonzero(frequencies[1:]) + 1
        frequencies = frequencies[keys]
    else:
        keys = degrees[degrees > 0]
        frequencies = np.ones(len(keys), dtype=np.int64)
    bits = np.maximum(np.frexp(keys.astype(np.float64))[1] - 1, 0)
    histogram = np.bincount(bits, weights=frequencies) if len(keys) else np.zeros(0)
    squares = float((keys.astype(np.float64) ** 2) @ frequencies)
    return Degrees(
        extent,
        int(frequencies.sum()),
        float(keys @ frequencies),
        math.sqrt(squares),
        largest,
        tuple(int(number) for number in histogram),
    )


def uniform(extent: int, nonempty: int, total: float) -> Degrees:
    """Return degrees of which only the sum is known: ``nonempty`` keys share it alike."""
    each = total / max(1, nonempty)
    return Degrees(extent, nonempty, total, math.sqrt(nonempty) * each, each)
