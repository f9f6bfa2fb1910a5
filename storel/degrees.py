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
from functools import cached_property
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

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


@dataclass(frozen=True, eq=False)
class DegreeVector:
    """A vector of degrees, one for each key, counted when it is first asked for."""

    count: Callable[[], Vector]
    _joins: WeakKeyDictionary[DegreeVector, float] = field(
        default_factory=WeakKeyDictionary["DegreeVector", float], repr=False
    )
    _products: _Cache = field(default_factory=WeakKeyDictionary["DegreeVector", "DegreeVector"], repr=False)

    @cached_property
    def values(self) -> Vector:
        return self.count()

    @cached_property
    def summary(self) -> Degrees:
        """The norms and the histogram."""
        return summarized(self.values, len(self.values))

    def times(self, other: DegreeVector) -> DegreeVector:
        """Return the number of pairs of entries for each key."""
        if other not in self._products:
            common = min(len(self.values), len(other.values))
            self._products[other] = _counted(self.values[:common].astype(np.float64) * other.values[:common])
        return self._products[other]

    def join(self, other: DegreeVector) -> float:
        """Return the number of pairs of entries whose keys agree."""
        if other not in self._joins:
            common = min(len(self.values), len(other.values))
            one, two = (vector.values[:common].astype(np.float64) for vector in (self, other))
            self._joins[other] = float(one @ two)
        return self._joins[other]


_Cache: TypeAlias = WeakKeyDictionary[DegreeVector, DegreeVector]


@dataclass(frozen=True, eq=False)
class Occurrences(DegreeVector):
    """How often each integer is an element of ``elements``."""

    elements: Vector = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    _positions: _Cache = field(default_factory=WeakKeyDictionary["DegreeVector", "DegreeVector"], repr=False)
    _elements: _Cache = field(default_factory=WeakKeyDictionary["DegreeVector", "DegreeVector"], repr=False)

    @staticmethod
    def of(elements: Vector, extent: int) -> Occurrences:
        """Return the occurrences in ``elements``, which lie in 0:extent."""
        return Occurrences(lambda: np.bincount(elements, minlength=extent), elements=elements)

    def positions(self, drawn: DegreeVector) -> DegreeVector:
        """Return how often each position is met by a search for integers of the degrees ``drawn``."""
        if drawn not in self._positions:
            padded = np.zeros(max(len(self.values), len(drawn.values)), dtype=drawn.values.dtype)
            padded[: len(drawn.values)] = drawn.values
            self._positions[drawn] = _counted(padded[self.elements])
        return self._positions[drawn]

    def elements_at(self, positions: DegreeVector) -> DegreeVector:
        """Return how often each integer is met where positions are visited so often."""
        if positions not in self._elements:
            weights = positions.values
            self._elements[positions] = _counted(np.bincount(self.elements[: len(weights)], weights=weights))
        return self._elements[positions]


def _counted(values: Vector) -> DegreeVector:
    """Return a vector that refers to nothing it was made of, so that caches do not keep that alive."""
    return DegreeVector(lambda: values)


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
