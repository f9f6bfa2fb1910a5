"""Cost constants from measured times.

An estimate E is homogeneous in the constants c, and linear but for a few minima: E = Σ c_k ∂E/∂c_k. The
derivatives of each term are taken at the shipped constants; the fit minimizes

    Σ over terms (log E - log time)² + doubt² · Σ over constants (log c - log shipped)²

so that twice too much weighs like twice too little, constants are positive, and one that no term depends
on stays as shipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from storel.calculus.nodes import Term
from storel.optimizer.cost.constants import CONSTANTS, Constants
from storel.optimizer.cost.model import Nanoseconds
from storel.optimizer.cost.whole import estimate
from storel.symbols import Symbols

Vector = NDArray[np.float64]

DOUBT = 1.0
"""How much the shipped constants are relied on: 0 not at all. Times do not tell apart what overlaps."""

LARGEST_CHANGE = 8.0
"""The factor that a fitted constant is within of the shipped one."""

STEP = 1e-3
"""The relative change of a constant that tells its share."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A term that was run, and the nanoseconds that it took."""

    term: Term
    symbols: Symbols
    nanoseconds: float


def fit(measured: Sequence[Measured], shipped: Constants = CONSTANTS, doubt: float = DOUBT) -> Constants:
    """Return the constants under which estimates are nearest to the measured times.

    ``doubt`` is how much it takes to move them from the shipped ones.
    """
    base = _vector(shipped)
    wholes = [estimate(each.term, each.symbols, Nanoseconds(shipped)).nanoseconds for each in measured]
    shares = np.array([_shares(*pair, shipped) for pair in zip(measured, wholes, strict=True)])
    rest = np.array(wholes) - shares.sum(axis=1)
    times = np.log([each.nanoseconds for each in measured])

    def errors(change: Vector) -> Vector:
        return np.concatenate((np.log(shares @ np.exp(change) + rest) - times, doubt * change))

    limit = np.log(LARGEST_CHANGE)
    found = least_squares(errors, np.zeros(len(base)), bounds=(-limit, limit))
    return shipped.fitted((base * np.exp(found.x)).tolist())


def _shares(measured: Measured, whole: float, shipped: Constants) -> list[float]:
    """Return the part of the estimate of a term, ``whole``, that each constant has, in nanoseconds."""
    base = _vector(shipped)
    found: list[float] = []
    for number in range(len(base)):
        more = base.copy()
        more[number] *= 1 + STEP
        dearer = Nanoseconds(shipped.fitted(more.tolist()))
        change = estimate(measured.term, measured.symbols, dearer).nanoseconds - whole
        found.append(max(0.0, change) / STEP)
    return found


def _vector(constants: Constants) -> Vector:
    return np.array([value for _, value in constants.listed()])
