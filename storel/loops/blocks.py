"""Into which blocks a dense contraction is divided: what its code and its caller agree on.

A tile of the result stays in registers; a block of the left operand fits into the second cache.
"""

from __future__ import annotations

TILE_ROWS = 8
TILE_VECTORS = 3
"""The tile in registers: rows, and vectors in a row."""

DEPTH = 320
"""How many summands a packed block has."""

BLOCK_ROWS = 12
BLOCK_COLUMNS = 80
"""How many tiles of rows, and of columns, a packed block has."""

VECTOR_BYTES = 64
"""The most bytes of a vector."""

PACKED_LEFT = TILE_ROWS * BLOCK_ROWS * DEPTH
PACKED_RIGHT = TILE_VECTORS * VECTOR_BYTES * BLOCK_COLUMNS * DEPTH
"""How many elements packed blocks have at most, whatever their type."""
