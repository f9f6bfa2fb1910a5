"""The cases on random and on given data, and the formats of their operands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from cases import Case, Matrix, matrix_cases, tensor_cases

import storel
from storel.storage.formats.known import Formats

LARGEST_DENSE = 2e7
"""Places beyond which an operand is not stored densely."""

FORMATS = {2: ("dense", "coo", "csr", "csc", "dcsr", "csf", "hash"), 3: ("dense", "coo", "csf", "hash")}


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
