"""Entries → arrays by solving the mapping: chain after chain takes what it can store.

1. Each chain is turned round (``turned.py``) and finds its variables for the entries that are left
   (``placement.py``): keys are equations, what they leave open is a rank.
2. Values and required values are written to their addresses (``building.py``).
3. Declared properties are verified, and it is counted what the mapping reads: each entry is read by an
   iteration of its own, so that there is nothing else exactly if there are as many reads as entries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.errors import FormatError
from storel.semiring import SEMIRINGS
from storel.storage.chain import chains
from storel.storage.coordinates import combine
from storel.storage.formats import Format
from storel.storage.packing.building import Building, is_different
from storel.storage.packing.placement import Misfit, Placement
from storel.storage.packing.turned import TurnedChain, turn_round
from storel.storage.properties import lengths, verify_properties
from storel.storage.unpack import count_nonzero_reads, enumerate_entries

Array: TypeAlias = NDArray[Any]


def solved_arrays(
    storage: Format,
    coordinates: Array,
    values: Array,
    shape: tuple[int, ...],
    semiring: str,
    index_type: np.dtype[Any],
    memory_limit: int | None,
) -> dict[str, Array]:
    """Return a format's arrays for entries: rank × count coordinates, in any order, duplicates added up.

    Raises FormatError if the mapping cannot be turned round or an entry does not fit it, DataError if the
    arrays have not the declared properties, MemoryLimitError before anything too large is allocated.
    """
    ring = SEMIRINGS[semiring]
    coordinates, values = combine(coordinates, values, shape, ring)
    sizes = storage.sizes(shape)
    entries = _Entries(storage, coordinates, values)
    building = Building(storage, sizes, index_type, memory_limit)
    left, misfit = np.arange(len(values)), None
    for chain in chains(storage.mapping):
        turned = turn_round(storage, chain)
        placement = Placement.of(storage, turned, building, left, coordinates[:, left])
        placement.find_variables()
        entries.write(turned, placement, building, ring.zero)
        left, misfit = np.setdiff1d(left, placement.entries, assume_unique=True), placement.misfit
    if misfit is not None:
        raise entries.do_not_fit(left, misfit)
    arrays = building.finish(values.dtype, ring.zero)
    sizes = lengths(storage, sizes, arrays)
    verify_properties(storage, arrays, sizes)
    if count_nonzero_reads(storage, arrays, sizes, semiring) != len(values):
        raise entries.read_back_otherwise(*enumerate_entries(storage, arrays, sizes, semiring))
    return arrays


class _Entries:
    """The entries to be packed, and the messages about them."""

    def __init__(self, storage: Format, coordinates: Array, values: Array) -> None:
        self.storage, self.coordinates, self.values = storage, coordinates, values

    def text(self, number: int) -> str:
        """Return an entry as it is written in messages: ``(2, 5) = 3.0``."""
        return f"{_key_text(self.coordinates[:, number].tolist())} = {self.values[number]}"

    def write(self, turned: TurnedChain, placement: Placement, building: Building, zero: Any) -> None:
        """Write what the chain stores of its entries; raises FormatError where two need the same place."""
        for required in turned.required:
            if required.element in placement.vectors:
                addresses = placement.value(required.address)
                elements = placement.vectors[required.element]
                clashes = building.write_indices(required.array, addresses, elements)
                self._require_agreement(placement, required.array, addresses, clashes, building)
        addresses, values = placement.value(turned.address), self.values[placement.entries]
        clashes = building.write(turned.values, addresses, values, zero)
        self._require_agreement(placement, turned.values, addresses, clashes, building)

    def do_not_fit(self, left: Array, misfit: Misfit) -> FormatError:
        """Return the error for entries that no chain takes."""
        count = f"{len(left)} of {len(self.values)} entries"
        verb = "do" if len(left) != 1 else "does"
        return FormatError(
            f"{self.storage.name}: {count} {verb} not fit; "
            f"the first is {self.text(misfit.entry)}: {misfit.reason}"
        )

    def read_back_otherwise(self, coordinates: Array, values: Array) -> FormatError:
        """Return the error that names the first of the sorted entries read back that is not as it was."""
        both = min(len(values), len(self.values))
        differs = (coordinates[:, :both] != self.coordinates[:, :both]).any(axis=0)
        differs |= is_different(values[:both], self.values[:both])
        first = int(np.argmax(differs)) if differs.any() else both
        written = tuple(self.coordinates[:, first : first + 1].T.tolist())
        read = tuple(coordinates[:, first : first + 1].T.tolist())
        if not read or (written and written < read):
            what = f"entry {self.text(first)} is not read back"
        elif written == read:
            what = f"entry {self.text(first)} reads back as {values[first]}"
        else:
            what = f"there is no entry {_key_text(read[0])}, but one reads back: {values[first]}"
        return FormatError(f"{self.storage.name}: {what}", hint="another entry is stored at the same place")

    def _require_agreement(
        self, placement: Placement, array: str, addresses: Array, clashes: Array, building: Building
    ) -> None:
        if clashes.any():
            first = int(np.argmax(clashes))
            address, entry = int(addresses[first]), int(placement.entries[first])
            raise FormatError(
                f"{self.storage.name}: entry {self.text(entry)} shares {array}({address}) "
                f"with another entry that has {building.arrays[array][address]}"
            )


def _key_text(key: Iterable[int]) -> str:
    return f"({', '.join(map(str, key))})"
