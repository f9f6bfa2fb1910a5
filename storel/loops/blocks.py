"""Into which blocks a dense contraction is divided: what its code and its caller agree on.

A tile of the result stays in registers; a block of the left operand fits into the second cache.
"""

from __future__ import annotations

TILE_ROWS = 8
TILE_VECTORS = 3
"""The most that a tile in registers has: rows, and vectors in a row; of 16 registers, half the rows."""

DEPTH = 320
"""How many summands a packed block has."""

BLOCK_ROWS = 12
BLOCK_COLUMNS = 80
"""How many tiles of rows, and of columns, a packed block has."""

VECTOR_BYTES = 64
"""The most bytes of a vector; packed blocks begin at a multiple: no vector lies in two cache lines."""

STRIP = 48
"""How many neighbours in the result are packed before neighbours in an operand are gone through."""


def tile_columns(itemsize: int) -> int:
    """Return how many columns a tile has, a multiple of what it has where vectors are shorter."""
    return TILE_VECTORS * VECTOR_BYTES // itemsize


def packed_lengths(itemsize: int, rows: int, columns: int, depth: int) -> tuple[int, int]:
    """Return how many elements the packed blocks of both operands have at most, tiles being whole."""
    deep, width = min(depth, DEPTH), tile_columns(itemsize)
    left = min(-(-rows // TILE_ROWS), BLOCK_ROWS) * TILE_ROWS
    right = min(-(-columns // width), BLOCK_COLUMNS) * width
    return left * deep, right * deep
