"""The kernels on data: operands, SciPy's answer, and an upper bound on the work of the chosen plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import storel
from storel.loops.interpret import Work

Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""

SCRIPTS = Path(__file__).parent
SPARSE = ("coo", "csr", "csc", "dcsr", "csf", "hash")
BY_ROWS = ("csr", "dcsr", "csf")
WIDTH = 4
"""The number of columns of dense factors."""


@dataclass(frozen=True)
class Case:
    """One kernel on one set of operands.

    ``sparse`` are stored in each format in turn, ``fixed`` as they are. ``answer`` is SciPy's, ``bound``
    says whether the work is within what the operands' nonzeros, rows and fibers allow, and holds in the
    formats ``bounded``.
    """

    kernel: str
    data: str
    sparse: dict[str, storel.Tensor]
    fixed: dict[str, Any]
    answer: Callable[[], Any]
    bound: Callable[[Work], bool]
    bounded: tuple[str, ...] = SPARSE

    @property
    def script(self) -> Path:
        return SCRIPTS / f"{self.kernel}.sdql"


def multiplied(left: Any, right: Any) -> Any:
    return left @ right


def products(left: Matrix, right: Matrix) -> int:
    """Return the number of pairs of entries that a matrix product multiplies."""
    return int(np.diff(left.tocsc().indptr) @ np.diff(right.indptr))


def fibers(tensor: storel.Tensor) -> int:
    """Return the number of distinct pairs of the first two keys."""
    first, second = tensor.to_coo()[0][:2]
    return len(np.unique(first * tensor.shape[1] + second))


def matrix_cases(name: str, matrix: Matrix) -> Iterator[Case]:
    """Yield the kernels on a matrix, its transpose, and random vectors and factors."""
    rng = np.random.default_rng(0)
    rows, columns = matrix.shape
    other: Matrix = sp.csr_array(matrix.T) if rows != columns else matrix
    x = rng.random(columns)
    b, c = rng.random(rows), rng.random(rows)
    left, right = rng.random((rows, WIDTH)), rng.random((WIDTH, columns))
    stored, stored_other = storel.tensor(matrix), storel.tensor(other)
    transposed = storel.tensor(sp.csr_array(matrix.T))
    nnz, exact = matrix.nnz, products(matrix, other)

    def scaled(factor: Any) -> Any:
        copy = matrix.copy()
        copy.data = copy.data * np.repeat(factor, np.diff(matrix.indptr))
        return copy

    def sampled() -> Any:
        copy = matrix.copy()
        row = np.repeat(np.arange(rows), np.diff(matrix.indptr))
        copy.data = copy.data * np.einsum("pk,kp->p", left[row], right[:, matrix.indices])
        return copy

    yield Case(
        "spmv",
        name,
        {"A": stored},
        {"x": x},
        lambda: multiplied(matrix, x),
        lambda w: w.multiplications <= nnz,
    )
    yield Case(
        "batax",
        name,
        {"A": stored},
        {"x": x},
        lambda: 0.5 * multiplied(matrix.T, multiplied(matrix, x)),
        lambda w: w.multiplications <= 2 * nnz + 3 * rows,
        BY_ROWS,
    )
    yield Case(
        "mmm",
        name,
        {"A": stored, "B": stored_other},
        {},
        lambda: matrix @ other,
        lambda w: w.multiplications == exact,
    )
    yield Case(
        "summm",
        name,
        {"A": stored, "B": stored_other},
        {},
        lambda: matrix.sum(0) @ other.sum(1),
        lambda w: w.multiplications <= nnz + columns,
    )
    yield Case(
        "add2",
        name,
        {"A": stored, "B": stored},
        {},
        lambda: matrix + matrix,
        lambda w: w.multiplications == 0,
    )
    yield Case(
        "scale_by_sum",
        name,
        {"A": stored},
        {"b": b, "c": c},
        lambda: scaled(b + c),
        lambda w: w.multiplications <= 2 * nnz,
    )
    yield Case(
        "sddmm",
        name,
        {"S": stored},
        {"A": left, "B": right},
        sampled,
        lambda w: w.multiplications <= (WIDTH + 1) * nnz,
    )
    yield Case(
        "transposed",
        name,
        {"A": stored, "B": transposed},
        {},
        lambda: matrix * matrix,
        lambda w: w.multiplications <= nnz,
    )
    if rows == columns:
        yield Case(
            "triangles",
            name,
            {"A": stored},
            {},
            lambda: ((matrix @ matrix) * matrix).sum(),
            lambda w: w.multiplications <= 2 * exact,
        )


def tensor_cases(name: str, tensor: storel.Tensor) -> Iterator[Case]:
    """Yield the kernels on a tensor of rank 3 with random dense factors."""
    rng = np.random.default_rng(0)
    rows, columns, tubes = tensor.shape
    (i, k, m), values = tensor.to_coo()
    first, second = rng.random((columns, WIDTH)), rng.random((tubes, WIDTH))
    most = WIDTH * (len(values) + fibers(tensor))

    def mttkrp() -> Any:
        result = np.zeros((rows, WIDTH))
        np.add.at(result, i, values[:, None] * first[k] * second[m])
        return result

    def ttm() -> Any:
        pairs, inverse = np.unique(i * columns + k, return_inverse=True)
        unfolded = sp.csr_array((values, (inverse, m)), shape=(len(pairs), tubes)) @ second
        return sp.csr_array(
            (
                unfolded.ravel(),
                (
                    np.repeat(pairs // columns, WIDTH),
                    np.tile(np.arange(WIDTH), len(pairs)) + WIDTH * np.repeat(pairs % columns, WIDTH),
                ),
            ),
            shape=(rows, columns * WIDTH),
        )

    yield Case(
        "mttkrp",
        name,
        {"B": tensor},
        {"C": first, "D": second},
        mttkrp,
        lambda w: w.multiplications <= most,
        BY_ROWS,
    )
    yield Case(
        "ttm",
        name,
        {"B": tensor},
        {"C": np.ascontiguousarray(second.T)},
        ttm,
        lambda w: w.multiplications <= WIDTH * len(values),
    )


def difference(result: storel.Tensor, answer: Any) -> float:
    """Return the largest difference from SciPy's answer, relative to its largest entry."""
    if result.rank == 3:
        coordinates, values = result.to_coo()
        key = coordinates[1] * result.shape[2] + coordinates[2]
        found: Any = sp.csr_array((values, (coordinates[0], key)), shape=answer.shape)
    elif sp.issparse(answer):
        found = sp.csr_array(result.to_scipy())
    else:
        found = result.to_numpy()
    largest = abs(answer).max() if np.ndim(answer) or sp.issparse(answer) else abs(answer)
    return float(abs(found - answer).max()) / max(1e-300, float(largest))
