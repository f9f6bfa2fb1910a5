"""What is timed: a program with its operands, how others say the same, and what any of them must do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.storage.tensor import Tensor

Matrix: TypeAlias = Any
"""A scipy.sparse array by rows, whose own types say little."""


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """A sparse tensor of any rank: coordinates (rank × count), sorted and distinct, and their values."""

    coordinates: Array
    values: Array
    shape: tuple[int, ...]


Answer: TypeAlias = Any
"""What a program gives: a float, an Array, a Matrix, or Entries."""

Operand: TypeAlias = Any
"""What a program is given: the same, or a Tensor, which is for storel alone."""


def unchanged(result: Any) -> Answer:
    """Return a result that is an answer as it stands."""
    return result


@dataclass(frozen=True, slots=True)
class Formulation:
    """How one library computes the answer: what is timed, and how its result is read, which is not."""

    run: Callable[[], Any]
    answer: Callable[[Any], Answer] = unchanged


@dataclass(frozen=True, slots=True)
class Einsum:
    """A sum of products in Einstein's notation, over operands by their names.

    >>> Einsum("ij,j->i", ("A", "x")).terms, Einsum("ij,j->i", ("A", "x")).output
    (('ij', 'j'), 'i')
    """

    subscripts: str
    names: tuple[str, ...]

    @property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.subscripts.partition("->")[0].split(","))

    @property
    def output(self) -> str:
        return self.subscripts.partition("->")[2]


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Reads of ``width`` consecutive numbers each, at the given rows of a table of so many ``rows``."""

    indices: Array
    rows: int
    width: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """A kernel on data.

    ``scipy`` and ``numpy`` are the best formulations by these libraries, where there are any; the first is
    what all answers are compared with. ``einsum`` is None for what is no single sum of products. ``flops``
    and ``gathers`` are compulsory: no implementation that reads the operands as they are does with fewer.
    """

    program: str
    operands: Mapping[str, Operand]
    flops: int
    scipy: Formulation | None = None
    numpy: Formulation | None = None
    einsum: Einsum | None = None
    gathers: tuple[Gather, ...] = ()

    @property
    def is_dense(self) -> bool:
        """Whether all operands are numbers and NumPy arrays."""
        return all(isinstance(operand, float | np.ndarray) for operand in self.operands.values())

    @property
    def reference(self) -> Formulation:
        """What all answers are compared with."""
        found = self.scipy or self.numpy
        assert found is not None, "a kernel has a formulation by SciPy or NumPy"
        return found


def by_rows(parts: tuple[Any, ...], shape: tuple[int, ...]) -> Matrix:
    """Return a matrix of values and their (rows, columns), or of values, columns and positions of rows.

    Its indices are of 32 bits, as SciPy makes them of files.
    """
    import scipy.sparse  # here, since it takes 0.2 s

    matrix = scipy.sparse.csr_array(parts, shape=shape)
    matrix.indices, matrix.indptr = (
        part.astype(np.int32, copy=False) for part in (matrix.indices, matrix.indptr)
    )
    return matrix


def bytes_of(data: Operand | Answer) -> int:
    """Return the bytes that an operand or an answer takes.

    >>> bytes_of(np.zeros((2, 3))), bytes_of(1.0)
    (48, 8)
    """
    match data:
        case np.ndarray():
            return data.nbytes
        case Entries():
            return data.coordinates.nbytes + data.values.nbytes
        case Tensor():
            return sum(array.nbytes for array in data.arrays.values())
        case _ if hasattr(data, "indptr"):
            return data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
        case _:
            return 8


def entries_of(data: Operand | Answer) -> Entries:
    """Return what is not zero, in lexicographic order.

    >>> entries_of(np.array([0.0, 2.0])).coordinates
    array([[1]])
    """
    match data:
        case Entries():
            return data
        case Tensor():
            return Entries(*data.to_coo(), data.shape)
        case _ if hasattr(data, "tocoo"):
            listed = data.tocsr(copy=True)
            listed.sum_duplicates()
            listed = listed.tocoo()
            return Entries(np.array((listed.row, listed.col), np.int64), listed.data, listed.shape)
        case _:
            array = np.asarray(data, float)
            places = np.nonzero(array) if array.ndim else (np.empty(0, np.int64),)
            return Entries(np.array(places), array[places] if array.ndim else array.reshape(1), array.shape)
