"""Programs whose obvious plan is asymptotically worse than what rewriting makes of them.

Each comes with data at a scale, what NumPy and SciPy do best for it, and an upper bound of the work that
the better plan takes on these data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import storel
from storel.loops.interpret import Work

Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""


@dataclass(frozen=True)
class Case:
    """A program with operands, its rival's answer, and whether work is within the better plan's bound."""

    name: str
    program: str
    operands: dict[str, Any]
    rival: Callable[[], Any]
    bound: Callable[[Work], bool]
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Sizes:
    """How large the data are: rows, columns and entries per row of matrices, and the width of factors."""

    rows: int
    columns: int
    degree: int
    width: int

    @property
    def density(self) -> float:
        return self.degree / self.columns


SMALL = Sizes(90, 50, 8, 8)
LARGE = Sizes(20_000, 15_000, 20, 16)
EXPANDED = {"floating_point": "expand"}


def products(left: Matrix, right: Matrix) -> int:
    """Return the number of pairs of entries that a matrix product multiplies."""
    return int(np.diff(sp.csc_array(left).indptr) @ np.diff(sp.csr_array(right).indptr))


def met_halfway(there: Matrix, back: Matrix) -> Any:
    """Return the weight of all closed walks that go one way and come back the other."""
    return (there * back.T).sum()


def cases(sizes: Sizes) -> Iterator[Case]:
    """Yield all cases at one scale."""
    yield from algebra(sizes)
    for length in (4, 6, 8):
        yield from chains(sizes, length)
    yield from graphs(sizes)
    yield from joins(sizes)
    yield from tensors(sizes)
    yield from expansions(sizes)
    yield from implicit(sizes)


def _random(rows: int, columns: int, degree: float, seed: int) -> Matrix:
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random(rows, columns, min(1.0, degree / columns), format="csr", rng=rng))


def algebra(sizes: Sizes) -> Iterator[Case]:
    """Yield sums, products and chains of matrices."""
    m, n, d = sizes.rows, sizes.columns, sizes.degree
    rng = np.random.default_rng(0)
    a, b = _random(m, n, d, 1), _random(n, m, d, 2)
    x, left, right = rng.random(n), rng.random(m), rng.random(m)
    yield Case(
        "sum of a product",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <(j, k), w> in B) v * w",
        {"A": a, "B": b},
        lambda: a.sum(0) @ b.sum(1),
        lambda w: w.multiplications <= a.nnz + n and w.iterations <= a.nnz + b.nnz + n + 2 * m,
    )
    yield Case(
        "rows scaled by a sum",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <i, y> in b + c) {(i, j) -> v * y}",
        {"A": a, "b": left, "c": right},
        lambda: sp.csr_array(sp.diags_array(left + right) @ a),
        lambda w: w.multiplications <= 2 * a.nnz and w.additions <= a.nnz + m,
    )
    few = _random(m, n // 2, 1 / 8, 3)
    late = sp.csr_array(b @ few)
    yield Case(
        "chain of three, the last one nearly empty",
        """CREATE TENSOR s AS
             sum(<(i, j), v> in A, <(j, k), w> in B, <(k, l), u> in C) {(i, l) -> v * w * u}""",
        {"A": a, "B": b, "C": few},
        lambda: a @ late if m > 1000 else a @ (b @ few),
        lambda w: w.multiplications <= products(b, few) + products(a, late),
    )
    chain = [_random(n, n, d, seed) for seed in range(10, 14)]
    names = "ABCD"
    sources = ", ".join(f"<(k{i}, k{i + 1}), v{i}> in {name}" for i, name in enumerate(names))
    end = rng.random(n)
    yield Case(
        "chain of four and a vector",
        f"CREATE TENSOR s AS sum({sources}, <k4, y> in x) {{k0 -> v0 * v1 * v2 * v3 * y}}",
        {**dict(zip(names, chain, strict=True)), "x": end},
        lambda: chain[0] @ (chain[1] @ (chain[2] @ (chain[3] @ end))),
        lambda w: w.multiplications <= sum(matrix.nnz for matrix in chain),
    )
    yield Case(
        "A'(A x) in one pass",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <(i, k), w> in A, <k, y> in x) {j -> v * w * y}",
        {"A": a, "x": x},
        lambda: a.T @ (a @ x),
        lambda w: w.multiplications <= 2 * a.nnz + 3 * m,
    )


def chains(sizes: Sizes, length: int) -> Iterator[Case]:
    """Yield chains of so many matrices: alone, between vectors, and with a matrix of two columns at the end.

    Which association is best depends on extents and degrees, which differ from matrix to matrix.
    """
    extents = [max(8, int(sizes.rows * share)) for share in SHARES[: length + 1]]
    pairs = zip(extents[:-1], extents[1:], DEGREES, strict=False)
    matrices = [_random(m, n, d, 30 + at) for at, (m, n, d) in enumerate(pairs)]
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
        lambda w: w.multiplications <= 1.05 * least,
    )
    ends = np.random.default_rng(29).random(extents[-1]), np.random.default_rng(28).random(extents[0])
    entries = sum(matrix.nnz for matrix in matrices)
    yield Case(
        f"chain of {length} and a vector",
        f"CREATE TENSOR s AS sum({loops}, <k{length}, y> in x) {{k0 -> {product} * y}}",
        {**operands, "x": ends[0]},
        lambda: reduce(lambda x, matrix: matrix @ x, reversed(matrices), ends[0]),
        lambda w: w.multiplications <= entries,
    )
    yield Case(
        f"vector and a chain of {length}",
        f"CREATE TENSOR s AS sum(<k0, y> in x, {loops}) {{k{length} -> y * {product}}}",
        {**operands, "x": ends[1]},
        lambda: reduce(lambda x, matrix: matrix.T @ x, matrices, ends[1]),
        lambda w: w.multiplications <= entries,
    )
    narrow = [*matrices, _random(extents[-1], 8, 1, 27)]
    narrow_tree, narrow_least = best_association(narrow)
    yield Case(
        f"chain of {length} and a narrow matrix",
        f"""CREATE TENSOR s AS
              sum({loops}, <(k{length}, z), y> in Z) {{(k0, z) -> {product} * y}}""",
        {**operands, "Z": narrow[-1]},
        lambda: multiplied(narrow_tree, narrow),
        lambda w: w.multiplications <= 1.05 * narrow_least,
    )


SHARES = (0.7, 1.0, 0.45, 0.9, 0.55, 0.8, 0.65, 0.35, 0.9)
DEGREES = (4, 2, 6, 1, 3, 2, 1, 5)
"""Extents as shares of the rows, and entries per row, of the matrices of a chain."""

Tree: TypeAlias = "int | tuple[Tree, Tree]"


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


def graphs(sizes: Sizes) -> Iterator[Case]:
    """Yield triangles, cycles and a sampled product."""
    n, width = sizes.rows, sizes.width
    rng = np.random.default_rng(4)
    p, q, r, s = (_random(n, n, sizes.degree / 2, seed) for seed in range(5, 9))
    left, right = rng.random((n, width)), rng.random((width, n))
    row = np.repeat(np.arange(n), np.diff(p.indptr))

    def sampled() -> Any:
        copy = p.copy()
        copy.data = copy.data * np.einsum("pk,kp->p", left[row], right[:, p.indices])
        return copy

    yield Case(
        "sampled product of dense factors",
        """CREATE TENSOR s AS
             sum(<(i, j), v> in S, <(i, k), x> in X, <(k, j), y> in Y) {(i, j) -> v * x * y}""",
        {"S": p, "X": left, "Y": right},
        sampled,
        lambda w: w.multiplications <= (width + 1) * p.nnz,
    )
    found = products(p, p)
    yield Case(
        "triangles",
        "CREATE TENSOR s AS sum(<(i, j), v> in G, <(j, k), w> in G, <(i, k), u> in G) v * w * u",
        {"G": p},
        lambda: met_halfway(sp.csr_array(p @ p), sp.csr_array(p.T)),
        lambda w: w.multiplications <= found + p.nnz,
    )
    two, three = sp.csr_array(p @ q), sp.csr_array(p @ q @ r)
    yield Case(
        "labelled cycles of four",
        """CREATE TENSOR s AS sum(<(a, b), v> in P, <(b, c), w> in Q, <(c, d), x> in R, <(d, a), y> in S)
             v * w * x * y""",
        {"P": p, "Q": q, "R": r, "S": s},
        lambda: met_halfway(sp.csr_array(p @ q), sp.csr_array(r @ s)),
        lambda w: w.multiplications <= products(p, q) + products(two, r) + three.nnz,
    )
    yield Case(
        "triangles with a tail",
        """CREATE TENSOR s AS sum(<(a, b), v> in P, <(b, c), w> in Q, <(a, c), x> in R, <(c, d), y> in S)
             v * w * x * y""",
        {"P": p, "Q": q, "R": r, "S": s},
        lambda: ((p @ q) * r).sum(0) @ s.sum(1),
        lambda w: w.multiplications <= products(p, q) + p.nnz + n,
    )


def joins(sizes: Sizes) -> Iterator[Case]:
    """Yield learning over a join of three tables, which is never built: pairs, and features of both sides."""
    rng = np.random.default_rng(9)
    left, right, width = sizes.rows // 3, sizes.columns // 3, sizes.width
    pairs = _random(left, right, sizes.degree * 2, 15)
    pairs.data[:] = 1
    s, t = rng.random((left, width)), rng.random((right, width + 1))
    u, v = rng.random(width), rng.random(width + 1)
    operands = {"J": pairs, "S": s, "T": t}
    yield Case(
        "gradient of a linear regression over a join",
        """CREATE TENSOR g AS
             sum(<(i, j), c> in J, <(i, f), x> in S, <(i, h), y> in S, <h, w> in u) {f -> c * x * y * w}
           + sum(<(i, j), c> in J, <(i, f), x> in S, <(j, h), y> in T, <h, w> in v) {f -> c * x * y * w}""",
        {**operands, "u": u, "v": v},
        lambda: s.T @ ((s @ u) * pairs.sum(1)) + s.T @ (pairs @ (t @ v)),
        lambda w: w.multiplications <= 2 * pairs.nnz + 4 * width * (left + right),
    )
    yield Case(
        "gradient of a logistic regression over a join",
        """CREATE TENSOR margin AS sum(<(j, h), y> in T, <h, w> in v) {j -> y * w}
           CREATE TENSOR own AS sum(<(i, h), y> in S, <h, w> in u) {i -> y * w}
           CREATE TENSOR g AS sum(<(i, j), c> in J, <(i, f), x> in S)
             {f -> x * c * sigmoid(own(i) + margin(j))}""",
        {**operands, "u": u, "v": v},
        lambda: s.T @ _logistic(pairs, s @ u, t @ v),
        lambda w: w.multiplications <= 2 * pairs.nnz + 4 * width * (left + right),
    )
    yield Case(
        "covariance over a join",
        "CREATE TENSOR C AS sum(<(i, j), c> in J, <(i, f), x> in S, <(j, g), y> in T) {(f, g) -> c * x * y}",
        operands,
        lambda: s.T @ (pairs @ t),
        lambda w: w.multiplications <= pairs.nnz * (width + 1) + width * (width + 1) * max(left, right),
    )


def _logistic(pairs: Matrix, own: Any, margin: Any) -> Any:
    row = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    terms = pairs.data / (1 + np.exp(-(own[row] + margin[pairs.indices])))
    return np.bincount(row, weights=terms, minlength=pairs.shape[0])


def tensors(sizes: Sizes) -> Iterator[Case]:
    """Yield the kernels of tensor decompositions."""
    rng = np.random.default_rng(16)
    shape = (sizes.rows // 3, sizes.columns // 5, 12)
    count = sizes.rows * sizes.degree
    coordinates = np.unique(np.array([rng.integers(0, extent, count) for extent in shape]), axis=1)
    values = rng.random(coordinates.shape[1])
    tensor = storel.tensor((coordinates, values), shape=shape)
    fibers = len(np.unique(coordinates[0] * shape[1] + coordinates[1]))
    factors = [rng.random((extent, sizes.width)) for extent in shape]
    i, j, k = coordinates
    yield Case(
        "MTTKRP, a factor per fiber",
        """CREATE TENSOR A AS
             sum(<(i, k, l), v> in B, <(k, j), c> in C, <(l, j), d> in D) {(i, j) -> v * c * d}""",
        {"B": tensor, "C": factors[1], "D": factors[2]},
        lambda: _gathered(i, values[:, None] * factors[1][j] * factors[2][k], shape[0]),
        lambda w: w.multiplications <= sizes.width * (tensor.nnz + fibers),
    )
    width = 3
    x, y, z = (factor[:, :width].copy() for factor in factors)
    pair = sp.csr_array((np.ones(len(values)), (i * shape[1] + j, k)), shape=(shape[0] * shape[1], shape[2]))
    pair.data = values[np.lexsort((k, j, i))]
    yield Case(
        "Tucker's chain of products",
        """CREATE TENSOR G AS
             sum(<(i, j, k), v> in B, <(i, p), x> in X, <(j, q), y> in Y, <(k, r), z> in Z)
               {(p, q, r) -> v * x * y * z}""",
        {"B": tensor, "X": x, "Y": y, "Z": z},
        lambda: np.einsum(
            "ijr,ip,jq->pqr", (pair @ z).reshape(shape[0], shape[1], width), x, y, optimize=True
        ),
        lambda w: (
            w.multiplications
            <= width * tensor.nnz + width**2 * fibers + width**3 * len(np.unique(i)) + width * len(values)
        ),
    )


def _gathered(rows: Any, terms: Any, extent: int) -> Any:
    found = np.zeros((extent, terms.shape[1]))
    np.add.at(found, rows, terms)
    return found


def expansions(sizes: Sizes) -> Iterator[Case]:
    """Yield products of sums, which may be multiplied out."""
    rng = np.random.default_rng(17)
    m, n, width = sizes.rows // 2, sizes.columns // 2, sizes.width
    a = _random(m, n, sizes.degree, 18)
    u, v, mean = rng.random(m), rng.random(n), rng.random(n)
    yield Case(
        "distance of a sparse matrix from a product",
        """CREATE TENSOR d AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1))
             (A(i, j) - u(i) * v(j)) * (A(i, j) - u(i) * v(j))""",
        {"A": a, "u": u, "v": v},
        lambda: (a.data @ a.data) - 2 * (u @ (a @ v)) + (u @ u) * (v @ v),
        lambda w: w.iterations <= 2 * a.nnz + 5 * (m + n),
        EXPANDED,
    )
    x, y, weights = rng.random((m // 4, width)), rng.random((n // 4, width)), rng.random(n // 4)
    yield Case(
        "kernel regression",
        """CREATE TENSOR k AS sum(<i, _> in 0:extent(X, 0), <j, w> in w, <d, _> in 0:extent(X, 1))
             {i -> (X(i, d) - Y(j, d)) * (X(i, d) - Y(j, d)) * w}""",
        {"X": x, "Y": y, "w": weights},
        lambda: (x * x).sum(1) * weights.sum() - 2 * (x @ (y.T @ weights)) + ((y * y).sum(1) @ weights),
        lambda w: w.multiplications <= 4 * width * (len(x) + len(y)) + 3 * len(x),
        EXPANDED,
    )
    yield Case(
        "centred Gram matrix times a vector",
        """CREATE TENSOR s AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1), <k, y> in v)
             {j -> (A(i, j) - mean(j)) * (A(i, k) - mean(k)) * y}""",
        {"A": a, "mean": mean, "v": v},
        lambda: _centred(a, mean, v),
        lambda w: w.multiplications <= 3 * a.nnz + 6 * (m + n),
        EXPANDED,
    )


def _centred(a: Matrix, mean: Any, v: Any) -> Any:
    projected = a @ v - mean @ v
    return a.T @ projected - mean * projected.sum()


def implicit(sizes: Sizes) -> Iterator[Case]:
    """Yield matrices that are products, times a vector."""
    rng = np.random.default_rng(19)
    m, n, width = sizes.rows, sizes.columns, sizes.width
    u, v, x = rng.random((m, width)), rng.random((n, width)), rng.random(n)
    yield Case(
        "low rank times a vector",
        """CREATE TENSOR M AS sum(<(i, k), a> in U, <(j, k), b> in V) {(i, j) -> a * b}
           CREATE TENSOR s AS sum(<(i, j), a> in M, <j, y> in x) {i -> a * y}""",
        {"U": u, "V": v, "x": x},
        lambda: u @ (v.T @ x),
        lambda w: w.multiplications <= width * (m + n),
    )
    outer, inner = rng.random((m // 20, 9)), rng.random((7, 6))
    z = rng.random(9 * 6)
    yield Case(
        "Kronecker product times a vector",
        """CREATE TENSOR M AS sum(<(i, j), a> in K, <(p, q), b> in L) {(i * 7 + p, j * 6 + q) -> a * b}
           CREATE TENSOR s AS sum(<(i, j), a> in M, <j, y> in x) {i -> a * y}""",
        {"K": outer, "L": inner, "x": z},
        lambda: (outer @ z.reshape(9, 6) @ inner.T).ravel(),
        lambda w: w.multiplications <= outer.size * 7 + inner.size * 9,
    )
