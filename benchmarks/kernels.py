"""The kernels that are timed: operands, the script, and SciPy's best formulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import storel

Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""

SCRIPTS = Path(__file__).parents[1] / "experiments" / "paper_kernels"
WIDTH = 16


@dataclass(frozen=True)
class Timed:
    """A kernel with its operands, and the same by SciPy."""

    script: Path
    operands: dict[str, Any]
    scipy: Callable[[], Any]


def random_matrix(size: int, nonzeros: int, seed: int) -> Matrix:
    """Return a square matrix with uniformly drawn entries."""
    rng = np.random.default_rng(seed)
    places = (rng.integers(0, size, nonzeros), rng.integers(0, size, nonzeros))
    return sp.csr_array(sp.coo_array((rng.random(nonzeros), places), shape=(size, size)))


def spmv(size: int, nonzeros: int) -> Timed:
    matrix, x = random_matrix(size, nonzeros, 1), np.random.default_rng(0).random(size)
    return Timed(SCRIPTS / "spmv.sdql", {"A": matrix, "x": x}, lambda: matrix @ x)


def batax(size: int, nonzeros: int) -> Timed:
    matrix, x = random_matrix(size, nonzeros, 1), np.random.default_rng(0).random(size)
    operands = {"A": matrix, "x": x, "beta": 0.5}
    return Timed(SCRIPTS / "batax.sdql", operands, lambda: 0.5 * (matrix.T @ (matrix @ x)))


def summm(size: int, nonzeros: int) -> Timed:
    one, two = random_matrix(size, nonzeros, 1), random_matrix(size, nonzeros, 2)
    return Timed(SCRIPTS / "summm.sdql", {"A": one, "B": two}, lambda: (one @ two).sum())


def add(size: int, nonzeros: int) -> Timed:
    one, two = random_matrix(size, nonzeros, 1), random_matrix(size, nonzeros, 2)
    return Timed(SCRIPTS / "add2.sdql", {"A": one, "B": two}, lambda: one + two)


def mmm(size: int, nonzeros: int) -> Timed:
    one, two = random_matrix(size, nonzeros, 1), random_matrix(size, nonzeros, 2)
    return Timed(SCRIPTS / "mmm.sdql", {"A": one, "B": two}, lambda: one @ two)


def mttkrp(size: int, nonzeros: int) -> Timed:
    """Return the kernel on a tensor of 0.12 × 0.09 × 0.29 times ``size`` in each dimension."""
    rng = np.random.default_rng(1)
    shape = (size * 12 // 100, size * 9 // 100, size * 29 // 100)
    coordinates = np.array([rng.integers(0, extent, nonzeros) for extent in shape])
    return mttkrp_of(storel.tensor((coordinates, rng.random(nonzeros)), "csf", shape))


def mttkrp_of(tensor: storel.Tensor) -> Timed:
    """Return the kernel on ``tensor`` with dense factors.

    SciPy's best: the fibers as a sparse matrix times one factor, scaled by the rows of the other, summed by
    a sparse matrix of fibers by rows.
    """
    rng = np.random.default_rng(0)
    rows, columns, tubes = tensor.shape
    first, second = rng.random((columns, WIDTH)), rng.random((tubes, WIDTH))
    (i, k, m), values = tensor.to_coo()
    pairs, inverse = np.unique(i * columns + k, return_inverse=True)
    unfolded: Matrix = sp.csr_array((values, (inverse, m)), shape=(len(pairs), tubes))
    gather: Matrix = sp.csr_array(
        (np.ones(len(pairs)), (pairs // columns, np.arange(len(pairs)))), shape=(rows, len(pairs))
    )
    column = pairs % columns
    operands = {"B": tensor, "C": first, "D": second}
    return Timed(SCRIPTS / "mttkrp.sdql", operands, lambda: gather @ ((unfolded @ second) * first[column]))


KERNELS: dict[str, Callable[[int, int], Timed]] = {
    "spmv": spmv,
    "batax": batax,
    "summm": summm,
    "add": add,
    "mttkrp": mttkrp,
    "mmm": mmm,
}
