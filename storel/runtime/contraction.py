"""Dense contractions as matrix products: by packed blocks in C, by NumPy's for Numba.

In C, several threads compute a part of the rows each. NumPy's product is of transposed copies, unless the
operands lie so that there is nothing to transpose.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from storel.arrays import Array
from storel.host.memory import require_memory
from storel.loops.blocks import STRIP, TILE_ROWS, VECTOR_BYTES, packed_lengths, tile_columns
from storel.loops.nodes import Allocation, Buffer
from storel.plan.contraction import Contraction, Operand
from storel.runtime import pool
from storel.runtime.buffers import address, allocate
from storel.runtime.kernel import NOTHING, Input
from storel.runtime.library import Entry, load_entries
from storel.scalars import ScalarType
from storel.semiring import Scalar

Loops: TypeAlias = tuple[int, ...]

_SLOTS = struct.Struct("=14Qd?7x")

RESULT = "result.val"

WORTH_THREADS = 2**23
"""The multiplications from which on several threads take less time than one: a third of a millisecond."""


@dataclass(frozen=True)
class ContractionKernel:
    """A contraction, run as a ``CompiledKernel`` is; without an ``entry`` it is computed by NumPy.

    Zero times inf is zero. So the operands of one that ``is_checked`` are looked at for inf and NaN.
    """

    contraction: Contraction
    threads: int
    entry: Entry | None
    is_checked: bool = False

    def is_right(self, inputs: Mapping[str, Input]) -> bool:
        """Return whether this computes what the loops do: no operand is inf or NaN."""
        operands = (self.contraction.left, self.contraction.right)
        return not self.is_checked or all(_is_finite(inputs[each.name].array) for each in operands)

    def run(
        self,
        scalars: Mapping[str, Scalar],
        inputs: Mapping[str, Input],
        memory_limit: int | None = None,
        begun: Mapping[str, Array] = NOTHING,
    ) -> dict[str, Array]:
        """Return the result, dense and in one piece; raise MemoryLimitError where it does not fit.

        The product is added to a result that was ``begun`` by another kernel.
        """
        layout = self._layout
        this, places = layout.this, layout.places
        copied = 0
        if self.entry is None:  # NumPy may transpose the operands and the product
            sides = this.extent(this.rows) + this.extent(this.columns)
            copied = places + this.extent(this.batch) * this.extent(this.summed) * sides
        require_memory((places + copied) * this.type.itemsize, "the result", memory_limit)
        continues = RESULT in begun
        result = begun[RESULT] if continues else allocate(Allocation(Buffer(RESULT, this.type), 0), places)
        factor = math.prod((float(scalars[name]) for name in this.scalars), start=this.factor)
        if self.entry is None:
            _by_numpy(this, inputs, factor, result, continues=continues)
        else:
            self._by_blocks(layout, inputs, factor, result, self.entry, continues=continues)
        return {RESULT: result}

    @cached_property
    def _layout(self) -> _Layout:
        return _layout(self.contraction)

    def _by_blocks(
        self,
        layout: _Layout,
        inputs: Mapping[str, Input],
        factor: float,
        result: Array,
        entry: Entry,
        *,
        continues: bool,
    ) -> None:
        this = layout.this
        size = this.type.itemsize
        left_at = inputs[this.left.name].address + size * this.left.offset
        right_at = inputs[this.right.name].address + size * this.right.offset
        made_at = address(result)
        batch = [
            (left_at + size * one, right_at + size * other, made_at + size * place)
            for one, other, place in layout.batch
        ]

        def run(part: _Part) -> None:
            packed = [_aligned(this.type, length) for length in part.packed_lengths]
            rest = (*part.addresses, *map(address, packed), *part.sizes, factor, continues)
            for places in batch:
                entry(_SLOTS.pack(*places, *rest), None)

        pool.run_all([partial(run, part) for part in self._parts])

    @cached_property
    def _parts(self) -> list[_Part]:
        """What each thread computes: whole tiles of rows or of columns, whichever are more."""
        layout = self._layout
        rows, columns = len(layout.left_rows), len(layout.right_columns)
        by_rows = rows >= columns
        most = rows if by_rows else columns
        tile = TILE_ROWS if by_rows else tile_columns(self.contraction.type.itemsize)
        tiles = -(-most // tile)
        count = min(self.threads, tiles) if math.prod(self.contraction.extents) >= WORTH_THREADS else 1
        cuts = [*(tile * (tiles * part // count) for part in range(count)), most]
        parts = [slice(low, high) for low, high in pairwise(cuts)]
        return [_part(layout, *((part, slice(None)) if by_rows else (slice(None), part))) for part in parts]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the operands' and the result's elements lie, from the first one: the same in each run.

    ``this`` is the contraction, turned so that neighbours in the result are in one row, ``batch`` has three
    offsets for each product.
    """

    this: Contraction
    places: int
    batch: tuple[tuple[int, int, int], ...]
    left_rows: NDArray[np.int64]
    depths: tuple[NDArray[np.int64], NDArray[np.int64]]
    right_columns: NDArray[np.int64]
    made_rows: NDArray[np.int64]
    made_columns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows and columns that a thread computes, in the terms of the code: the same in each run.

    ``addresses`` are those of the ``offsets``, ``sizes`` the numbers of rows, columns and summands.
    """

    offsets: tuple[NDArray[np.int64], ...]
    addresses: tuple[int, ...]
    sizes: tuple[int, int, int]
    packed_lengths: tuple[int, int]


def _part(layout: _Layout, rows: slice, columns: slice) -> _Part:
    left, right = layout.left_rows[rows], layout.right_columns[columns]
    offsets = left, *layout.depths, right, layout.made_rows[rows], layout.made_columns[columns]
    sizes = len(left), len(right), len(layout.depths[0])
    lengths = packed_lengths(layout.this.type.itemsize, *sizes)
    return _Part(offsets, tuple(array.ctypes.data for array in offsets), sizes, lengths)


def _layout(contraction: Contraction) -> _Layout:
    this = _with_columns_last(contraction)
    rows, columns, summed = (_nested(this, loops) for loops in (this.rows, this.columns, this.summed))
    left, right, made = (partial(_offsets, this, strides) for strides in this.all_strides)
    batch = (offsets(this.batch).tolist() for offsets in (left, right, made))
    return _Layout(
        this,
        this.extent(this.batch) * this.extent(this.rows) * this.extent(this.columns),
        tuple(zip(*batch, strict=True)),
        left(rows),
        (left(summed), right(summed)),
        right(columns),
        made(rows),
        made(columns),
    )


def _is_finite(array: Array) -> bool:
    """Return whether no element is inf or NaN, nor their sum: it is quicker to ask for that."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum()))


