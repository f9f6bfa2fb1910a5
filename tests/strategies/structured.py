"""Formats that hold only some matrices, and matrices that fit them.

FITTING["band(lower=1, upper=2)"](dense) is ``dense`` without what the format cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _offsets(dense: Array) -> Array:
    rows, columns = np.indices(dense.shape)
    return np.subtract(columns, rows)


def _first_of_each_row(dense: Array) -> Array:
    return np.where(np.cumsum(dense != 0, axis=1) <= 2, dense, 0)


def _mirrored(dense: Array) -> Array:
    return np.tril(dense) + np.tril(dense, -1).T


def _anything(dense: Array) -> Array:
    return dense


FITTING: dict[str, Callable[[Array], Array]] = {
    "band(lower=1, upper=2)": lambda dense: np.where(
        (_offsets(dense) >= -1) & (_offsets(dense) <= 2), dense, 0
    ),
    "diagonal": lambda dense: np.where(_offsets(dense) == 0, dense, 0),
    "tridiagonal": lambda dense: np.where(abs(_offsets(dense)) <= 1, dense, 0),
    "upper_triangular": np.triu,
    "lower_triangular": np.tril,
    "symmetric": _mirrored,
    "dia": lambda dense: np.where(np.isin(_offsets(dense), [-2, 0, 3]), dense, 0),
    "ell(width=2)": _first_of_each_row,
    "bcsr(r=2, c=3)": _anything,
    "bcsr(r=1, c=4)": _anything,
}

SQUARE = {"upper_triangular", "lower_triangular", "symmetric"}
"""Those that hold only square matrices."""
