"""From a kernel's buffers to a tensor in the wanted format.

Formats whose levels are dense or compressed are assembled by the kernel itself, if keys can be entered in
their order. Else the kernel assembles such levels in another order, or lists the entries, and they are
packed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from operator import mul as multiply

import numpy as np

from storel.arrays import Array
from storel.host.memory import require_memory
from storel.optimizer.physical.destination import Candidate, is_dense, is_worth_a_place
from storel.plan.nodes import Coordinates, Destination, Levels, Place
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.storage.evident import verified_sizes
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.levels import CONSTRUCTOR, ORDER
from storel.storage.formats.signature import LevelKind, LevelSignature, level_signature
from storel.storage.tensor import Tensor, pack
from storel.syntax.parser import parse_format

SORTED, TURNED = 60.0, 8.0
"""Nanoseconds per entry of a list that is put in order and packed, and of levels stored otherwise."""


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """What a result is stored in, and what the kernel best assembles on the way there.

    ``assembled`` is None where nothing that the kernel can assemble is known for the rank: the entries
    are listed then. ``array`` is what may be assembled instead where most keys have an entry.
    """

    wanted: Format
    assembled: Format | None
    array: Format | None = None

    @property
    def candidate(self) -> Candidate | None:
        """The layout that the kernel is asked to assemble."""
        return None if self.assembled is None else _layout(self.assembled)

    def packing(self, destination: Destination) -> float:
        """Return the nanoseconds that each entry in ``destination`` takes until it is stored as wanted."""
        match destination:
            case Coordinates():
                return SORTED
            case Levels():
                return 0.0 if _assembled(destination, self) is self.wanted else TURNED


@cache
def _layout(assembled: Format) -> Candidate:
    """Return the levels of a format, found once since each call asks for them."""
    signature = level_signature(assembled)
    assert signature is not None
    return Candidate(tuple(level.kind for level in signature.levels), signature.order)


def choose_result_format(
    storage: Format | None, extents: tuple[int, ...], counts: tuple[float, ...], formats: Formats
) -> ResultFormat:
    """Return the format of a result, where ``storage`` is what was asked for.

    ``counts`` are the estimated numbers of entries down to each dimension. Where nothing was asked for, the
    result is dense, or sparse, or a nest of sparse levels with dense rows in it if these are mostly full.
    """
    if storage is None:
        storage = _default(extents, counts, formats)
    array = _array(storage, extents, counts, formats)
    if _can_assemble(storage):
        return ResultFormat(storage, storage, array)
    sparse = sparse_format(extents, counts[-1], formats)
    return ResultFormat(storage, sparse if _can_assemble(sparse) else None, array)


def _array(
    storage: Format, extents: tuple[int, ...], counts: tuple[float, ...], formats: Formats
) -> Format | None:
    """Return the default for dense tensors where most keys of another one have an entry."""
    rank, signature = len(extents), level_signature(storage)
    if rank not in formats.defaults.dense or (signature is not None and signature.is_full):
        return None
    return formats.default(rank, is_dense=True) if is_dense(counts[-1], extents) else None


def sparse_format(extents: tuple[int, ...], entries: float, formats: Formats) -> Format:
    """Return the default for sparse tensors; compressed levels where it has too many places or is none."""
    rank = len(extents)
    if rank in formats.defaults.sparse:
        default = formats.default(rank, is_dense=False)
        signature = level_signature(default)
        kinds = [] if signature is None else [level.kind for level in signature.levels]
        places = zip(kinds, accumulate(extents, multiply), strict=False)
        if all(kind is not LevelKind.DENSE or is_worth_a_place(rows, entries) for kind, rows in places):
            return default
    return _nest((LevelKind.COMPRESSED.value,) * rank, tuple(range(rank)))


def _default(extents: tuple[int, ...], counts: tuple[float, ...], formats: Formats) -> Format:
    """Return the format of a result with so many entries down to each dimension."""
    rank = len(extents)
    if rank == 0 or is_dense(counts[-1], extents):
        return formats.default(rank, is_dense=True)
    rows = zip(counts, (1.0, *counts), extents, strict=False)
    is_full = [is_dense(count / max(1.0, parents), (extent,)) for count, parents, extent in rows]
    if all(is_full) or not is_full[-1]:
        return formats.default(rank, is_dense=all(is_full))
    kinds = tuple((LevelKind.DENSE if full else LevelKind.COMPRESSED).value for full in is_full)
    return _nest(kinds, tuple(range(rank)))


def _can_assemble(storage: Format) -> bool:
    """Return whether the levels of ``storage`` are those that keys of a result can be entered in."""
    signature = level_signature(storage)
    return signature is not None and all(level.kind is not LevelKind.SINGLETON for level in signature.levels)


@dataclass(frozen=True)
class Collector:
    """Makes tensors of what a kernel has written, in ``destination``; what each of them has is found once."""

    destination: Destination
    result: ResultFormat
    shape: tuple[int, ...]
    type: ScalarType
    semiring: str
    is_closed: bool

    def __call__(self, outputs: Mapping[str, Array]) -> Tensor:
        """Return the tensor that a kernel's output buffers hold."""
        if isinstance(self.destination, Coordinates):
            return self._listed(outputs)
        assembled, signature = self._assembled
        arrays = _arrays(outputs, signature, self.shape)
        values, ring, kind = arrays[signature.values], SEMIRINGS[self.semiring], self.type
        if ring.with_zero(kind) is not kind and bool((values == ring.zero).any()):
            kind = ring.with_zero(kind)  # a place without an entry holds no integer
        arrays[signature.values] = values.astype(kind.dtype, copy=False)
        sizes = verified_sizes(assembled, self.shape, arrays)
        tensor = Tensor(self.shape, kind, assembled, arrays, sizes, self.semiring, self.is_closed)
        return tensor if self.result.wanted is assembled else tensor.stored_as(self.result.wanted)

    def _listed(self, outputs: Mapping[str, Array]) -> Tensor:
        """Return the tensor of a list of entries."""
        parts = [outputs[f"result.coordinate_{number}"] for number in range(len(self.shape))]
        values = outputs["result.val"].astype(self.type.dtype, copy=False)
        copied = 2 * (values.nbytes + sum(part.nbytes for part in parts))
        require_memory(copied, "putting the entries of the result in order")
        wanted, closed = self.result.wanted, self.is_closed
        return pack(wanted, np.stack(parts), values, self.shape, self.semiring, is_closed=closed)

    @cached_property
    def _assembled(self) -> tuple[Format, LevelSignature]:
        """The format whose levels the kernel assembles."""
        assert isinstance(self.destination, Levels)
        assembled = _assembled(self.destination, self.result)
        signature = level_signature(assembled)
        assert signature is not None
        return assembled, signature


