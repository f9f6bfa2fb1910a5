"""What structure is worth: kernels on formats that know it, beside those that do not.

    python benchmarks/structure.py [--scale 1.0] [--repetitions 9] [--only TEXT]

Times are processor time of one thread, the least of all repetitions, interleaved; answers are compared.
``at most`` is the share of the other's time that a format may take; ``--scale`` multiplies the rows of all
matrices.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from scipy.linalg import blas

import storel
from storel.bench.data import Data

TO_VECTOR = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
TO_MATRIX = "CREATE TENSOR y AS sum(<(i, j), a> in A, <(j, k), b> in x) { (i, k) -> a * b }"
QUADRATIC = "CREATE TENSOR y AS sum(<(i, j), a> in A, <i, v> in x, <j, w> in x) v * a * w"


@dataclass(frozen=True)
class Comparison:
    """A kernel on a format beside another way to the same answer, and what share of its time is wanted."""

    name: str
    run: Callable[[], Any]
    other_name: str
    other: Callable[[], Any]
    at_most: float


def call(program: str, matrix: storel.Tensor, x: Any) -> Callable[[], Any]:
    """Return the call of a kernel whose operands were checked before."""
    operand = storel.tensor(x)
    kernel = storel.compile(program, threads=1, A=matrix, x=operand)

    def run() -> Any:
        result: Any = kernel(A=matrix, x=operand)
        return np.asarray(result) if result.rank else result.item()

    return run


def banded(rows: int) -> Iterator[Comparison]:
    """Yield products with a band of 31 diagonals, beside SciPy's diagonals and BLAS."""
    reach = 15
    rng = np.random.default_rng(1)
    diagonals = [rng.random(rows - abs(k)) for k in range(-reach, reach + 1)]
    offsets: Any = range(-reach, reach + 1)
    matrix: Any = sp.diags_array(diagonals, offsets=offsets, format="dia")
    x = rng.random(rows)
    run = call(TO_VECTOR, storel.tensor(matrix.tocsr()).to("band"), x)
    yield Comparison("band, A x", run, "SciPy's dia_array", lambda: matrix @ x, 1.3)
    lying = np.zeros((2 * reach + 1, rows), order="F")
    for k, diagonal in zip(offsets, diagonals, strict=True):
        lying[reach - k, max(k, 0) : rows + min(k, 0)] = diagonal
    multiply: Any = blas.get_blas_funcs("gbmv", (lying, x))

    def by_blas() -> Any:
        return multiply(rows, rows, reach, reach, 1.0, lying, x)

    yield Comparison("band, A x", run, "gbmv", by_blas, 1.3)


def narrow(rows: int) -> Iterator[Comparison]:
    """Yield a product with a band of 7 diagonals, beside SciPy's diagonals."""
    rng = np.random.default_rng(1)
    offsets: Any = range(-3, 4)
    diagonals = [rng.random(rows - abs(k)) for k in offsets]
    matrix: Any = sp.diags_array(diagonals, offsets=offsets, format="dia")
    x = rng.random(rows)
    run = call(TO_VECTOR, storel.tensor(matrix.tocsr()).to("band"), x)
    yield Comparison("narrow band, A x", run, "SciPy's dia_array", lambda: matrix @ x, 1.3)


