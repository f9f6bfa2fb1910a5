"""How many entries a product of sparse matrices has, and how many pairs of entries it takes.

A sketch is the number of entries in each row and in each column. For C = A B, with k the index summed over:

    pairs         = sum over k of columns(A)(k) * rows(B)(k)                   exact for stored matrices
    pairs at i, j = pairs * rows(A)(i) / |A| * columns(B)(j) / |B|             as if independent
    rows(C)(i)    = sum over j of 1 - exp(-pairs at i, j)

The counts of rows and columns, propagated from product to product, are those of Sommer, Boehm, Evfimievski,
Reinwald, Haas, "MNC: Structure-Exploiting Sparsity Estimation for Matrix Expressions", SIGMOD 2019; the
exponential says how many places are left empty where pairs fall at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.degrees import DegreeVector, KnownDegrees

Vector: TypeAlias = NDArray[Any]

MOST = 2**20
"""Rows or columns that are told apart."""

GROUPS = 64
"""Counts that differ are told apart by that many quantiles."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """The expected entries of each row, and of each column, of a matrix."""

    rows: Vector
    columns: Vector

    @property
    def entries(self) -> float:
        return float(self.rows.sum())

    def known(self, rows: KnownDegrees | None, columns: KnownDegrees | None) -> Sketch:
        """Return the sketch with the entries of rows, or of columns, as they were counted."""
        return Sketch(_counted(rows, self.rows), _counted(columns, self.columns))

    def pairs(self, other: Sketch) -> float:
        """Return how many pairs of entries the product with ``other`` multiplies."""
        common = min(len(self.columns), len(other.rows))
        return float(self.columns[:common] @ other.rows[:common])

    def times(self, other: Sketch) -> Sketch:
        """Return the sketch of the product."""
        share = self.pairs(other) / max(1.0, self.entries * other.entries)
        return Sketch(_occupied(self.rows, other.columns, share), _occupied(other.columns, self.rows, share))


def uniform(spans: tuple[float, ...], entries: float) -> Sketch:
    """Return the sketch of a matrix whose entries are spread evenly; one of no columns has but one."""
    rows, columns = (int(min(MOST, max(1.0, span))) for span in (spans[0], math.prod(spans[1:])))
    return Sketch(np.full(rows, entries / rows), np.full(columns, entries / columns))


def _counted(degrees: KnownDegrees | None, otherwise: Vector) -> Vector:
    return degrees.values.astype(np.float64) if isinstance(degrees, DegreeVector) else otherwise


def _occupied(lines: Vector, across: Vector, share: float) -> Vector:
    """Return how many of the lines ``across`` each of ``lines`` is expected to meet."""
    if not len(lines) or not len(across):
        return np.zeros(len(lines))
    limits = np.linspace(0, len(across), min(GROUPS, len(across)) + 1).astype(np.int64)
    sizes = np.diff(limits)
    means = np.add.reduceat(np.sort(across), limits[:-1]) / sizes
    degrees = np.unique(np.quantile(lines, np.linspace(0, 1, GROUPS)))
    met = -np.expm1(-share * np.outer(degrees, means)) @ sizes
    return np.interp(lines, degrees, met)