def _assembled(levels: Levels, result: ResultFormat) -> Format:
    """Return the format whose levels a kernel has assembled."""
    kinds = tuple(
        LevelKind.DENSE if isinstance(each, Place) else LevelKind.COMPRESSED for each in levels.levels
    )
    if result.assembled is not None and result.candidate == Candidate(kinds, levels.dimensions):
        return result.assembled
    return _nest(tuple(kind.value for kind in kinds), levels.dimensions)


@cache
def _nest(kinds: tuple[str, ...], order: tuple[int, ...]) -> Format:
    """Return the format of levels that hold the dimensions in an order."""
    is_natural = order == tuple(range(len(order)))
    turned = "" if is_natural else f"; {ORDER}=({', '.join(map(str, order))})"
    text = f"{CONSTRUCTOR}({', '.join(kinds)}{turned})"
    return Formats().resolve(parse_format(text), len(order))


def _arrays(
    outputs: Mapping[str, Array], signature: LevelSignature, shape: tuple[int, ...]
) -> dict[str, Array]:
    """Return the arrays of the levels under the names that the format gives them.

    The kernel has room for as many positions as it may need; a level is cut to those of its parent.
    """
    arrays: dict[str, Array] = {}
    positions = 1
    for number, level in enumerate(signature.levels):
        if level.pos is not None:
            arrays[level.pos] = outputs[f"result.pos_{number}"][: positions + 1]
        if level.idx is None:
            positions *= shape[level.dimension]
            continue
        arrays[level.idx] = outputs[f"result.idx_{number}"]
        positions = len(arrays[level.idx])
    arrays[signature.values] = outputs["result.val"][:positions]
    return arrays
