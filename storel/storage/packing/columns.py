"""Vectors with one element per entry: computed in 64 bits, piece by piece, kept in 32 bits if these do.

A piece and what is computed from it stay in the processor's cache; half as many bytes are read and written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.storage.blocks import small_blocks

LARGEST_KEPT = 2**30
"""Of two numbers that are kept in 32 bits, the sum is one of 32 bits, too."""


def pieces(
    vectors: Mapping[str, Array], count: int, *, are_small: bool = False
) -> Iterator[tuple[slice, dict[str, Array]]]:
    """Yield pieces of vectors of length ``count``; at least one, even if it is empty.

    Integers are in 64 bits, unless 32 hold all that is computed from them: ``are_small``.
    """
    for piece in small_blocks(max(count, 1)):
        yield piece, {name: _wide(vector[piece], are_small) for name, vector in vectors.items()}


def collected(count: int, parts: Iterable[tuple[slice, Any]], *, are_small: bool = False) -> Array:
    """Return the vector of ``count`` elements that has these parts; ``are_small`` says that 32 bits do."""
    found = np.empty(count, dtype=np.int32)
    for piece, part in parts:
        if are_small:
            found[piece] = part
            continue
        wanted = _kept_type(np.asarray(part))
        if not np.can_cast(wanted, found.dtype):
            found = found.astype(np.promote_types(wanted, found.dtype))
        found[piece] = part
    return found


def narrowed(vector: Array) -> Array:
    """Return a vector in 32 bits if these hold it."""
    if vector.dtype == np.int32 and all(
        _kept_type(vector[piece]) == vector.dtype for piece in small_blocks(len(vector))
    ):
        return vector
    return collected(len(vector), ((piece, vector[piece]) for piece in small_blocks(len(vector))))


def _wide(part: Array, are_small: bool) -> Array:
    return part.astype(np.int64) if part.dtype == np.int32 and not are_small else part


def _kept_type(part: Array) -> np.dtype[Any]:
    if part.dtype.kind != "i":
        return part.dtype
    is_small = part.max(initial=0) <= LARGEST_KEPT and part.min(initial=0) >= -LARGEST_KEPT
    return np.dtype(np.int32 if is_small else np.int64)
