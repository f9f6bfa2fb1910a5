"""Data to ask the questions of: nasty, random and real, stored in a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from entries import PARTS, WITHOUT_BOOLS, Entries, first_difference, numbered
from factored import FACTORED

import storel
from storel.errors import FormatError
from storel.storage.build import from_arrays
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.levels import CONSTRUCTOR
from storel.storage.tensor import Tensor, pack
from storel.syntax.parser import parse_format

MEMORY = 2**29
"""Bytes that a tensor or a result may take."""


@dataclass(frozen=True, slots=True)
class Random:
    """Random entries; what ``is_raw`` has some zeros stored, and keys of 64 bits."""

    shape: tuple[int, ...]
    dtype: str = "float64"
    density: float = 0.2
    is_raw: bool = False

    @property
    def name(self) -> str:
        raw = ", zeros stored" if self.is_raw else ""
        return f"{' x '.join(map(str, self.shape))} {self.dtype}{raw}{'' if self.density else ', empty'}"

    def entries(self) -> Entries:
        """Return entries with small integers as values, which each type holds exactly, and empty rows."""
        rng = np.random.default_rng(self.shape)
        count = int(np.prod(self.shape))
        places = np.sort(rng.choice(count, round(self.density * count), replace=False))
        keys = np.array(np.unravel_index(places, self.shape)).reshape(len(self.shape), -1)
        signs = -1 if self.dtype != "bool" else 1
        values = rng.integers(1, 10, len(places)) * rng.choice([1, signs], len(places))
        return Entries(self.shape, keys, values.astype(self.dtype)).where(keys[0] % 5 != 3)


@dataclass(frozen=True, slots=True)
class Real:
    """What a file holds."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def entries(self) -> Entries:
        return _read(self.path)


@cache
def _read(path: Path) -> Entries:
    tensor = storel.read(path)
    return Entries(tensor.shape, *tensor.to_coo())


RANDOM: Mapping[int, tuple[Random, ...]] = {
    1: (
        Random((37,)),
        Random((13,), "float32", is_raw=True),
        Random((29,), "int64"),
        Random((31,), "int32", is_raw=True),
        Random((19,), "bool"),
        Random((0,)),
        Random((1,), density=1.0),
        Random((9,), density=0.0),
        Random((1_000_000,)),
    ),
    2: (
        Random((37, 23)),
        Random((13, 17), "float32", is_raw=True),
        Random((21, 9), "int64"),
        Random((11, 31), "int32", is_raw=True),
        Random((19, 19), "bool"),
        Random((0, 5)),
        Random((5, 0)),
        Random((1, 1), density=1.0),
        Random((9, 8), density=0.0),
        Random((3, 3000)),
        Random((1500, 1100), density=0.05),
    ),
    3: (
        Random((11, 7, 5)),
        Random((3, 9, 6), "float32", is_raw=True),
        Random((5, 6, 7), "int64"),
        Random((7, 2, 5), "int32", is_raw=True),
        Random((4, 5, 6), "bool"),
        Random((0, 5, 2)),
        Random((3, 4, 0)),
        Random((1, 1, 1), density=1.0),
        Random((100, 90, 80)),
    ),
    4: (
        Random((5, 4, 3, 6)),
        Random((3, 4, 2, 5), "float32", is_raw=True),
        Random((2, 3, 0, 2)),
        Random((30, 20, 25, 35)),
    ),
}
SUFFIXES = {2: (".mtx", ".mtx.gz"), 3: (".tns", ".tns.gz")}


def given_data(text: str, rank: int, directory: Path | None) -> Iterator[Random | Real]:
    """Yield the data of a rank whose type a format holds, from the files in ``directory``, too."""
    holds_bools = text.partition("(")[0] not in WITHOUT_BOOLS
    yield from (each for each in RANDOM[rank] if holds_bools or each.dtype != "bool")
    for path in sorted(directory.iterdir()) if directory and rank in SUFFIXES else ():
        if path.name.endswith(SUFFIXES[rank]):
            yield Real(path)


def require_rank(text: str) -> None:
    """Raise FormatError for a format with arguments that it takes at no rank."""
    reference = parse_format(text)
    if not ranks(text):
        is_nest = reference.name == CONSTRUCTOR
        rank = len(reference.arguments) if is_nest else min(Formats().overloads(reference.name))
        Formats().resolve(reference, rank)


def ranks(text: str) -> list[int]:
    """Return the ranks that a format has, but for 0."""
    return [rank for rank in RANDOM if _resolved(text, rank) is not None]


def _resolved(text: str, rank: int) -> Format | None:
    try:
        return Formats().resolve(parse_format(text), rank)
    except FormatError:
        return None


def stored(text: str, data: Random | Real) -> tuple[Entries, Tensor]:
    """Return the entries of the data that a format holds, and those stored in it.

    Raises MemoryError or MemoryLimitError if they do not fit into memory.
    """
    given = data.entries()
    storage = Formats().resolve(parse_format(text), len(given.shape))
    head = text.partition("(")[0]
    if len(set(storage.extents)) < storage.rank:
        given = given.within((min(given.shape),) * storage.rank)
    if head in FACTORED:
        fitting, arrays = FACTORED[head](given, storage.arguments)
        tensor = from_arrays(storage, arrays, fitting.shape)
    else:
        fitting = PARTS[head](given) if head in PARTS else given
        tensor = pack(storage, fitting.keys, fitting.values, fitting.shape, memory_limit=MEMORY)
    return with_zeros(fitting, tensor) if isinstance(data, Random) and data.is_raw else (fitting, tensor)


def with_zeros(given: Entries, tensor: Tensor) -> tuple[Entries, Tensor]:
    """Return the tensor with keys of 64 bits and some values overwritten by zeros, and what is left."""
    arrays = {name: array.copy() for name, array in tensor.arrays.items()}
    for declaration in tensor.storage.arrays:
        if declaration.holds_indices:
            arrays[declaration.name] = arrays[declaration.name].astype(np.int64)
        elif declaration.holds_values:
            arrays[declaration.name][1::3] = 0
    changed = from_arrays(tensor.storage, arrays, tensor.shape)
    left = Entries(tensor.shape, *changed.to_coo())
    places = numbered(given.shape, given.keys)
    kept = given.where(np.isin(places, numbered(left.shape, left.keys)))
    difference = first_difference(left, kept, 0)
    assert difference is None or tensor.format.partition("(")[0] in FACTORED, difference
    return left, changed
