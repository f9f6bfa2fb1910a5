"""Matrices and tensors of the shapes that sparse kernels are sensitive to, always the same for the same size.

``power-law`` draws each bit of row and column with the probabilities of R-MAT (Chakrabarti, Zhan and
Faloutsos 2004), so that few rows and columns hold most entries; ``banded`` lies within some diagonals of the
main one; ``triangular`` is uniform above it; anything else is the name of a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storel.api import read
from storel.arrays import Array
from storel.bench.problem import Entries, Matrix, by_rows
from storel.errors import DataError, UnknownNameError, nearest
from storel.storage.coordinates import combine
from storel.storage.tensor import Tensor

NAMES = ("uniform", "power-law", "banded", "triangular")

DENSE = "dense"
"""What stands for the data of kernels that have dense operands alone."""

QUADRANTS = (0.57, 0.19, 0.19, 0.05)
"""The probabilities of the quarters of a matrix in R-MAT."""

PROPORTIONS = (0.12, 0.09, 0.29)
"""The extents of a tensor beside the size of the matrices."""


@dataclass(frozen=True, slots=True)
class Data:
    """What operands are drawn from: a distribution or a file, rows of matrices, and entries."""

    name: str
    size: int
    nonzeros: int

    @property
    def rank(self) -> int | None:
        """The rank of what a file holds, by its name; None for a distribution, which gives any."""
        if self.name in (*NAMES, DENSE):
            return None
        return 3 if self.name.removesuffix(".gz").endswith(".tns") else 2

    def matrix(self, seed: int = 1) -> Matrix:
        """Return a matrix by rows; each seed is another one, but for a file."""
        if self.rank is not None:
            return self._from_file().to_scipy().tocsr()
        rows, columns = self._places(np.random.default_rng(seed))
        drawn = np.random.default_rng(seed + 100).random(len(rows)) + 0.5
        return by_rows((drawn, (rows, columns)), (self.size, self.size))

    def tensor(self) -> Entries:
        """Return a tensor of rank 3, uniform or skewed, or that of a file."""
        if self.rank is not None:
            tensor = self._from_file()
            return Entries(*tensor.to_coo(), tensor.shape)
        rng = np.random.default_rng(1)
        shape = tuple(max(2, round(share * self.size)) for share in PROPORTIONS)
        power = 3 if self.name == "power-law" else 1
        drawn = np.empty((3, self.nonzeros), np.int32)
        for axis, extent in zip(drawn, shape, strict=True):
            axis[:] = extent * rng.random(self.nonzeros) ** power
        coordinates, values = combine(drawn, rng.random(self.nonzeros) + 0.5, shape)
        return Entries(coordinates, values, shape)

    def _from_file(self) -> Tensor:
        """Return what the file holds; raises DataError for another rank, and for what no answer equals."""
        tensor = read(self.name)
        if tensor.rank != self.rank:
            expected, found = f"a tensor of rank {self.rank}", f"rank {tensor.rank}"
            raise DataError(f"{self.name} is not what kernels take", expected=expected, found=found)
        if not np.isfinite(tensor.to_coo()[1]).all():
            raise DataError(f"{self.name} holds inf or NaN: answers that do could not be compared")
        return tensor

    def _places(self, rng: np.random.Generator) -> tuple[Array, Array]:
        match self.name:
            case "banded":
                reach = max(1, self.nonzeros // self.size)
                rows = rng.integers(0, self.size, self.nonzeros)
                columns = rows + rng.integers(-reach, reach + 1, self.nonzeros)
                return rows, np.clip(columns, 0, self.size - 1)
            case "power-law":
                return self._quartered(rng)
            case _:
                rows, columns = rng.integers(0, self.size, (2, self.nonzeros))
                if self.name == "triangular":
                    return np.minimum(rows, columns), np.maximum(rows, columns)
                return rows, columns

    def _quartered(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw places bit by bit; those of a power of two are folded into the size."""
        rows, columns = np.zeros((2, self.nonzeros), np.int64)
        for _ in range(max(1, (self.size - 1).bit_length())):
            quadrant = rng.choice(4, self.nonzeros, p=QUADRANTS)
            rows, columns = 2 * rows + quadrant // 2, 2 * columns + quadrant % 2
        return rows % self.size, columns % self.size


def check(name: str) -> None:
    """Raise UnknownNameError for what is neither a distribution nor a file."""
    if name not in NAMES and not Path(name).is_file():
        raise UnknownNameError(
            f"there is no data '{name}'",
            expected=f"{', '.join(NAMES)}, or a file of a matrix, or a .tns of rank 3",
            hint=nearest(name, NAMES),
        )
