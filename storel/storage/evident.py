"""Declared properties of arrays that a format's levels were made to: only what else is declared is verified.

    compressed  idx IN 0:extent INCREASING WITHIN pos, pos ASCENDING FROM 0 TO the length of idx
    singleton   idx IN 0:extent, and above it INCREASING (idx, …)

To pack, and to convert rows, sorts entries and counts them, so that these hold whatever the data is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from storel.arrays import Array
from storel.storage.conversion.row_layouts import CompressedRows, row_layout
from storel.storage.formats.format import Format
from storel.storage.formats.properties import verify_made
from storel.storage.formats.signature import LevelKind, LevelSignature, level_signature
from storel.storage.formats.sizes import evaluate_size, free_size_names
from storel.storage.packing.pack import all_sizes
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    Ascending,
    FromTo,
    Increasing,
    IncreasingTuple,
    InRange,
    Pad,
    Property,
)
from storel.syntax.nodes.expressions import Name, Number


def verified_sizes(storage: Format, shape: tuple[int, ...], arrays: Mapping[str, Array]) -> dict[str, int]:
    """Return the value of every size name, as ``all_sizes`` does, for arrays that levels were made to.

    Raises FormatError if they have not all properties that the format declares.
    """
    sizes = all_sizes(storage, shape, arrays)
    for declaration in _open(storage, shape):
        verify_made(storage.name, declaration, arrays, sizes)
    return sizes


@lru_cache(maxsize=1024)
def _open(storage: Format, shape: tuple[int, ...]) -> tuple[ArrayDeclaration, ...]:
    """Return the declarations of arrays with those properties only that are not evident."""
    signature, layout = level_signature(storage), row_layout(storage, shape)
    if signature is not None:
        evident = _of_levels(storage, signature)
    elif isinstance(layout, CompressedRows):
        evident = _of_tiles(storage, shape, layout)
    else:
        return ()  # what is solved has been verified
    return tuple(_others(storage, set(evident)))


def _others(storage: Format, evident: set[tuple[str, Property]]) -> Iterator[ArrayDeclaration]:
    for declaration in storage.arrays:
        name, properties = declaration.name, declaration.properties
        left = tuple(each for each in properties if (name, each) not in evident)
        if any(not isinstance(each, Pad) for each in left):
            yield replace(declaration, properties=left)


def _of_levels(storage: Format, signature: LevelSignature) -> Iterator[tuple[str, Property]]:
    for number, level in enumerate(signature.levels):
        if level.idx is None:
            continue
        yield level.idx, InRange(Number(0), Name(level.extent))
        if level.kind is LevelKind.SINGLETON:
            continue
        if level.pos is not None:
            yield from _of_boundaries(storage, level.pos, level.idx)
        below = signature.levels[number + 1 :]
        if not below or below[0].kind is not LevelKind.SINGLETON:
            yield level.idx, Increasing(level.pos)
        elif number == 0:
            yield level.idx, IncreasingTuple((level.idx, *(each.idx for each in below if each.idx)))


def _of_boundaries(storage: Format, pos: str, idx: str) -> Iterator[tuple[str, Property]]:
    (length,) = next(each.type.extents for each in storage.arrays if each.name == idx)
    yield pos, Ascending()
    yield pos, FromTo(Number(0), length)


def _of_tiles(
    storage: Format, shape: tuple[int, ...], layout: CompressedRows
) -> Iterator[tuple[str, Property]]:
    yield from _of_boundaries(storage, layout.pos, layout.idx)
    yield layout.idx, Increasing(layout.pos)
    sizes, extent, side = storage.sizes(shape), shape[layout.order[1]], layout.tile[1]
    for each in next(each.properties for each in storage.arrays if each.name == layout.idx):
        if not isinstance(each, InRange) or free_size_names(each.high) - sizes.keys():
            continue
        if each.low == Number(0) and evaluate_size(each.high, sizes) * side >= extent:
            yield layout.idx, each
