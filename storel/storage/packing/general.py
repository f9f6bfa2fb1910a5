"""Entries → arrays by solving the mapping: chain after chain takes what it can store.

1. Each chain is turned round (``turned.py``) and finds its variables for the entries that are left
   (``placement.py``): keys are equations, what they leave open is a rank. Where that fails, but all arrays
   that the chain reads are known, what it goes through is listed and compared (``matching.py``).
2. Values and required values are written to their addresses (``building.py``).
3. Declared properties are verified, and it is counted what the mapping reads: each entry is read by an
   iteration of its own, so that there is nothing else exactly if there are as many reads as entries. Where
   no value is read twice, this is known without counting (``distinct.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.storage.coordinates import index_dtype
from storel.storage.entries import Entries
from storel.storage.formats.chain import Chain
from storel.storage.formats.format import Format
from storel.storage.formats.properties import lengths, verify_made
from storel.storage.packing.building import Building, is_different
from storel.storage.packing.distinct import reads_are_distinct
from storel.storage.packing.leaf import Leaf, NotUnderstood, leaf_of
from storel.storage.packing.matching import match
from storel.storage.packing.placement import Placement
from storel.storage.packing.selection import EntriesDoNotFit, Misfit
from storel.storage.packing.taking import Takings
from storel.storage.packing.tiles import tile_of
from storel.storage.packing.turned import TurnedChain, turn_round
from storel.storage.unpacking.unpack import count_nonzero_reads, enumerate_entries

_LAST_BITS = (
    'they differ in their last bits: with floating_point="strict" sums are added up in the order written; '
    "or compute such entries once, as those with i <= j"
)


def solved_arrays(storage: Format, entries: Entries, memory_limit: int | None) -> dict[str, Array]:
    """Return a format's arrays for entries that are combined.

    Raises FormatError if the mapping cannot be turned round, an entry does not fit it, or the arrays have not
    the declared properties, MemoryLimitError before anything too large is allocated.
    """
    zero, values, sizes = entries.ring.zero, entries.values, storage.sizes(entries.shape)
    packing = _Packing(storage, entries.coordinates, values, sizes)
    building = Building(storage, sizes, entries.index_type, memory_limit)
    left, misfit = np.arange(len(values), dtype=index_dtype((), len(values))), None
    for chain in storage.chains:
        allowed = packing.allowed(chain, left)
        stored, misfit = packing.store(chain, allowed, building, zero)
        left = _without(left, stored)
    if len(left):
        raise packing.do_not_fit(left, misfit)
    arrays = building.finish(values.dtype, zero)
    sizes = lengths(storage, sizes, arrays)
    for declaration in storage.arrays:
        verify_made(storage.name, declaration, arrays, sizes)
    if reads_are_distinct(storage, arrays, sizes):
        return arrays
    packing.require_places_of_their_own(building)
    if count_nonzero_reads(storage, arrays, sizes, entries.semiring) != len(values):
        raise packing.read_back_otherwise(*enumerate_entries(storage, arrays, sizes, entries.semiring))
    return arrays


class _Packing:
    """The entries to be packed, where chains have stored them, and the messages about them."""

    def __init__(self, storage: Format, coordinates: Array, values: Array, sizes: Mapping[str, int]) -> None:
        self.storage, self.coordinates, self.values = storage, coordinates, values
        self._takings = Takings(coordinates, values, sizes)
        self._written: list[tuple[Leaf, Array, Array, int]] = []
        """Where values were written: the addresses of the first ones of runs, and how long these are."""

    def text(self, number: int) -> str:
        """Return an entry as it is written in messages: ``(2, 5) = 3.0``."""
        return f"{_key_text(self.coordinates[:, number].tolist())} = {self.values[number]}"

    def allowed(self, chain: Chain, left: Array) -> Array:
        """Return the numbers of those of the entries ``left`` that the chain's part takes."""
        if not self.storage.takings:
            return left
        for taking in self.storage.takings.get(leaf_of(self.storage, chain, {}).values, ()):
            left = left[self._takings.taken(taking)[left]]
        return left

    def store(self, chain: Chain, left: Array, building: Building, zero: Any) -> tuple[Array, Misfit | None]:
        """Store the entries that the chain can take; return their numbers and why it takes no more.

        Raises FormatError where two need the same key or position elsewhere, or where the chain cannot be
        turned round.
        """
        turned, before = turn_round(self.storage, chain), building.snapshot()
        coordinates, values = self._of(left)
        if self._store_tiles(turned, left, building, zero):
            return left, None
        building.restore(before)
        placement = Placement.of(self.storage, turned, building, left, coordinates, values)
        try:
            placement.find_variables()
        except NotUnderstood:
            building.restore(before)
            matched = match(self.storage, chain, building, left, coordinates)
            if matched is None:
                raise
            values = self._values_of(matched.entries)
            self._require_inside(matched.entries, matched.leaf.values, matched.addresses, building)
            self._write_values(matched.leaf, matched.entries, values, matched.addresses, building, zero)
            return matched.entries, matched.misfit
        self._write(placement, building)
        addresses = placement.value(turned.leaf.address)
        self._write_values(turned.leaf, placement.entries, placement.values, addresses, building, zero)
        return placement.entries, placement.misfit

    def _store_tiles(self, turned: TurnedChain, left: Array, building: Building, zero: Any) -> bool:
        """Store all entries by the first ones of the runs that they come in; return whether that can be.

        If not, nothing is written.
        """
        tile, name = tile_of(turned, self.storage.rank, building.sizes), turned.leaf.values
        if tile is None or len(left) < len(self.values) or not tile.divides(self.coordinates):
            return False
        firsts = slice(None, None, tile.width)
        coordinates, values = np.ascontiguousarray(self.coordinates[:, firsts]), self.values[firsts]
        placement = Placement.of(self.storage, turned, building, left[firsts], coordinates, values)
        try:
            placement.find_variables()
        except NotUnderstood:
            return False
        if len(placement.entries) < len(values) or not tile.fits(placement):
            return False
        addresses = placement.value(turned.leaf.address)
        if not building.holds_rows(name, addresses, tile.width):
            return False
        self._write(placement, building)
        leaves = self._leaves(turned.leaf, self.values)
        building.write_rows(name, addresses, leaves.reshape(-1, tile.width), zero)
        self._written.append((turned.leaf, left, addresses, tile.width))
        return True

    def _of(self, numbers: Array) -> tuple[Array, Array]:
        """Return the keys and values of some entries, which are ascending."""
        if len(numbers) == len(self.values):
            return self.coordinates, self.values
        return np.take(self.coordinates, numbers, axis=1), self._values_of(numbers)

    def _values_of(self, numbers: Array) -> Array:
        return self.values if len(numbers) == len(self.values) else self.values[numbers]

    def _write(self, placement: Placement, building: Building) -> None:
        """Write the keys and positions that a chain requires."""
        for required in placement.chain.required:
            if required.element in placement.vectors:
                addresses = placement.value(required.address)
                elements = placement.vectors[required.element]
                clashes = building.write_indices(required.array, addresses, elements)
                self._require_agreement(
                    placement.entries, required.array, addresses, elements, clashes, building
                )

    def _write_values(
        self, leaf: Leaf, numbers: Array, values: Array, addresses: Array, building: Building, zero: Any
    ) -> None:
        if not building.write_values(leaf.values, addresses, self._leaves(leaf, values), zero):
            self._written.append((leaf, numbers, addresses, 1))

    def _require_inside(self, numbers: Array, array: str, addresses: Array, building: Building) -> None:
        length = building.length(array)
        is_outside = (addresses < 0) | (False if length is None else addresses >= length)
        if is_outside.any():
            first = int(np.argmax(is_outside))
            place = f"{array}({addresses[first]}) is outside 0:{'' if length is None else length}"
            raise FormatError(f"{self.storage.name}: the place of {self.text(int(numbers[first]))}: {place}")

    def require_places_of_their_own(self, building: Building) -> None:
        """Raise FormatError where two entries with different values have the same place."""
        for leaf, numbers, firsts, width in self._written:
            addresses = (firsts[:, None] + np.arange(width)).reshape(-1) if width > 1 else firsts
            leaves = self._leaves(leaf, self._values_of(numbers))
            clashes = building.clashes(leaf.values, addresses, leaves)
            self._require_agreement(numbers, leaf.values, addresses, leaves, clashes, building)

    def _leaves(self, leaf: Leaf, values: Array) -> Array:
        """Return what is stored of the values of some entries."""
        if leaf.is_negated and values.dtype == bool:
            raise FormatError(f"{self.storage.name}: truth values have no negative")
        return -values if leaf.is_negated else values

    def do_not_fit(self, left: Array, misfit: Misfit | None) -> EntriesDoNotFit:
        """Return the error for entries that no chain takes."""
        count = f"{len(left)} of {len(self.values)} entries"
        verb = "do" if len(left) != 1 else "does"
        first = int(left[0])
        reason = misfit.reason if misfit and misfit.entry == first else "no part takes it"
        message = f"{self.storage.name}: {count} {verb} not fit; the first is {self.text(first)}: {reason}"
        return EntriesDoNotFit(message, self.coordinates[:, left])

    def read_back_otherwise(self, coordinates: Array, values: Array) -> FormatError:
        """Return the error that names the first of the sorted entries read back that is not as it was."""
        both = min(len(values), len(self.values))
        differs = (coordinates[:, :both] != self.coordinates[:, :both]).any(axis=0)
        differs |= is_different(values[:both], self.values[:both])
        first = int(np.argmax(differs)) if differs.any() else both
        written = tuple(self.coordinates[:, first : first + 1].T.tolist())
        read = tuple(coordinates[:, first : first + 1].T.tolist())
        if not (read or written):
            what = "entries are read more than once"
        elif not read or (written and written < read):
            what = f"entry {self.text(first)} is not read back"
        elif written == read:
            what = f"entry {self.text(first)} reads back as {values[first]}"
        else:
            what = f"there is no entry {_key_text(read[0])}, but one reads back: {values[first]}"
        return FormatError(f"{self.storage.name}: {what}", hint="another entry is stored at the same place")

    def _require_agreement(
        self,
        numbers: Array,
        array: str,
        addresses: Array,
        elements: Array,
        clashes: Array,
        building: Building,
    ) -> None:
        if clashes.any():
            first = int(np.argmax(clashes))
            address, entry = int(addresses[first]), int(numbers[first])
            kept = np.empty(len(building.arrays[array]), elements.dtype)
            kept[addresses[::-1]] = elements[::-1]  # the last one that is assigned stays: the first of each
            others = is_different(elements, kept[addresses])
            stored, place = building.arrays[array][address], f"{array}({address})"
            needed = f"needs {place} to be {elements[first]}, and another entry needs {stored}"
            shared = f"shares {place} with another entry that has {stored}"
            is_of_values = any(each.name == array and each.holds_values for each in self.storage.arrays)
            raise EntriesDoNotFit(
                f"{self.storage.name}: entry {self.text(entry)} {shared if is_of_values else needed}",
                self.coordinates[:, numbers[others]],
                _LAST_BITS if np.isclose(elements[first], stored, rtol=1e-6, atol=0) else None,
            )


def _without(numbers: Array, some: Array) -> Array:
    """Return ascending numbers without some of them."""
    if len(some) == len(numbers):
        return numbers[:0]
    if not len(some):
        return numbers
    is_left = np.ones(int(numbers[-1]) + 1, dtype=bool)
    is_left[some] = False
    return numbers[is_left[numbers]]


def _key_text(key: Iterable[int]) -> str:
    return f"({', '.join(map(str, key))})"
