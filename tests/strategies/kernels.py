"""The kernels of the papers: their scripts, their operands, and what NumPy makes of them.

for kernel in KERNELS: run(kernel.script, **operands) equals kernel.numpy(**operands)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storel.arrays import Array

SCRIPTS = Path(__file__).parents[2] / "experiments" / "paper_kernels"

FORMATS = {
    1: ("dense", "coo"),
    2: ("dense", "coo", "csr", "csc", "dcsr"),
    3: ("dense", "coo", "csf"),
}
"""The formats in which a kernel's operand may be, by rank."""


@dataclass(frozen=True)
class PaperKernel:
    """A script and its meaning.

    ``operands`` names the dimensions of each operand by letters; ``subscripts`` is what NumPy's einsum
    computes them by, or ``reference`` does where it cannot.
    """

    name: str
    operands: dict[str, str]
    subscripts: str = ""
    reference: Callable[..., Array] | None = None

    @property
    def script(self) -> Path:
        return SCRIPTS / f"{self.name}.sdql"

    def numpy(self, arrays: dict[str, Array]) -> Array:
        """Return the answer by dense arithmetic."""
        if self.reference is not None:
            return self.reference(*arrays.values())
        return np.einsum(self.subscripts, *arrays.values())


def _sum_of_all(*matrices: Array) -> Array:
    return np.sum(matrices, axis=0)


def _batax(matrix: Array, vector: Array) -> Array:
    return 0.5 * (matrix.T @ (matrix @ vector))


def _scale_by_sum(matrix: Array, one: Array, other: Array) -> Array:
    return matrix * (one + other)[:, None]


def _triangles(matrix: Array) -> Array:
    return np.einsum("ij,jk,ik->", matrix, matrix, matrix)


KERNELS = (
    PaperKernel("add2", {"A": "ij", "B": "ij"}, reference=_sum_of_all),
    PaperKernel("add3", {"A": "ij", "B": "ij", "C": "ij"}, reference=_sum_of_all),
    PaperKernel("batax", {"A": "ij", "x": "j"}, reference=_batax),
    PaperKernel("mmm", {"A": "ik", "B": "kj"}, "ik,kj->ij"),
    PaperKernel("mttkrp", {"B": "ikl", "C": "kj", "D": "lj"}, "ikl,kj,lj->ij"),
    PaperKernel("scale_by_sum", {"A": "ij", "b": "i", "c": "i"}, reference=_scale_by_sum),
    PaperKernel("sddmm", {"S": "ij", "A": "ik", "B": "kj"}, "ij,ik,kj->ij"),
    PaperKernel("spmv", {"A": "ij", "x": "j"}, "ij,j->i"),
    PaperKernel("summm", {"A": "ik", "B": "kj"}, "ik,kj->"),
    PaperKernel("transposed", {"A": "ij", "B": "ji"}, "ij,ji->ij"),
    PaperKernel("triangles", {"A": "ii"}, reference=_triangles),
    PaperKernel("ttm", {"B": "ijl", "C": "kl"}, "ijl,kl->ijk"),
)


def kernel(name: str) -> PaperKernel:
    """Return the kernel of that name."""
    return next(each for each in KERNELS if each.name == name)


def random_operands(
    chosen: PaperKernel, seed: int, sizes: dict[str, int], dtype: str = "float64", density: float = 0.4
) -> dict[str, Array]:
    """Return random dense operands with empty rows; integers are small, so that products are exact."""
    generator = np.random.default_rng(seed)
    found: dict[str, Array] = {}
    for name, letters in chosen.operands.items():
        shape = tuple(sizes[letter] for letter in letters)
        values = generator.integers(1, 5, shape) if dtype.startswith("int") else generator.random(shape) - 0.5
        kept = generator.random(shape) < density
        if len(shape) > 1 and shape[0] > 2:
            kept[1] = False
        found[name] = np.where(kept, values, 0).astype(dtype)
    return found
