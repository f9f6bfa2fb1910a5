"""What a file holds, before a storage format is chosen for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from storel.arrays import Array
from storel.storage.formats.creation import Creation


@dataclass(frozen=True, slots=True, eq=False)
class DenseContents:
    """One value per place; the shape is closed."""

    values: Array


@dataclass(frozen=True, slots=True, eq=False)
class SparseContents:
    """Entries in any order, perhaps with duplicates: rank × count coordinates from 0, and values.

    A shape that is not closed is the smallest that is known to hold the entries. Without a semiring of
    their own the entries belong to any.
    """

    coordinates: Array
    values: Array
    shape: tuple[int, ...]
    is_closed: bool
    semiring: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MatrixContents:
    """A ``scipy.sparse`` matrix or array."""

    matrix: Any


@dataclass(frozen=True, slots=True, eq=False)
class StoredContents:
    """The arrays of a storage format, written as after ``STORED AS``; they are not verified yet.

    ``creation`` is how the format is created, unless its name says what it is.
    """

    format: str
    arrays: Mapping[str, Array]
    shape: tuple[int, ...]
    semiring: str
    is_closed: bool
    creation: Creation | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NamedArrays:
    """Arrays of which nothing is known but their names: one of all places, or those of some format."""

    arrays: Mapping[str, Array]


Contents: TypeAlias = DenseContents | SparseContents | MatrixContents | StoredContents


def reason(error: Exception) -> str:
    """Return the first line of why a library cannot read a file, without its advice to unpickle."""
    if "pickle" in str(error):
        return "it holds Python objects"
    return (str(error) or "it ends early").splitlines()[0]
