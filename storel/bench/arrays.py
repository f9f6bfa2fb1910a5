"""Kernels on dense operands, and the contractions that a table lists."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from storel.api import tensor
from storel.arrays import Array
from storel.bench.data import Data
from storel.bench.matrices import GRADIENT
from storel.bench.problem import Einsum, Formulation, Problem
from storel.errors import DataError
from storel.notation import einsum_source

WINDOW = 3
FEATURES = 64

MEBIBYTE = 2**20
MULTIPLE = 4
"""What extents of contractions are multiples of."""

CONTRACTION = "einsum_row_major"
"""The column of a table of contractions that is read."""


def gradient_dense(data: Data) -> Problem:
    """X'(X w - y), the gradient of a least-squares loss, over dense observations of 64 features."""
    rows = max(1, data.nonzeros // FEATURES)
    observations = _table(rows, FEATURES)
    w, y = _table(FEATURES, 1).ravel(), _table(rows, 1).ravel()
    return Problem(
        GRADIENT,
        {"X": observations, "w": w, "y": y},
        flops=4 * observations.size,
        numpy=Formulation(lambda: observations.T @ (observations @ w - y)),
    )


def triangular(data: Data) -> Problem:
    """U x, with an upper triangular matrix that is stored row by row without its zeros."""
    from scipy.linalg import blas  # here, since it takes 0.1 s

    side = math.isqrt(2 * data.nonzeros)
    full = np.triu(_table(side, side))
    packed, x = full[np.triu_indices(side)], _table(side, 1).ravel()
    multiply = cast(Any, blas.get_blas_funcs("tpmv", (packed, x)))
    return Problem(
        "CREATE TENSOR y AS sum(<(i,j), a> in A, <j, v> in x) { i -> a * v }",
        {"A": tensor(full, "upper_triangular"), "x": x},
        flops=2 * len(packed),
        # BLAS packs by columns: the rows of an upper triangle are the columns of its lower transpose.
        scipy=Formulation(lambda: multiply(side, packed, x, lower=1, trans=1)),
        numpy=Formulation(lambda: full @ x),
    )


def convolution(data: Data) -> Problem:
    """The sums of 3 × 3 neighbours, weighted, of an image."""
    from scipy.ndimage import correlate  # here, since it takes 0.1 s

    side = max(WINDOW, math.isqrt(data.nonzeros))
    image, weights = _table(side, side), _table(WINDOW, WINDOW)
    extent = side - WINDOW + 1
    correlated: Callable[..., Any] = correlate

    def shifted() -> Array:
        result = np.zeros((extent, extent))
        for a in range(WINDOW):
            for b in range(WINDOW):
                result += weights[a, b] * image[a : a + extent, b : b + extent]
        return result

    return Problem(
        f"CREATE TENSOR Y AS sum(<i, _> in 0:{extent}, <j, _> in 0:{extent}, <(a,b), w> in K) "
        "{ (i,j) -> w * X(i + a, j + b) }",
        {"X": image, "K": weights},
        flops=2 * WINDOW**2 * extent**2,
        scipy=Formulation(lambda: correlated(image, weights)[1:-1, 1:-1]),
        numpy=Formulation(shifted),
    )


def product(data: Data) -> Problem:
    """A B of dense square matrices."""
    side = max(1, math.isqrt(data.nonzeros))
    one, two = _table(side, side), _table(side, side)
    return Problem(
        "CREATE TENSOR C AS sum(<(i,k), a> in A, <(k,j), b> in B) { (i,j) -> a * b }",
        {"A": one, "B": two},
        flops=2 * side**3,
        numpy=Formulation(lambda: one @ two),
        einsum=Einsum("ik,kj->ij", ("A", "B")),
    )


DENSE_KERNELS: dict[str, Callable[[Data], Problem]] = {
    "gradient-dense": gradient_dense,
    "triangular-mv": triangular,
    "convolution": convolution,
    "product": product,
}


def contraction(subscripts: str, mebibytes: float) -> Problem:
    """Return a contraction of two tensors, of which the largest of the three has about so many MiB."""
    names = ("operand0", "operand1")
    einsum = Einsum(subscripts, names)
    extent = _extent(max(map(len, (*einsum.terms, einsum.output))), mebibytes)
    operands = {
        name: _table(extent ** len(term), 1).reshape((extent,) * len(term))
        for name, term in zip(names, einsum.terms, strict=True)
    }
    one, two = operands.values()
    return Problem(
        einsum_source(subscripts, [one.ndim, two.ndim]),
        operands,
        flops=2 * extent ** len(set("".join(einsum.terms))),
        numpy=Formulation(lambda: np.ascontiguousarray(np.einsum(subscripts, one, two, optimize=True))),
        einsum=einsum,
    )


def _extent(rank: int, mebibytes: float) -> int:
    """Return the extent with which a tensor has about so many MiB.

    >>> _extent(2, 8.0), _extent(4, 8.0)
    (1024, 32)
    """
    places = mebibytes * MEBIBYTE / 8
    return max(MULTIPLE, MULTIPLE * round(places ** (1 / rank) / MULTIPLE))


def read_contractions(path: Path) -> list[str]:
    """Return the contractions in a table's column ``einsum_row_major``; raises DataError if there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no table: {error}") from error
    found = [row.get(CONTRACTION) for row in rows]
    if not found or None in found:
        raise DataError(f"{path} lists no contractions", expected=f"a column {CONTRACTION}")
    return [text for text in found if text is not None]


def _table(rows: int, columns: int) -> Array:
    return (np.random.default_rng(rows).random(rows * columns) + 0.5).reshape(rows, columns)
