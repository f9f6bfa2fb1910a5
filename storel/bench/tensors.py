"""Kernels on sparse tensors of rank 3.

SciPy has no such tensors: its best is the matrix of the fibers, which are the pairs of the first two keys, by
the third key; sums over fibers of a row are a product with a matrix of ones. Both are made beforehand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from storel.arrays import Array
from storel.bench.data import Data
from storel.bench.problem import Einsum, Entries, Formulation, Gather, Matrix, Problem, by_rows
from storel.storage.coordinates import changes

SPARSE_WIDTH, SPARSE_DENSITY = 16, 0.25
TIMES_WIDTH = 16

PART = 2**18
"""The fibers that SciPy is given at a time where each takes a row of a matrix, which are many."""

MTTKRP = "CREATE TENSOR A AS sum(<(i,k,l), b> in B, <(k,j), c> in C, <(l,j), d> in D) { (i,j) -> b * c * d }"


@dataclass(frozen=True, slots=True, eq=False)
class Unfolded:
    """A tensor as a matrix: ``fibers`` are the distinct pairs of first keys, rows of ``matrix``."""

    matrix: Matrix
    fibers: Array
    gather: Matrix

    @classmethod
    def of(cls, tensor: Entries) -> Unfolded:
        rows, _, depth = tensor.shape
        *leading, last = tensor.coordinates
        first = np.flatnonzero(changes(leading, len(last)))
        fibers = tensor.coordinates[:2, first]
        matrix = by_rows((tensor.values, last, np.append(first, len(last))), (len(first), depth))
        gather = by_rows((np.ones(len(first)), (fibers[0], np.arange(len(first)))), (rows, len(first)))
        return cls(matrix, fibers, gather)

    def parts(self) -> Iterator[Unfolded]:
        """Yield the same in parts of some rows each."""
        rows = np.unique(
            np.searchsorted(self.gather.indptr, np.arange(0, max(1, self.fibers.shape[1]), PART))
        )
        for begin, end in itertools.pairwise((*rows, self.gather.shape[0])):
            part = slice(self.gather.indptr[begin], self.gather.indptr[end])
            yield Unfolded(self.matrix[part], self.fibers[:, part], self.gather[begin:end, part])


def mttkrp_sparse(data: Data) -> Problem:
    """A(i,j) = Σ B(i,k,l) C(k,j) D(l,j) with sparse factors."""
    tensor = data.tensor()
    unfolded = Unfolded.of(tensor)
    first, second = (_sparse_factor(extent) for extent in tensor.shape[1:])

    def scipy() -> Matrix:
        scaled = (unfolded.matrix @ second).multiply(first[unfolded.fibers[1]])
        result = unfolded.gather @ scaled
        result.sort_indices()
        return result

    return Problem(
        MTTKRP,
        {"B": tensor, "C": first, "D": second},
        flops=2 * len(tensor.values),
        scipy=Formulation(scipy),
        einsum=Einsum("ikl,kj,lj->ij", ("B", "C", "D")),
    )


def mttkrp_of_width(width: int) -> Callable[[Data], Problem]:
    """Return the same kernel with dense factors of so many columns."""

    def mttkrp(data: Data) -> Problem:
        """A(i,j) = Σ B(i,k,l) C(k,j) D(l,j) with dense factors."""
        tensor = data.tensor()
        unfolded = Unfolded.of(tensor)
        first, second = (_factor(extent, width) for extent in tensor.shape[1:])
        places, parts = unfolded.fibers[1], list(unfolded.parts())

        def scipy() -> Array:
            return np.concatenate(
                [part.gather @ ((part.matrix @ second) * first[part.fibers[1]]) for part in parts]
            )

        return Problem(
            MTTKRP,
            {"B": tensor, "C": first, "D": second},
            flops=2 * width * (len(tensor.values) + len(places)),
            scipy=Formulation(scipy),
            einsum=Einsum("ikl,kj,lj->ij", ("B", "C", "D")),
            gathers=(
                Gather(tensor.coordinates[2], tensor.shape[2], width),
                Gather(places, tensor.shape[1], width),
            ),
        )

    return mttkrp


def ttm(data: Data) -> Problem:
    """A(i,j,k) = Σ B(i,j,l) C(l,k) with a dense factor."""
    tensor = data.tensor()
    unfolded = Unfolded.of(tensor)
    factor = _factor(tensor.shape[2], TIMES_WIDTH)
    shape = (*tensor.shape[:2], TIMES_WIDTH)

    def answer(values: Array) -> Entries:
        places = np.repeat(unfolded.fibers, TIMES_WIDTH, axis=1)
        last = np.tile(np.arange(TIMES_WIDTH), len(values))
        return Entries(np.concatenate((places, last[np.newaxis])), values.ravel(), shape)

    return Problem(
        "CREATE TENSOR A AS sum(<(i,j,l), b> in B, <(l,k), c> in C) { (i,j,k) -> b * c }",
        {"B": tensor, "C": factor},
        flops=2 * TIMES_WIDTH * len(tensor.values),
        scipy=Formulation(lambda: unfolded.matrix @ factor, answer),
        einsum=Einsum("ijl,lk->ijk", ("B", "C")),
        gathers=(Gather(tensor.coordinates[2], tensor.shape[2], TIMES_WIDTH),),
    )


def ttv(data: Data) -> Problem:
    """A(i,j) = Σ B(i,j,l) x(l)."""
    tensor = data.tensor()
    unfolded = Unfolded.of(tensor)
    x = _factor(tensor.shape[2], 1).ravel()
    return Problem(
        "CREATE TENSOR A AS sum(<(i,j,l), b> in B, <l, v> in x) { (i,j) -> b * v }",
        {"B": tensor, "x": x},
        flops=2 * len(tensor.values),
        scipy=Formulation(
            lambda: unfolded.matrix @ x,
            lambda values: Entries(unfolded.fibers, values, tensor.shape[:2]),
        ),
        einsum=Einsum("ijl,l->ij", ("B", "x")),
        gathers=(Gather(tensor.coordinates[2], tensor.shape[2]),),
    )


TENSOR_KERNELS: dict[str, Callable[[Data], Problem]] = {
    "mttkrp-sparse": mttkrp_sparse,
    "mttkrp-16": mttkrp_of_width(16),
    "mttkrp-64": mttkrp_of_width(64),
    "ttm": ttm,
    "ttv": ttv,
}


def _factor(rows: int, width: int) -> Array:
    return (np.random.default_rng(0).random(rows * width) + 0.5).reshape(rows, width)


def _sparse_factor(rows: int) -> Matrix:
    rng = np.random.default_rng(rows)
    count = max(1, round(SPARSE_DENSITY * SPARSE_WIDTH * rows))
    places = (rng.integers(0, rows, count), rng.integers(0, SPARSE_WIDTH, count))
    return by_rows((rng.random(count) + 0.5, places), (rows, SPARSE_WIDTH))
