"""Kernels on sparse matrices, and how SciPy says them best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.bench.data import Data
from storel.bench.problem import Einsum, Formulation, Gather, Matrix, Problem

SAMPLED_WIDTH = 32
FACTOR_WIDTH = 64


def spmv(data: Data) -> Problem:
    """y = A x."""
    matrix = data.matrix()
    x = _vector(matrix.shape[1])
    return Problem(
        "CREATE TENSOR y AS sum(<(i,j), a> in A, <j, v> in x) { i -> a * v }",
        {"A": matrix, "x": x},
        flops=2 * matrix.nnz,
        scipy=Formulation(lambda: matrix @ x),
        einsum=Einsum("ij,j->i", ("A", "x")),
        gathers=(_columns(matrix),),
    )


def batax(data: Data) -> Problem:
    """y = β A'(A x)."""
    matrix, beta = data.matrix(), 0.5
    x = _vector(matrix.shape[1])
    return Problem(
        "PARAMETER beta: real = 0.5\n"
        "CREATE TENSOR y AS sum(<(i,j), a> in A, <(i,k), b> in A, <k, v> in x) { j -> beta * a * b * v }",
        {"beta": beta, "A": matrix, "x": x},
        flops=4 * matrix.nnz,
        scipy=Formulation(lambda: beta * (matrix.T @ (matrix @ x))),
        einsum=Einsum(",ij,ik,k->j", ("beta", "A", "A", "x")),
        gathers=(_columns(matrix), _columns(matrix)),
    )


def gradient(data: Data) -> Problem:
    """X'(X w - y), the gradient of a least-squares loss, over sparse observations."""
    matrix = data.matrix()
    w, y = _vector(matrix.shape[1]), _vector(matrix.shape[0])
    return Problem(
        GRADIENT,
        {"X": matrix, "w": w, "y": y},
        flops=4 * matrix.nnz,
        scipy=Formulation(lambda: matrix.T @ (matrix @ w - y)),
        gathers=(_columns(matrix), _columns(matrix)),
    )


GRADIENT = (
    "CREATE TENSOR g AS let r = sum(<(i,k), v> in X, <k, b> in w) { i -> v * b } in "
    "sum(<(i,j), u> in X) { j -> u * (r(i) - y(i)) }"
)


def mmm(data: Data) -> Problem:
    """C = A B, sparse by sparse, with sorted rows."""
    one, two = _pair(data)
    products = int(np.diff(one.tocsc().indptr) @ np.diff(two.indptr))
    return Problem(
        "CREATE TENSOR C STORED AS csr AS sum(<(i,k), a> in A, <(k,j), b> in B) { (i,j) -> a * b }",
        {"A": one, "B": two},
        flops=2 * products,
        scipy=Formulation(lambda: with_sorted_rows(one @ two)),
        einsum=Einsum("ik,kj->ij", ("A", "B")),
    )


def summm(data: Data) -> Problem:
    """The sum of the entries of A B."""
    one, two = _pair(data)
    return Problem(
        "CREATE TENSOR s AS sum(<(i,k), a> in A, <(k,j), b> in B) a * b",
        {"A": one, "B": two},
        flops=one.nnz + two.nnz,
        scipy=Formulation(lambda: (one @ two).sum()),
        einsum=Einsum("ik,kj->", ("A", "B")),
    )


def add2(data: Data) -> Problem:
    """A + B."""
    one, two = _likes(data, 2)
    return Problem(
        "CREATE TENSOR S AS A + B",
        {"A": one, "B": two},
        flops=one.nnz + two.nnz,
        scipy=Formulation(lambda: one + two),
    )


def add3(data: Data) -> Problem:
    """A + B + C."""
    one, two, three = _likes(data, 3)
    return Problem(
        "CREATE TENSOR S AS A + B + C",
        {"A": one, "B": two, "C": three},
        flops=one.nnz + two.nnz + three.nnz,
        scipy=Formulation(lambda: one + two + three),
    )


def triangles(data: Data) -> Problem:
    """The weighted number of triangles, the sum of A ∘ (A A)."""
    matrix = _square(data.matrix())
    return Problem(
        "CREATE TENSOR t AS sum(<(i,j), a> in A, <(j,k), b> in A, <(i,k), c> in A) a * b * c",
        {"A": matrix},
        flops=2 * matrix.nnz,
        scipy=Formulation(lambda: (matrix @ matrix).multiply(matrix).sum()),
        einsum=Einsum("ij,jk,ik->", ("A", "A", "A")),
    )


