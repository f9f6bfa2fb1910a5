"""Whether two answers are the same, but for the rounding that another order of a sum brings."""

from __future__ import annotations

import numpy as np

from storel.bench.problem import Answer, entries_of
from storel.storage.coordinates import combine

ROUNDING = 1e-9
"""How far values may differ, beside the largest."""


def is_same(one: Answer, other: Answer) -> bool:
    """Return whether two answers are equal but for rounding; zeros may be stored or not.

    >>> is_same(np.array([0.0, 2.0]), np.array([1e-15, 2.0])), is_same(1.0, 1.1)
    (True, False)
    """
    shape: tuple[int, ...] = getattr(one, "shape", ())
    if shape != getattr(other, "shape", ()):
        return False
    if not shape or (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        scale = ROUNDING * float(np.abs(one).max(initial=0))
        return bool(np.allclose(one, other, rtol=0, atol=scale))
    if _is_matrix(one) and _is_matrix(other):  # which may be large
        largest = np.abs(one.data).max(initial=0)
        return bool((np.abs((one - other).data) <= ROUNDING * largest).all())
    left, right = entries_of(one), entries_of(other)
    coordinates = np.concatenate((left.coordinates, right.coordinates), axis=1)
    values = np.concatenate((left.values, -right.values))
    _, differences = combine(coordinates, values, shape)
    return bool((np.abs(differences) <= ROUNDING * np.abs(left.values).max(initial=0)).all())


def _is_matrix(answer: Answer) -> bool:
    return hasattr(answer, "tocsr")
