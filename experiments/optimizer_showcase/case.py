"""What a case of the showcase is, and the random matrices that cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

import storel

Matrix: TypeAlias = Any
"""A scipy.sparse array, whose own types say little."""


@dataclass(frozen=True)
class Case:
    """A program with operands, its rival's answer, and what else the optimum of its work depends on."""

    name: str
    program: str
    operands: dict[str, Any]
    rival: Callable[[], Any]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def quantities(self) -> dict[str, int]:
        """What formulas in ``optima.csv`` speak of, by name: of each operand, its entries and extents."""
        found = dict(self.counts)
        for name, value in self.operands.items():
            is_sparse = isinstance(value, storel.Tensor) or sp.issparse(value)
            found[f"nnz_{name}"] = int(value.nnz if is_sparse else np.size(value))
            extents = zip(("rows", "columns", "tubes"), value.shape, strict=False)
            found |= {f"{kind}_{name}": int(extent) for kind, extent in extents}
        return found


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
COUNTED = Sizes(600, 400, 8, 8)
LARGE = Sizes(20_000, 15_000, 20, 16)


def products(left: Matrix, right: Matrix) -> int:
    """Return the number of pairs of entries that a matrix product multiplies."""
    return int(np.diff(sp.csc_array(left).indptr) @ np.diff(sp.csr_array(right).indptr))


def random_matrix(rows: int, columns: int, degree: float, seed: int) -> Matrix:
    """Return a matrix with so many entries per row on average."""
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random(rows, columns, min(1.0, degree / columns), format="csr", rng=rng))