def cycles(data: Data) -> Problem:
    """The weighted number of directed cycles of length three through three relations."""
    one, two, three = (_square(data.matrix(seed)) for seed in (1, 2, 3))
    return Problem(
        "CREATE TENSOR t AS sum(<(i,j), a> in A, <(j,k), b> in B, <(k,i), c> in C) a * b * c",
        {"A": one, "B": two, "C": three},
        flops=2 * min(one.nnz, two.nnz, three.nnz),
        scipy=Formulation(lambda: (one @ two).multiply(three.T).sum()),
        einsum=Einsum("ij,jk,ki->", ("A", "B", "C")),
    )


def sddmm(data: Data) -> Problem:
    """S ∘ (A B'), a product of two dense factors where the third matrix is not zero."""
    matrix = data.matrix()
    left, right = (_factor(extent, SAMPLED_WIDTH) for extent in matrix.shape)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))

    def sampled() -> Array:
        return matrix.data * np.einsum("pk,pk->p", left[rows], right[matrix.indices])

    return Problem(
        "CREATE TENSOR P AS sum(<(i,j), s> in S, <(i,k), a> in A, <(j,k), b> in B) { (i,j) -> s * a * b }",
        {"S": matrix, "A": left, "B": right},
        flops=(2 * SAMPLED_WIDTH + 1) * matrix.nnz,
        scipy=Formulation(sampled, lambda values: with_values(matrix, values)),
        einsum=Einsum("ij,ik,jk->ij", ("S", "A", "B")),
        gathers=(_columns(matrix, SAMPLED_WIDTH),),
    )


def spmm(data: Data) -> Problem:
    """A B with a dense B of 64 columns."""
    matrix = data.matrix()
    factor = _factor(matrix.shape[1], FACTOR_WIDTH)
    return Problem(
        "CREATE TENSOR Y AS sum(<(i,k), a> in A, <(k,j), b> in B) { (i,j) -> a * b }",
        {"A": matrix, "B": factor},
        flops=2 * FACTOR_WIDTH * matrix.nnz,
        scipy=Formulation(lambda: matrix @ factor),
        einsum=Einsum("ik,kj->ij", ("A", "B")),
        gathers=(_columns(matrix, FACTOR_WIDTH),),
    )


def scale(data: Data) -> Problem:
    """A ∘ (b + c), each row scaled by the sum of two numbers."""
    matrix = data.matrix()
    b, c = _vector(matrix.shape[0]), _vector(matrix.shape[0], 1)
    degrees = np.diff(matrix.indptr)
    return Problem(
        "CREATE TENSOR S AS sum(<(i,j), a> in A) { (i,j) -> a * (b(i) + c(i)) }",
        {"A": matrix, "b": b, "c": c},
        flops=matrix.nnz + matrix.shape[0],
        scipy=Formulation(
            lambda: with_values(matrix, matrix.data * np.repeat(b + c, degrees)),
        ),
    )


MATRIX_KERNELS: dict[str, Callable[[Data], Problem]] = {
    "spmv": spmv,
    "batax": batax,
    "gradient": gradient,
    "mmm": mmm,
    "summm": summm,
    "add2": add2,
    "add3": add3,
    "triangles": triangles,
    "cycles": cycles,
    "sddmm": sddmm,
    "spmm": spmm,
    "scale": scale,
}


def with_sorted_rows(matrix: Matrix) -> Matrix:
    """Sort a result's rows in place: what storel gives is sorted, so others are timed with it."""
    matrix.sort_indices()
    return matrix


def with_values(matrix: Matrix, values: Array) -> Matrix:
    """Return a matrix with the structure of ``matrix``."""
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _pair(data: Data) -> tuple[Matrix, Matrix]:
    """Return two matrices that can be multiplied."""
    one, two = data.matrix(1), data.matrix(2)
    return (one, two) if one.shape[1] == two.shape[0] else (one, two.T.tocsr())


def _likes(data: Data, number: int) -> list[Matrix]:
    """Return matrices of one shape; those of a file are reversed in turn, to differ in structure."""
    drawn: list[Any] = [data.matrix(seed) for seed in range(1, number + 1)]
    if data.rank is None:
        return drawn
    return [
        matrix[:: 1 if turn % 2 == 0 else -1, :: 1 if turn < 2 else -1] for turn, matrix in enumerate(drawn)
    ]


def _square(matrix: Matrix) -> Matrix:
    """Return the largest leading square part, which is a graph."""
    extent = min(matrix.shape)
    return matrix if matrix.shape == (extent, extent) else matrix[:extent, :extent]


def _vector(length: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).random(length) + 0.5


def _factor(rows: int, width: int) -> Array:
    return _vector(rows * width).reshape(rows, width)


def _columns(matrix: Matrix, width: int = 1) -> Gather:
    """Return the reads at the columns of all entries."""
    return Gather(matrix.indices, matrix.shape[1], width)
