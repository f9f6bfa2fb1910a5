"""Every kernel, in every format and on every backend, against SciPy; with the work of its plan.

python experiments/paper_kernels/run.py [--data DIR] [--backends c,numba]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from cases import Case, Matrix, difference, matrix_cases, tensor_cases
from rich.console import Console
from rich.table import Table

import storel
from storel.execution import measure
from storel.storage.formats import Formats

TOLERANCE = 1e-10
LARGEST_DENSE = 2e7
"""Places beyond which an operand is not stored densely."""

COUNTED_PRODUCTS = 2e6
"""Iterations beyond which the work is not counted, since the interpreter of loops is slow."""

FORMATS = {2: ("dense", "coo", "csr", "csc", "dcsr", "csf"), 3: ("dense", "coo", "csf")}


def random_matrix(rows: int, columns: int, density: float) -> Matrix:
    return sp.csr_array(sp.random(rows, columns, density, format="csr", rng=np.random.default_rng(1)))


def random_tensor(shape: tuple[int, int, int], count: int) -> storel.Tensor:
    rng = np.random.default_rng(2)
    coordinates = np.array([rng.integers(0, extent, count) for extent in shape])
    return storel.tensor((coordinates, rng.random(count)), shape=shape)


def cases(data: Path | None, *, small: bool) -> Iterator[Case]:
    """Yield the cases on random data, few and small if so asked, and on the files in ``data``."""
    if small:
        yield from matrix_cases("random 40 x 40", random_matrix(40, 40, 0.1))
        yield from tensor_cases("random 6 x 7 x 8", random_tensor((6, 7, 8), 60))
        return
    yield from matrix_cases("random 300 x 200", random_matrix(300, 200, 0.05))
    yield from matrix_cases("random 250 x 250", random_matrix(250, 250, 0.04))
    yield from tensor_cases("random 30 x 40 x 50", random_tensor((30, 40, 50), 2000))
    if data is None:
        return
    for path in sorted(data.iterdir()):
        if path.name.endswith((".mtx", ".mtx.gz")):
            stored = storel.read(path)
            if stored.format == "csr":
                yield from matrix_cases(path.name, sp.csr_array(stored.to_scipy()))
        elif path.name.endswith((".tns", ".tns.gz")):
            yield from tensor_cases(path.name, storel.read(path))


def layouts(case: Case) -> Iterator[tuple[str, dict[str, storel.Tensor] | None]]:
    """Yield the formats, each with the operands stored in it, None where that would be absurd."""
    rank = next(iter(case.sparse.values())).rank
    for name in FORMATS[rank]:
        places = max(float(np.prod([float(e) for e in t.shape])) for t in case.sparse.values())
        if name == Formats().default(rank, is_dense=True).name and places > LARGEST_DENSE:
            yield name, None
        else:
            yield name, {each: tensor.to(name) for each, tensor in case.sparse.items()}


def outcome(case: Case, stored: dict[str, storel.Tensor], backend: str) -> tuple[str, bool]:
    """Run one case; return a cell of the table, and whether the answer was right."""
    operands = {**stored, **case.fixed}
    kernel = storel.compile(case.script, backend=backend, **operands)
    kernel(**operands)
    start = time.perf_counter()
    result = kernel(**operands)
    seconds = time.perf_counter() - start
    assert isinstance(result, storel.Tensor)
    error = difference(result, case.answer())
    return f"{seconds * 1e3:.2f} ms", error <= TOLERANCE


def work_of(case: Case, name: str, stored: dict[str, storel.Tensor]) -> str:
    """Return the multiplications of the plan, and whether they are within the bound."""
    kernel = storel.compile(case.script, **stored, **case.fixed)
    if sum(kernel.compilation.optimized.cost.iterations) > COUNTED_PRODUCTS:
        return "not counted"
    _, work = measure(kernel.compilation, kernel.environment)
    is_within = name not in case.bounded or case.bound(work)
    return f"{work.multiplications}{'' if is_within else ' (above the bound)'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a directory of .mtx and .tns files")
    parser.add_argument("--backends", default="c,numba", help="which backends to run")
    parser.add_argument("--small", action="store_true", help="only small random data")
    arguments = parser.parse_args()
    backends = arguments.backends.split(",")
    table = Table("kernel", "data", "format", *backends, "multiplications")
    wrong = 0
    for case in cases(arguments.data, small=arguments.small):
        for name, stored in layouts(case):
            if stored is None:
                table.add_row(case.kernel, case.data, name, *["too large"] * len(backends), "")
                continue
            cells: list[str] = []
            for backend in backends:
                text, is_right = outcome(case, stored, backend)
                wrong += not is_right
                cells.append(text if is_right else f"WRONG {text}")
            table.add_row(case.kernel, case.data, name, *cells, work_of(case, name, stored))
    Console().print(table)
    if wrong:
        raise SystemExit(f"{wrong} wrong answers")


if __name__ == "__main__":
    main()
