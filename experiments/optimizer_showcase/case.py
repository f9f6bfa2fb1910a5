"""What a case of the showcase is, and the random matrices that cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

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


def products(left: Matrix, right: Matrix) -> int:
    """Return the number of pairs of entries that a matrix product multiplies."""
    return int(np.diff(sp.csc_array(left).indptr) @ np.diff(sp.csr_array(right).indptr))


def random_matrix(rows: int, columns: int, degree: float, seed: int) -> Matrix:
    """Return a matrix with so many entries per row on average."""
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random(rows, columns, min(1.0, degree / columns), format="csr", rng=rng))
