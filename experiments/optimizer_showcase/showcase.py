"""Programs whose obvious plan is asymptotically worse than what rewriting makes of them.

Each comes with data at a scale, what NumPy and SciPy do best for it, and the quantities of these data in
which ``optima.csv`` has the work of a program written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from case import COUNTED, LARGE, SMALL, Case, Matrix, Sizes, products, random_matrix
from chains import best_association, chains
from joins import joins

import storel

__all__ = ["COUNTED", "LARGE", "SMALL", "Case", "cases"]

EXPANDED = {"floating_point": "expand"}


def met_halfway(there: Matrix, back: Matrix) -> Any:
    """Return the weight of all closed walks that go one way and come back the other."""
    return (there * back.T).sum()


def pattern(matrix: Matrix) -> Matrix:
    """Return a matrix of ones where another one has entries."""
    return sp.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def steps(first: Matrix, second: Matrix, third: Matrix) -> int:
    """Return the number of walks along an entry of each of three matrices."""
    return int((pattern(first) @ (pattern(second) @ np.diff(third.indptr))).sum())


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


def algebra(sizes: Sizes) -> Iterator[Case]:
    """Yield sums, products and chains of matrices."""
    m, n, d = sizes.rows, sizes.columns, sizes.degree
    rng = np.random.default_rng(0)
    a, b = random_matrix(m, n, d, 1), random_matrix(n, m, d, 2)
    x, left, right = rng.random(n), rng.random(m), rng.random(m)
    yield Case(
        "sum of a product",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <(j, k), w> in B) v * w",
        {"A": a, "B": b},
        lambda: a.sum(0) @ b.sum(1),
    )
    yield Case(
        "rows scaled by a sum",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <i, y> in b + c) {(i, j) -> v * y}",
        {"A": a, "b": left, "c": right},
        lambda: sp.csr_array(sp.diags_array(left + right) @ a),
    )
    few = random_matrix(m, n // 2, 1 / 8, 3)
    yield Case(
        "chain of three, the last one nearly empty",
        """CREATE TENSOR s AS
             sum(<(i, j), v> in A, <(j, k), w> in B, <(k, l), u> in C) {(i, l) -> v * w * u}""",
        {"A": a, "B": b, "C": few},
        lambda: a @ (b @ few),
        {"best_association": best_association([a, b, few])[1]},
    )
    chain = [random_matrix(n, n, d, seed) for seed in range(10, 14)]
    names = "ABCD"
    sources = ", ".join(f"<(k{i}, k{i + 1}), v{i}> in {name}" for i, name in enumerate(names))
    end = rng.random(n)
    yield Case(
        "chain of four and a vector",
        f"CREATE TENSOR s AS sum({sources}, <k4, y> in x) {{k0 -> v0 * v1 * v2 * v3 * y}}",
        {**dict(zip(names, chain, strict=True)), "x": end},
        lambda: chain[0] @ (chain[1] @ (chain[2] @ (chain[3] @ end))),
    )
    yield Case(
        "A'(A x) in one pass",
        "CREATE TENSOR s AS sum(<(i, j), v> in A, <(i, k), w> in A, <k, y> in x) {j -> v * w * y}",
        {"A": a, "x": x},
        lambda: a.T @ (a @ x),
    )


def graphs(sizes: Sizes) -> Iterator[Case]:
    """Yield triangles, cycles and a sampled product."""
    n, width = sizes.rows, sizes.width
    rng = np.random.default_rng(4)
    p, q, r, s = (random_matrix(n, n, sizes.degree / 2, seed) for seed in range(5, 9))
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
    )
    yield Case(
        "triangles",
        "CREATE TENSOR s AS sum(<(i, j), v> in G, <(j, k), w> in G, <(i, k), u> in G) v * w * u",
        {"G": p},
        lambda: met_halfway(sp.csr_array(p @ p), sp.csr_array(p.T)),
        {"walks_GG": products(p, p)},
    )
    walks = {"walks_PQ": products(p, q), "walks_PQR": steps(p, q, r)}
    yield Case(
        "labelled cycles of four",
        """CREATE TENSOR s AS sum(<(a, b), v> in P, <(b, c), w> in Q, <(c, d), x> in R, <(d, a), y> in S)
             v * w * x * y""",
        {"P": p, "Q": q, "R": r, "S": s},
        lambda: met_halfway(sp.csr_array(p @ q), sp.csr_array(r @ s)),
        walks,
    )
    yield Case(
        "triangles with a tail",
        """CREATE TENSOR s AS sum(<(a, b), v> in P, <(b, c), w> in Q, <(a, c), x> in R, <(c, d), y> in S)
             v * w * x * y""",
        {"P": p, "Q": q, "R": r, "S": s},
        lambda: ((p @ q) * r).sum(0) @ s.sum(1),
        {"walks_PQ": products(p, q), "triangles": int((pattern(p) @ pattern(q) * pattern(r)).sum())},
    )


def tensors(sizes: Sizes) -> Iterator[Case]:
    """Yield the kernels of tensor decompositions."""
    rng = np.random.default_rng(16)
    shape = (sizes.rows // 3, 40, 60)
    count = 5 * sizes.rows * sizes.degree  # three entries per fiber, or more
    coordinates = np.unique(np.array([rng.integers(0, extent, count) for extent in shape]), axis=1)
    values = rng.random(coordinates.shape[1])
    tensor = storel.tensor((coordinates, values), shape=shape)
    pairs, starts = np.unique(coordinates[0] * shape[1] + coordinates[1], return_index=True)
    fibers = len(pairs)
    factors = [rng.random((extent, sizes.width)) for extent in shape]
    i, j, k = coordinates
    program = """CREATE TENSOR A AS
                   sum(<(i, k, l), v> in B, <(k, j), c> in C, <(l, j), d> in D) {(i, j) -> v * c * d}"""
    counts = {"fibers_B": fibers, "slices_B": len(np.unique(i))}

    unfolded = sp.csr_array((values, (i, j * shape[2] + k)), shape=(shape[0], shape[1] * shape[2]))

    def mttkrp(c: Any, d: Any) -> Any:
        return unfolded @ (c[:, None] * d).reshape(-1, sizes.width)

    yield Case(
        "MTTKRP, dense factors",
        program,
        {"B": tensor, "C": factors[1], "D": factors[2]},
        lambda: mttkrp(factors[1], factors[2]),
        counts,
    )
    thinned = [np.where(rng.random(factor.shape) < 0.3, factor, 0) for factor in factors]
    entries = [np.count_nonzero(factor, axis=1) for factor in thinned]
    both = (thinned[1][j] != 0) & (thinned[2][k] != 0)
    met = {
        "walks_BD": int(entries[2][k].sum()),
        "fibers_BC": int(entries[1][pairs % shape[1]].sum()),
        "met_BCD": int(both.sum()),
        "met_fibers": int(np.logical_or.reduceat(both, starts).sum()),
    }
    for name, layout in (("sparse factors by rows", "csr"), ("hashed factors", "hash")):
        yield Case(
            f"MTTKRP, {name}",
            program,
            {"B": tensor, **{n: storel.tensor(f, layout) for n, f in zip("CD", thinned[1:], strict=True)}},
            lambda: mttkrp(thinned[1], thinned[2]),
            met,
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
        counts,
    )


def expansions(sizes: Sizes) -> Iterator[Case]:
    """Yield products of sums, which may be multiplied out."""
    rng = np.random.default_rng(17)
    m, n, width = sizes.rows // 2, sizes.columns // 2, sizes.width
    a = random_matrix(m, n, sizes.degree, 18)
    u, v, mean = rng.random(m), rng.random(n), rng.random(n)
    yield Case(
        "distance of a sparse matrix from a product",
        """CREATE TENSOR d AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1))
             (A(i, j) - u(i) * v(j)) * (A(i, j) - u(i) * v(j))""",
        {"A": a, "u": u, "v": v},
        lambda: (a.data @ a.data) - 2 * (u @ (a @ v)) + (u @ u) * (v @ v),
        options=EXPANDED,
    )
    x, y, weights = rng.random((m // 4, width)), rng.random((n // 4, width)), rng.random(n // 4)
    yield Case(
        "kernel regression",
        """CREATE TENSOR k AS sum(<i, _> in 0:extent(X, 0), <j, w> in w, <d, _> in 0:extent(X, 1))
             {i -> (X(i, d) - Y(j, d)) * (X(i, d) - Y(j, d)) * w}""",
        {"X": x, "Y": y, "w": weights},
        lambda: (x * x).sum(1) * weights.sum() - 2 * (x @ (y.T @ weights)) + ((y * y).sum(1) @ weights),
        options=EXPANDED,
    )
    yield Case(
        "centred Gram matrix times a vector",
        """CREATE TENSOR s AS sum(<i, _> in 0:extent(A, 0), <j, _> in 0:extent(A, 1), <k, y> in v)
             {j -> (A(i, j) - mean(j)) * (A(i, k) - mean(k)) * y}""",
        {"A": a, "mean": mean, "v": v},
        lambda: _centred(a, mean, v),
        options=EXPANDED,
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
    )
    outer, inner = rng.random((m // 20, 9)), rng.random((7, 6))
    z = rng.random(9 * 6)
    yield Case(
        "Kronecker product times a vector",
        """CREATE TENSOR M AS sum(<(i, j), a> in K, <(p, q), b> in L) {(i * 7 + p, j * 6 + q) -> a * b}
           CREATE TENSOR s AS sum(<(i, j), a> in M, <j, y> in x) {i -> a * y}""",
        {"K": outer, "L": inner, "x": z},
        lambda: (outer @ z.reshape(9, 6) @ inner.T).ravel(),
    )
