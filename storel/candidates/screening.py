"""What speaks against a format before anything is packed: its memory, its loops, and a sample.

The declared lengths of arrays are evaluated, as far as extents and parameters determine them. How many
iterations a mapping has is estimated after Knuth, "Estimating the efficiency of backtrack programs", 1975:
along a random path through its loops the product of their lengths is, on average, the number of
iterations; a loop whose bounds are read from arrays counts as one. What fits a tensor mostly fits parts
of it, too, so large ones are only packed where a part is not refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, FormatError, MemoryLimitError
from storel.storage.coordinates import index_dtype
from storel.storage.entries import Entries
from storel.storage.formats.chain import Chain, ChainLoop
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import evaluate_size, free_size_names
from storel.storage.tensor import Tensor, pack_entries
from storel.storage.trials.samples import Sample
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import ArrayDeclaration
from storel.syntax.nodes.expressions import Expression
from storel.syntax.spelling import CALLS

MOST_MEMORY = 8.0
"""The most times the memory of coordinates and values that a format may take."""

MOST_STEPS = 16.0
"""The most iterations of the mapping for each entry: all of them are gone through when it is packed."""

SMALL = 2**12
"""Bytes, and iterations, that are never too many."""

SAMPLED = 2**15
"""Entries up to which a tensor is packed as a whole at once; a sample has about as many."""

PATHS = 256
SEED = 1975


def coordinate_bytes(shape: tuple[int, ...], entries: int, value_bytes: int) -> int:
    """Return what the entries take as a list of coordinates and values."""
    return entries * (len(shape) * index_dtype(shape, entries).itemsize + value_bytes)


def most_bytes(shape: tuple[int, ...], entries: int, value_bytes: int) -> int:
    """Return the most bytes that a format may take for so many entries."""
    return max(int(MOST_MEMORY * coordinate_bytes(shape, entries, value_bytes)), SMALL)


def memory_objection(needed: int, shape: tuple[int, ...], entries: int, value_bytes: int) -> str | None:
    """Return why so many bytes are too many; None if they are not."""
    if needed <= most_bytes(shape, entries, value_bytes):
        return None
    listed = coordinate_bytes(shape, entries, value_bytes)
    return f"{needed:,} bytes, where coordinates take {listed:,}"


def size_objection(storage: Format, shape: tuple[int, ...], entries: int, value_bytes: int) -> str | None:
    """Return why a format, its parameters known, is too large for so many entries; None if nothing says so.

    Raises FormatError if it stores no tensors of this shape.
    """
    sizes = storage.sizes(shape)
    needed = 0
    for declaration in storage.arrays:
        (length,) = declaration.type.extents
        if free_size_names(length) <= sizes.keys():
            needed += evaluate_size(length, sizes) * _element_bytes(declaration, value_bytes)
    objection = memory_objection(needed, shape, entries, value_bytes)
    if objection is not None:
        return objection
    steps = sum(_steps(chain, sizes) for chain in storage.chains)
    if steps <= max(MOST_STEPS * entries, SMALL):
        return None
    return f"its loops go through about {steps:.2g} places for {entries:,} entries"


def sample_objection(storage: Format, tensor: Tensor) -> str | None:
    """Return why a large tensor will not fit, as far as parts of it tell; None if one of them fits."""
    refusals: list[str] = []
    for part in samples(tensor):
        extent = (part.shape, len(part), tensor.dtype.itemsize)
        try:
            if size_objection(storage, *extent) is not None:
                return None
            entries = Entries(part.coordinates, part.values, part.shape, tensor.semiring)
            pack_entries(storage, entries, memory_limit=most_bytes(*extent))
        except (FormatError, DataError, MemoryLimitError) as error:
            refusals.append(error.message)
            continue
        return None
    return f"of a part of the tensor: {refusals[0]}" if refusals else None


def samples(tensor: Tensor) -> Iterator[Sample]:
    """Yield parts of a large tensor: its corner, and its first rows with the other keys renumbered."""
    coordinates, values = tensor.to_coo()
    if len(values) <= SAMPLED or tensor.rank == 0:
        return
    distance = coordinates.max(axis=0)
    side = int(np.partition(distance, SAMPLED)[SAMPLED])
    corner = distance < side
    shape = tuple(min(side, extent) for extent in tensor.shape)
    if corner.any():
        yield _sample(shape, coordinates[:, corner], values[corner])
    rows = coordinates[0] < coordinates[0][SAMPLED]
    if rows.any():
        keys = [np.unique(axis[rows], return_inverse=True)[1] for axis in coordinates]
        extents = tuple(int(axis.max(initial=-1)) + 1 for axis in keys)
        yield _sample(extents, np.array(keys), values[rows])


def _sample(shape: tuple[int, ...], coordinates: Array, values: Array) -> Sample:
    return Sample(shape, coordinates, values, np.arange(len(values)))


def _element_bytes(declaration: ArrayDeclaration, value_bytes: int) -> int:
    if declaration.holds_values:
        return value_bytes
    return 4 if declaration.holds_indices else 1


def _steps(chain: Chain, sizes: dict[str, int]) -> float:
    """Return about how many iterations a chain has, those of loops between elements of arrays left out."""
    random = np.random.default_rng(SEED)
    names: dict[str, Any] = dict(sizes)
    weights, most = np.ones(PATHS), 1.0
    for step in chain.steps:
        if not isinstance(step, ChainLoop) or not _is_known(names, step.low, step.high):
            continue
        low, high = (evaluate_vector(bound, names, {}) for bound in (step.low, step.high))
        lengths = np.maximum(np.broadcast_to(high - low, (PATHS,)), 0)
        weights = weights * lengths
        most = max(most, float(weights.mean()))
        if step.array is None:
            names[step.position] = low + np.floor(random.random(PATHS) * lengths).astype(np.int64)
    return most


def _is_known(names: dict[str, Any], *expressions: Expression) -> bool:
    """Return whether bounds name nothing but sizes and variables that are known, and functions."""
    return all(free_names(each) - CALLS.keys() <= names.keys() for each in expressions)
