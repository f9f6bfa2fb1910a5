"""Tensors that are declared by their statistics: they have formats and facts, and no data.

The number of positions of each level is that of the distinct prefixes of its keys; so the statistics of
a tensor in one format serve for its plans in another. Nothing can run on such a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from storel.degrees import Degrees, uniform
from storel.errors import FormatError
from storel.scalars import ScalarType
from storel.storage.coordinates import index_dtype
from storel.storage.formats.format import Format
from storel.storage.formats.signature import LevelKind, LevelSignature, level_signature
from storel.storage.formats.sizes import evaluate_size
from storel.storage.summary import Summary
from storel.symbols import ArraySymbol
from storel.syntax.nodes.declarations import ArrayDeclaration
from storel.syntax.nodes.expressions import Name


def declared_sizes(summary: Summary, storage: Format) -> dict[str, int]:
    """Return the sizes of a tensor of which only statistics are known, as it would be stored in a format.

    Raises FormatError for a format that is no nest of levels, or of another rank.
    """
    signature = level_signature(storage)
    if signature is None or storage.rank != len(summary.shape):
        raise FormatError(
            f"format {storage.name} cannot be planned for without data",
            expected=f"a nest of levels for tensors of rank {len(summary.shape)}",
        )
    sizes = dict(zip(storage.extents, summary.shape, strict=True)) | dict(storage.arguments)
    lengths = _lengths(signature, summary)
    for declaration in storage.arrays:
        (length,) = declaration.type.extents
        if isinstance(length, Name) and declaration.name in lengths:
            sizes.setdefault(length.name, lengths[declaration.name])
    return sizes


def stated_facts(storage: Format, summary: Summary, symbol: ArraySymbol, declared: str) -> ArraySymbol:
    """Add to what the declaration of an array says what the statistics do."""
    signature = level_signature(storage)
    assert signature is not None
    if declared == signature.values:
        nonzeros = min(summary.nnz, symbol.length)
        nonzero = nonzeros == symbol.length and not signature.is_full
        return replace(symbol, nonzeros=nonzeros, nonzero=nonzero, finite=summary.is_finite)
    above = 1
    for number, level in enumerate(signature.levels):
        degrees = summary.modes[level.dimension].degrees
        here = _positions(signature, summary, number)
        if declared == level.idx:
            occurrences = degrees if number + 1 == len(signature.levels) else _spread(degrees, here)
            distinct = degrees.nonempty if symbol.ascending else None
            return replace(symbol, finite=True, occurrences=occurrences, distinct=distinct)
        if declared == level.pos:
            parent = signature.levels[number - 1] if number else None
            is_mode = number == 1 and parent is not None and len(signature.levels) == 2
            segments = uniform(above, min(above, here), here)
            nonempty = segments.nonempty
            if is_mode and parent is not None:
                known = summary.modes[parent.dimension].degrees
                nonempty = known.nonempty
                segments = known if parent.kind is LevelKind.DENSE else replace(known, extent=above)
            return replace(symbol, finite=True, segments=segments, distinct=nonempty + 1)
        above = here
    return replace(symbol, finite=True)


def array_type(summary: Summary, declaration: ArrayDeclaration) -> ScalarType:
    """Return the type that packing would give an array."""
    if declaration.holds_values:
        return summary.type
    found = ScalarType.of(index_dtype(summary.shape, summary.nnz))
    assert found is not None
    return found


def array_length(declaration: ArrayDeclaration, sizes: Mapping[str, int]) -> int:
    """Return the declared length of an array; raises FormatError where nothing fixes it."""
    (length,) = declaration.type.extents
    return evaluate_size(length, sizes)


def _lengths(signature: LevelSignature, summary: Summary) -> dict[str, int]:
    """Return the lengths of the arrays of the levels."""
    lengths: dict[str, int] = {}
    above = 1
    for number, level in enumerate(signature.levels):
        here = _positions(signature, summary, number)
        if level.pos is not None:
            lengths[level.pos] = above + 1
        if level.idx is not None:
            lengths[level.idx] = here
        above = here
    return lengths | {signature.values: above}


def _positions(signature: LevelSignature, summary: Summary, number: int) -> int:
    """Return the number of positions of a level."""
    level = signature.levels[number]
    if level.kind is LevelKind.DENSE:
        above = _positions(signature, summary, number - 1) if number else 1
        return above * summary.shape[level.dimension]
    below = signature.levels[number + 1 :]
    if level.kind is LevelKind.SINGLETON or (below and below[0].kind is LevelKind.SINGLETON):
        return summary.nnz
    order = signature.order
    if order[: number + 1] == summary.order[: number + 1]:
        return summary.prefixes[number]
    # Keys of several dimensions: as many as can occur, each combination by chance.
    places = math.prod(summary.modes[dimension].degrees.nonempty for dimension in order[: number + 1])
    drawn = places * -math.expm1(-summary.nnz / places) if places else 0.0
    least = max(summary.modes[dimension].degrees.nonempty for dimension in order[: number + 1])
    last = number + 1 == len(order)
    return summary.nnz if last else min(summary.nnz, max(least, round(drawn)))


def _spread(degrees: Degrees, positions: int) -> Degrees:
    """Return how often each key occurs at so many positions, as if they shared the entries alike."""
    return uniform(degrees.extent, min(degrees.nonempty, positions), float(positions))