def contraction_kernel(
    contraction: Contraction, source: str | None, count: int, *, is_checked: bool
) -> ContractionKernel:
    """Return the kernel of a contraction, run by ``count`` threads; without C ``source`` by NumPy."""
    entry = None if source is None else load_entries(source, ["contract"], "c")[0]
    return ContractionKernel(contraction, count, entry, is_checked)


def _with_columns_last(this: Contraction) -> Contraction:
    """Return the contraction, operands exchanged or not, such that neighbours in the result are in a row."""

    def least(loops: Loops) -> int:
        return min(abs(this.strides[loop]) for loop in loops)

    return this if least(this.columns) <= least(this.rows) else this.turned


def _nested(this: Contraction, loops: Loops) -> Loops:
    """Return the loops in order: last that of neighbours in the result, and before it, in an operand.

    Where the result is larger than the operand they are as the result lies.
    """

    def in_operands(loop: int) -> int:
        return abs(this.left.strides[loop]) + abs(this.right.strides[loop])

    def in_result(loop: int) -> tuple[int, int]:
        return abs(this.strides[loop]), in_operands(loop)

    ordered = sorted(loops, key=in_result, reverse=True)
    if loops in (this.rows, this.columns):
        across = this.columns if loops == this.rows else this.rows
        if this.extent(across) > this.extent(this.summed):
            return tuple(ordered)
    nearest = min(ordered, key=in_operands, default=None)
    return tuple(sorted(ordered, key=lambda loop: (loop == ordered[-1], loop == nearest)))


def _aligned(scalar_type: ScalarType, length: int) -> Array:
    """Return a buffer for a packed block: its vectors should not lie in two cache lines."""
    buffer = Buffer("packed", scalar_type)
    made = allocate(Allocation(buffer, 0), length + VECTOR_BYTES // scalar_type.itemsize)
    start = -address(made) % VECTOR_BYTES // scalar_type.itemsize
    return made[start : start + length]


def _offsets(this: Contraction, strides: tuple[int, ...], loops: Loops) -> NDArray[np.int64]:
    """Return how far each iteration of a nest of loops is from the first one.

    The last two loops are gone through in strips, so that whole cache lines are read by the one, and written
    by the other.
    """
    steps = [np.arange(this.extents[loop], dtype=np.int64) * strides[loop] for loop in loops]
    if len(steps) > 1:
        plane = steps[-2][:, None] + steps[-1]
        strips = [plane[:, low : low + STRIP].ravel() for low in range(0, plane.shape[1], STRIP)]
        steps[-2:] = [np.concatenate(strips)]
    found = np.zeros(1, np.int64)
    for step in steps:
        found = (found[:, None] + step).ravel()
    return found


def _by_numpy(
    this: Contraction, inputs: Mapping[str, Input], factor: float, result: Array, *, continues: bool
) -> None:
    rows, columns, summed = (_nested(this, loops) for loops in (this.rows, this.columns, this.summed))
    batch, counts = this.batch, [this.extent(loops) for loops in (this.batch, rows, columns, summed)]
    left = _view(this, this.left, inputs, (*batch, *rows, *summed)).reshape(counts[0], counts[1], counts[3])
    right = _view(this, this.right, inputs, (*batch, *summed, *columns)).reshape(
        counts[0], counts[3], counts[2]
    )
    product = np.matmul(left, right)
    if factor != 1.0:
        product *= factor
    loops = (*batch, *rows, *columns)
    shape = [this.extents[loop] for loop in loops]
    strides = [this.strides[loop] * result.itemsize for loop in loops]
    made = as_strided(result, shape, strides)
    np.add(made, product.reshape(shape), out=made) if continues else np.copyto(made, product.reshape(shape))


def _view(this: Contraction, operand: Operand, inputs: Mapping[str, Input], loops: Loops) -> Array:
    array = inputs[operand.name].array[operand.offset :]
    shape = [this.extents[loop] for loop in loops]
    return as_strided(array, shape, [operand.strides[loop] * array.itemsize for loop in loops])
