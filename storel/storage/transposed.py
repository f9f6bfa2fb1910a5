"""A matrix of compressed rows, stored by compressed columns instead: in linear time, and nothing is listed.

Entries are put in buckets, one for each column, in the order in which they come, which is that of the rows.
It is Gustavson's algorithm, "Two fast algorithms for sparse matrices", ACM TOMS 1978, as SciPy has it.
"""

from __future__ import annotations

import numpy as np

from storel.memory import require_memory
from storel.semiring import SEMIRINGS
from storel.storage.blocks import count_unlike
from storel.storage.coordinates import are_many, index_dtype
from storel.storage.formats import Format
from storel.storage.signature import LevelKind, LevelSignature, level_signature
from storel.storage.stored import Array, Stored
from storel.syntax.nodes.declarations import Increasing

COMPRESSED_ROWS = (LevelKind.DENSE, LevelKind.COMPRESSED)


def transposed_arrays(tensor: Stored, storage: Format) -> dict[str, Array] | None:
    """Return the arrays of a matrix in a format that has the same levels for the other dimensions.

    None is for other formats, for few entries, and where some are stored that are none, or may be twice.
    """
    old, new = _compressed_rows(tensor.storage), _compressed_rows(storage)
    if old is None or new is None or old[0].order == new[0].order:
        return None
    (signature, pos, idx), (_, new_pos, new_idx) = old, new
    values = tensor.arrays[signature.values]
    zero = SEMIRINGS[tensor.semiring].zero
    if not are_many(len(values)) or count_unlike(values, zero) < len(values):
        return None
    if not _is_increasing(tensor.storage, idx, pos):
        return None
    require_memory(sum(array.nbytes for array in tensor.arrays.values()), "the entries in another order")
    matrix = tensor.to_scipy()
    turned = matrix.tocsc() if signature.order == (0, 1) else matrix.tocsr()
    index_type = index_dtype(tensor.shape, len(values))
    indices = {new_pos: turned.indptr, new_idx: turned.indices}
    return {name: each.astype(index_type, copy=False) for name, each in indices.items()} | {
        new[0].values: np.asarray(turned.data)
    }


def _compressed_rows(storage: Format) -> tuple[LevelSignature, str, str] | None:
    """Return the levels of a format of compressed rows or columns, and the names of its pos and idx."""
    signature = level_signature(storage)
    if signature is None or tuple(level.kind for level in signature.levels) != COMPRESSED_ROWS:
        return None
    inner = signature.levels[-1]
    if inner.pos is None or inner.idx is None or len(storage.arrays) > 3:
        return None
    return signature, inner.pos, inner.idx


def _is_increasing(storage: Format, idx: str, pos: str) -> bool:
    """Return whether the format declares that no row holds a key twice."""
    return any(array.name == idx and Increasing(pos) in array.properties for array in storage.arrays)
