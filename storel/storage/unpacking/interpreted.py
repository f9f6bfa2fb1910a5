"""Arrays → entries by what a mapping means, one iteration after the other: where vectors do not do.

A value may be any expression: a function of a sum, a product of a number and a row, a choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.scalars import ScalarType
from storel.storage.unpacking.keys import entry_outside
from storel.syntax.interpret import evaluate
from storel.syntax.nodes.expressions import Expression
from storel.syntax.signatures import ArraySignature, Signature, SizeSignature
from storel.values import Value


def interpreted_entries(
    mapping: Expression,
    arrays: Mapping[str, Array],
    sizes: Mapping[str, int],
    shape: tuple[int, ...],
    semiring: str,
    index_type: np.dtype[Any],
) -> tuple[Array, Array]:
    """Return the entries that a mapping makes: sorted coordinates (rank × entries) and values.

    Raises DataError for an entry outside of the shape, EvaluationError for what has no value.
    """
    signatures: dict[str, Signature] = {name: SizeSignature(size) for name, size in sizes.items()}
    for name, array in arrays.items():
        scalar = ScalarType.of(array.dtype)
        assert scalar is not None, f"{name} holds {array.dtype}"
        signatures[name] = ArraySignature(scalar, len(array))
    found = list(_entries(evaluate(mapping, signatures, arrays, semiring), len(shape)))
    for key, value in found:
        if any(each >= extent for each, extent in zip(key, shape, strict=True)):
            raise entry_outside(", ".join(map(str, key)), value, shape)
    coordinates = np.array([key for key, _ in found], dtype=index_type).reshape(len(found), len(shape))
    return np.ascontiguousarray(coordinates.T), np.array([value for _, value in found])


def _entries(value: Value, rank: int) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the entries of nested dictionaries in the order of their keys."""
    if not rank:
        yield (), value
        return
    for key in sorted(value):
        for inner, each in _entries(value[key], rank - 1):
            yield (key, *inner), each
