"""Chains of matrices, and the association that is best by exact intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from case import Case, Matrix, Sizes, products, random_matrix

SHARES = (0.7, 1.0, 0.45, 0.9, 0.55, 0.8, 0.65, 0.35, 0.9)
DEGREES = (4, 2, 6, 1, 3, 2, 1, 5)
"""Extents as shares of the rows, and entries per row, of the matrices of a chain."""

_SUMS: dict[str, Callable[[Matrix], int]] = {
    "nnz_of_all": lambda matrix: matrix.nnz,
    "rows_of_all": lambda matrix: matrix.shape[0],
}

Tree: TypeAlias = "int | tuple[Tree, Tree]"


def chains(sizes: Sizes, length: int) -> Iterator[Case]:
    """Yield chains of so many matrices: alone, between vectors, and with a matrix of two columns at the end.

    Which association is best depends on extents and degrees, which differ from matrix to matrix.
    """
    extents = [max(8, int(sizes.rows * share)) for share in SHARES[: length + 1]]
    pairs = zip(extents[:-1], extents[1:], DEGREES, strict=False)
    matrices = [random_matrix(m, n, d, 30 + at) for at, (m, n, d) in enumerate(pairs)]
    names = "ABCDEFGH"[:length]
    loops = ", ".join(f"<(k{at}, k{at + 1}), v{at}> in {name}" for at, name in enumerate(names))
    product = " * ".join(f"v{at}" for at in range(length))
    operands = dict(zip(names, matrices, strict=True))
    tree, least = best_association(matrices)
    yield Case(
        f"chain of {length}",
        f"CREATE TENSOR s AS sum({loops}) {{(k0, k{length}) -> {product}}}",
        operands,
        lambda: multiplied(tree, matrices),
        {"best_association": least},
    )
    ends = np.random.default_rng(29).random(extents[-1]), np.random.default_rng(28).random(extents[0])
    counts = {name: sum(of(each) for each in matrices) for name, of in _SUMS.items()}
    yield Case(
        f"chain of {length} and a vector",
        f"CREATE TENSOR s AS sum({loops}, <k{length}, y> in x) {{k0 -> {product} * y}}",
        {**operands, "x": ends[0]},
        lambda: reduce(lambda x, matrix: matrix @ x, reversed(matrices), ends[0]),
        counts,
    )
    yield Case(
        f"vector and a chain of {length}",
        f"CREATE TENSOR s AS sum(<k0, y> in x, {loops}) {{k{length} -> y * {product}}}",
        {**operands, "x": ends[1]},
        lambda: reduce(lambda x, matrix: matrix.T @ x, matrices, ends[1]),
        counts,
    )
    narrow = [*matrices, random_matrix(extents[-1], 8, 1, 27)]
    narrow_tree, narrow_least = best_association(narrow)
    yield Case(
        f"chain of {length} and a narrow matrix",
        f"""CREATE TENSOR s AS
              sum({loops}, <(k{length}, z), y> in Z) {{(k0, z) -> {product} * y}}""",
        {**operands, "Z": narrow[-1]},
        lambda: multiplied(narrow_tree, narrow),
        {"best_association": narrow_least},
    )


def best_association(matrices: list[Matrix]) -> tuple[Tree, int]:
    """Return the association of a chain that multiplies least, and how often, by exact intermediates."""
    made: dict[tuple[int, int], tuple[int, Tree, Matrix]] = {}
    for at, matrix in enumerate(matrices):
        made[at, at] = 0, at, sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), matrix.shape)
    for width in range(1, len(matrices)):
        for first in range(len(matrices) - width):
            last = first + width
            splits = [(made[first, at], made[at + 1, last]) for at in range(first, last)]
            works = [a[0] + b[0] + products(a[2], b[2]) for a, b in splits]
            least = int(np.argmin(works))
            (_, left, one), (_, right, other) = splits[least]
            made[first, last] = works[least], (left, right), sp.csr_array(one @ other)
    work, tree, _ = made[0, len(matrices) - 1]
    return tree, work


def multiplied(tree: Tree, matrices: list[Matrix]) -> Matrix:
    """Return the product of a chain, associated as ``tree`` says."""
    if isinstance(tree, int):
        return matrices[tree]
    left, right = tree
    return multiplied(left, matrices) @ multiplied(right, matrices)
