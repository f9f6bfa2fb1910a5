"""Times and memory of storing a matrix in another format, beside SciPy's own conversions.

    python benchmarks/packing.py [--size 100000] [--nonzeros 3000000] [--repetitions 5] [--only TEXT] [--json]

Times are processor time, the least of all repetitions, interleaved. ``entries`` are coordinates and values in
random order; unlike SciPy's, storel's results are always sorted, so that SciPy's way from columns to
coordinates is over compressed rows, too (by columns it would list them in 5 ms), and its blocks are put in
order; where blocks hold zeros, it drops those on the way back, as storel does, except where they become
diagonals, which have places for them. ``peak`` is the most that one conversion allocates, its result
included; ``of data`` divides that by the size of what is read and what is made.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

import storel
from storel.bench.data import Data
from storel.bench.problem import Matrix

MEBIBYTE = 2**20
DIAGONALS = 31
BLOCK = 4

PAIRS = {
    "random": (
        *(("entries", target) for target in ("csr", "csc", "coo", "ell")),
        *((one, other) for one in ("csr", "csc", "coo") for other in ("csr", "csc", "coo") if one != other),
        *(("csr", target) for target in ("csf", "dcsc", "ell", "sell", "hyb", "bucketed_ell", "hash")),
        *((source, "csr") for source in ("csf", "dcsc", "ell", "sell", "hyb", "bucketed_ell", "hash")),
    ),
    "scattered": (("csr", "bcsr"), ("bcsr", "csr"), ("csc", "bcsr"), ("bcsr", "csc")),
    "banded": (
        *(("csr", target) for target in ("dia", "band", "band_coo", "rle")),
        *((source, "csr") for source in ("dia", "band", "band_coo", "rle")),
        *((other, "dia") for other in ("csc", "coo", "bcsr")),
        *(("dia", other) for other in ("csc", "coo", "bcsr")),
    ),
    "blocks": (
        *(
            ("csr", "bcsr"),
            ("bcsr", "csr"),
            ("csc", "bcsr"),
            ("bcsr", "csc"),
            ("coo", "bcsr"),
            ("bcsr", "coo"),
        ),
        *(("csr", "bcsr_csr"), ("bcsr_csr", "csr")),
    ),
}
"""Which formats are converted to which, for each kind of matrix."""

SCIPY = {"csr": "csr", "csc": "csc", "coo": "coo", "dia": "dia", "bcsr": "bsr", "entries": "coo"}
"""SciPy's names of the formats that it has."""


@dataclass(frozen=True)
class Conversion:
    """Storing a matrix otherwise, and the same by SciPy where it has the formats."""

    store: Callable[[], storel.Tensor]
    scipy: Callable[[], Matrix] | None
    read: int
    """The size of the operand, in bytes."""

    answer: Matrix


def uniform_matrix(size: int, nonzeros: int) -> Matrix:
    return Data("uniform", size, nonzeros).matrix()