def blocked(rows: int) -> Iterator[Comparison]:
    """Yield a product with a matrix of full blocks."""
    side = 4
    places = Data("uniform", rows // side, rows * 2).matrix()
    matrix = storel.tensor(sp.csr_array(sp.kron(places, np.ones((side, side)), format="csr")))
    x = np.random.default_rng(2).random(matrix.shape[1])
    run, other = (call(TO_VECTOR, each, x) for each in (matrix.to("bcsr(r=4, c=4)"), matrix))
    yield Comparison("bcsr(4, 4), A x", run, "csr", other, 0.8)


def skewed(rows: int) -> Iterator[Comparison]:
    """Yield products of a power-law matrix with a dense one of 64 columns."""
    matrix = storel.tensor(Data("power-law", rows, rows * 10).matrix())
    columns = np.random.default_rng(3).random((rows, 64))
    other = call(TO_MATRIX, matrix, columns)
    for text in ("hyb", "bucketed_ell"):
        yield Comparison(f"{text}, A B", call(TO_MATRIX, matrix.to(text), columns), "csr", other, 1.0)


def halves(rows: int) -> Iterator[Comparison]:
    """Yield kernels on symmetric and triangular matrices, beside dense ones."""
    rng = np.random.default_rng(4)
    full, x = rng.random((rows, rows)), rng.random(rows)
    for text, dense, what, program in (
        ("symmetric", full + full.T, "A x", TO_VECTOR),
        ("upper_triangular", np.triu(full), "x' A x", QUADRATIC),
    ):
        run, other = (call(program, each, x) for each in (storel.tensor(dense, text), storel.tensor(dense)))
        yield Comparison(f"{text}, {what}", run, "dense", other, 0.8)


def factored(rows: int) -> Iterator[Comparison]:
    """Yield products with a matrix of low rank, and with a join of tables, beside the matrices themselves."""
    rng, width = np.random.default_rng(5), 16
    u, v, x = rng.random((rows, width)), rng.random((rows, width)), rng.random(rows)
    low = storel.tensor({"u": u.ravel(), "v": v.ravel()}, f"low_rank(k={width})", (rows, rows))
    dense: Any = u @ v.T
    yield Comparison("low_rank(16), A x", call(TO_VECTOR, low, x), "NumPy, dense", lambda: dense @ x, 0.01)
    facts, f, g = rows * 20, 24, 12
    own, tables = rng.random((facts, 4)), (rng.random((facts // 100, f)), rng.random((facts // 50, g)))
    keys = [rng.integers(0, len(table), facts) for table in tables]
    arrays = {"own": own.ravel()}
    for number, (key, table) in enumerate(zip(keys, tables, strict=True), 1):
        arrays |= {f"key{number}": key, f"table{number}": table.ravel()}
    star = storel.tensor(arrays, f"star_join(f={f}, g={g})", (facts, 4 + f + g))
    joined: Any = np.concatenate(
        (own, *(table[key] for key, table in zip(keys, tables, strict=True))), axis=1
    )
    weights: Any = rng.random(joined.shape[1])

    def by_numpy() -> Any:
        return joined @ weights

    yield Comparison("star_join, X w", call(TO_VECTOR, star, weights), "NumPy, joined", by_numpy, 1.0)


CASES: tuple[tuple[Callable[[int], Iterator[Comparison]], int], ...] = (
    (banded, 200_000),
    (narrow, 200_000),
    (blocked, 100_000),
    (skewed, 100_000),
    (halves, 4_000),
    (factored, 20_000),
)
"""What is compared, and the rows of its matrices."""


def measured(comparison: Comparison, repetitions: int) -> tuple[float, float]:
    """Return the seconds of both, interleaved; raise AssertionError if their answers differ."""
    np.testing.assert_allclose(comparison.run(), comparison.other(), rtol=1e-6)
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(repetitions):
        for seconds, run in zip(found, (comparison.run, comparison.other), strict=True):
            start = time.process_time()
            run()
            seconds.append(time.process_time() - start)
    return min(found[0]), min(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="times the rows of all matrices")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--only", default="", help="only comparisons whose names contain this")
    arguments = parser.parse_args()
    table = Table("format and kernel", "ms", "beside", "ms", "ratio", "at most")
    names = list[str]()
    for cases, rows in CASES:
        for each in cases(max(200, int(rows * arguments.scale))):
            names.append(each.name)
            if arguments.only not in each.name:
                continue
            own, other = measured(each, arguments.repetitions)
            figures = f"{own * 1e3:.3g}", each.other_name, f"{other * 1e3:.3g}", f"{own / other:.2g}"
            table.add_row(each.name, *figures, f"{each.at_most:g}")
    if not table.rows:
        raise SystemExit(
            f"no comparison's name contains '{arguments.only}': {'; '.join(dict.fromkeys(names))}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
