"""Formats that hold only some matrices, and matrices that fit them.

FITTING["band(lower=1, upper=2)"](dense) is ``dense`` without what the format cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from storel.arrays import Array


def _offsets(dense: Array) -> Array:
    rows, columns = np.indices(dense.shape)
    return np.subtract(columns, rows)


def _first_of_each_row(dense: Array) -> Array:
    return np.where(np.cumsum(dense != 0, axis=1) <= 2, dense, 0)


def _mirrored(dense: Array) -> Array:
    return np.tril(dense) + np.tril(dense, -1).T


def _antisymmetric(dense: Array) -> Array:
    return np.tril(dense, -1) - np.tril(dense, -1).T


def _blocks_on_the_diagonal(dense: Array) -> Array:
    rows, columns = np.indices(dense.shape)
    return np.where(rows // 2 == columns // 2, dense, 0)


def _constant_along_diagonals(dense: Array) -> Array:
    by_offset = dense.sum(axis=0).sum() + 3 * np.abs(_offsets(dense)) % 5
    return by_offset.astype(dense.dtype)


def _permuted(dense: Array) -> Array:
    return np.roll(np.eye(len(dense)), 2, axis=1).astype(dense.dtype)


def _one_of_each_row(dense: Array) -> Array:
    rows, columns = np.indices(dense.shape)
    return np.where(columns == rows * 5 % max(dense.shape[1], 1), 7, 0).astype(dense.dtype)


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
    "ragged": _anything,
    "skyline": np.tril,
    "skew": _antisymmetric,
    "tiled(r=2, c=3)": _anything,
    "morton": _anything,
    "block_diagonal(size=2)": _blocks_on_the_diagonal,
    "sell(c=2)": _anything,
    "toeplitz": _constant_along_diagonals,
    "permutation": _permuted,
    "one_hot": _one_of_each_row,
    "constant": lambda dense: np.full_like(dense, 7),
    "identity": lambda dense: np.where(_offsets(dense) == 0, 7, 0).astype(dense.dtype),
    "pattern": lambda dense: np.where(dense != 0, 7, 0).astype(dense.dtype),
    "rle": lambda dense: np.minimum(dense, 2),
    "bitmap": _anything,
    "mask": _anything,
    "hash(buckets=4, inner=2)": _anything,
    "hyb(width=1)": _anything,
    "bucketed_ell": _anything,
    "bcsr_csr(r=2, c=2)": _anything,
    "band_coo(lower=1, upper=0)": _anything,
}

SQUARE = {
    "upper_triangular",
    "lower_triangular",
    "symmetric",
    "skyline",
    "skew",
    "block_diagonal(size=2)",
    "permutation",
}
"""Those that hold only square matrices."""

ALIKE = {"skew", "toeplitz", "permutation", "one_hot", "constant", "identity", "pattern"}
"""Those in which entries depend on each other."""