def scattered_matrix(size: int, nonzeros: int) -> Matrix:
    """Return a matrix whose entries are nearly all alone in their blocks."""
    return uniform_matrix(size, nonzeros // BLOCK)


def banded_matrix(size: int, nonzeros: int) -> Matrix:
    """Return a square matrix with full diagonals around the main one, which blocks cover exactly."""
    rows, reach = min(size, nonzeros // DIAGONALS) // BLOCK * BLOCK, DIAGONALS // 2
    rng = np.random.default_rng(1)
    diagonals = [sp.diags_array(rng.random(rows - abs(k)), offsets=k) for k in range(-reach, reach + 1)]
    return sp.csr_array(sum(diagonals[1:], start=diagonals[0]))


def blocked_matrix(size: int, nonzeros: int) -> Matrix:
    """Return a square matrix of full blocks at random places."""
    places = Data("uniform", size // BLOCK, nonzeros // BLOCK**2).matrix()
    return sp.csr_array(sp.kron(places, np.ones((BLOCK, BLOCK)), format="csr"))


MATRICES = {
    "random": uniform_matrix,
    "scattered": scattered_matrix,
    "banded": banded_matrix,
    "blocks": blocked_matrix,
}


def conversion(matrix: Matrix, source: str, target: str) -> Conversion:
    """Return how ``matrix`` is converted; nothing about the operand is known beforehand."""
    operand, scipy = matrix, None
    if source == "entries":
        operand = shuffled(matrix)
        coordinates = np.array(operand.coords, dtype=np.int64)

        def store() -> storel.Tensor:
            return storel.tensor((coordinates, operand.data), format=target, shape=matrix.shape)

        read = coordinates.nbytes + operand.data.nbytes
    else:
        stored = storel.tensor(matrix, format="csr").to(source)

        def store() -> storel.Tensor:
            return dataclasses.replace(stored).to(target)

        read = bytes_of(stored)
    if source in SCIPY and target in SCIPY and (source, target) != ("entries", "coo"):
        if source != "entries":
            operand = in_scipy(matrix, SCIPY[source])
        drops = source == "bcsr" and target != "dia" and not operand.data.all()
        scipy = lambda: in_scipy(operand, SCIPY[target], drops=drops)  # noqa: E731
    return Conversion(store, scipy, read, matrix)


def shuffled(matrix: Matrix) -> Matrix:
    """Return the entries in random order."""
    listed = matrix.tocoo()
    order = np.random.default_rng(2).permutation(listed.nnz)
    return sp.coo_array((listed.data[order], tuple(axis[order] for axis in listed.coords)), matrix.shape)


def in_scipy(matrix: Matrix, wanted: str, *, drops: bool = False) -> Matrix:
    """Convert a matrix by SciPy, sorted, and without zeros if it is to drop them.

    Columns become coordinates over compressed rows, which are sorted then.
    """
    if (matrix.format, wanted) == ("csc", "coo"):
        matrix = matrix.tocsr()
    made = matrix.tobsr(blocksize=(BLOCK, BLOCK)) if wanted == "bsr" else matrix.asformat(wanted)
    if wanted == "bsr":
        made.sort_indices()
    if drops:
        made.eliminate_zeros()
    return made


def bytes_of(tensor: storel.Tensor) -> int:
    return sum(array.nbytes for array in tensor.arrays.values())


def measured(timed: Conversion, repetitions: int) -> dict[str, Any]:
    """Time a conversion beside SciPy's, interleaved; trace its memory; check its result."""
    calls = {"storel": timed.store} | ({"scipy": timed.scipy} if timed.scipy is not None else {})
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    tracemalloc.start()
    made = timed.store()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    found: dict[str, Any] = {name: min(samples) for name, samples in times.items()}
    right = (made.to_scipy() != timed.answer).nnz == 0
    return found | {"peak": peak, "data": timed.read + bytes_of(made), "right": right}


def table_of(results: list[dict[str, Any]]) -> Table:
    table = Table("matrix", "from", "to", "ms", "scipy ms", "ratio", "peak MiB", "data MiB", "of data")
    for each in results:
        scipy = each.get("scipy")
        table.add_row(
            *(each["matrix"], each["from"], each["to"], f"{each['storel'] * 1e3:.0f}"),
            "" if scipy is None else f"{scipy * 1e3:.0f}",
            "WRONG" if not each["right"] else "" if scipy is None else f"{each['storel'] / scipy:.1f}",
            f"{each['peak'] / MEBIBYTE:.0f}",
            f"{each['data'] / MEBIBYTE:.0f}",
            f"{each['peak'] / each['data']:.1f}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100_000, help="rows and columns of the matrices")
    parser.add_argument("--nonzeros", type=int, default=3_000_000)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--only", default="", help="only conversions whose names contain this: 'csr dia'")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    arguments = parser.parse_args()
    names = [f"{name} {' '.join(pair)}" for name, pairs in PAIRS.items() for pair in pairs]
    if not any(arguments.only in name for name in names):
        raise SystemExit(f"no conversion's name contains '{arguments.only}': {'; '.join(names)}")
    results: list[dict[str, Any]] = []
    for name, pairs in PAIRS.items():
        wanted = [pair for pair in pairs if arguments.only in f"{name} {' '.join(pair)}"]
        matrix = MATRICES[name](arguments.size, arguments.nonzeros) if wanted else None
        for source, target in wanted:
            found = measured(conversion(matrix, source, target), arguments.repetitions)
            results.append({"matrix": name, "from": source, "to": target, **found})
    if arguments.json:
        print(json.dumps(results))
    else:
        Console().print(table_of(results))
    if not all(each["right"] for each in results):
        raise SystemExit("a result is wrong")


if __name__ == "__main__":
    main()
