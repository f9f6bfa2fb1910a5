"""Arrays while they are filled: places are written once, with one value, and the rest is padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.host.memory import require_memory
from storel.storage.blocks import integer_span, is_increasing, small_blocks
from storel.storage.coordinates import changes
from storel.storage.formats.format import Format
from storel.storage.formats.sizes import evaluate_size, free_size_names
from storel.storage.packing.leaf import how_to_give
from storel.syntax.nodes.declarations import DistinctElements, FromTo, InRange, Pad
from storel.syntax.nodes.expressions import Expression, Name


class Building:
    """The arrays of one tensor so far, and the sizes that are known so far.

    Raises at once, whatever the elements, FormatError for an array of negative length, MemoryLimitError for
    one that cannot be held.
    """

    def __init__(
        self, storage: Format, sizes: Mapping[str, int], index_type: np.dtype[Any], memory_limit: int | None
    ) -> None:
        self.sizes = dict(sizes)
        self.arrays: dict[str, Array] = {}
        self._storage = storage
        self._written: dict[str, list[tuple[Array, int]]] = {}
        self._found: set[str] = set()
        """Boundaries and words of bits: all of their elements follow from what they delimit and mark."""
        self._declarations = {declaration.name: declaration for declaration in storage.arrays}
        self._index_type = index_type
        self._memory_limit = memory_limit
        for name in self._declarations:
            self._require_places(name, self.length(name) or 0, 1)

    def snapshot(self) -> tuple[dict[str, int], dict[str, Array]]:
        """Return what is known now, for ``restore``."""
        return dict(self.sizes), dict(self.arrays)

    def restore(self, before: tuple[dict[str, int], dict[str, Array]]) -> None:
        """Forget the sizes and boundaries that were found since; nothing may have been written."""
        self.sizes, self.arrays = before
        self._found &= self.arrays.keys()

    def length(self, name: str) -> int | None:
        """Return the length of an array, or None while it is not known."""
        (length,) = self._declarations[name].type.extents
        return None if free_size_names(length) - set(self.sizes) else evaluate_size(length, self.sizes)

    def bind_length(self, name: str, addresses: Array) -> None:
        """Let the length symbol of an array be as large as its addresses need, if it is open."""
        (length,) = self._declarations[name].type.extents
        if isinstance(length, Name) and length.name not in self.sizes:
            self.sizes[length.name] = int(addresses.max(initial=-1)) + 1

    def ranges(self, name: str) -> Iterator[tuple[Expression, Expression]]:
        """Yield the ranges that the elements of an array are declared to be in."""
        for each in self._declarations[name].properties:
            if isinstance(each, InRange):
                yield each.low, each.high

    def delimit(self, name: str, segments: Array, places: Array) -> None:
        """Make the boundaries of segments that hold these places.

        Each element has the number of its segment, and its place there, from 0.
        """
        boundaries = self._allocate(name, np.dtype(np.int64), self._first(name))
        sizes = np.zeros(max(len(boundaries) - 1, 0), dtype=places.dtype)
        opens = np.flatnonzero(changes((segments,), len(segments)))
        if 2 * len(opens) > len(segments):
            np.maximum.at(sizes, segments, places + 1)
        elif len(opens):
            np.maximum.at(sizes, segments[opens], np.maximum.reduceat(places, opens) + 1)
        np.cumsum(sizes, out=boundaries[1:], dtype=np.int64)
        boundaries[1:] += self._first(name)
        # there may be more places than entries
        is_large = (boundaries[-1:] > np.iinfo(self._index_type).max).any()
        self.arrays[name] = boundaries if is_large else boundaries.astype(self._index_type)
        self._found.add(name)
        for each in self._declarations[name].properties:
            if isinstance(each, FromTo) and isinstance(each.last, Name) and len(boundaries):
                self.sizes.setdefault(each.last.name, int(boundaries[-1]))

    def set_bits(self, name: str, addresses: Array, positions: Array) -> None:
        """Set bits of words, which have 32 or 64 bits, as their positions need."""
        self.bind_length(name, addresses)
        word = np.int32 if positions.max(initial=0) < 32 else np.int64
        words = self._array(name, np.dtype(word), 0)
        shifted = np.left_shift(np.int64(1), positions).astype(words.dtype)
        np.bitwise_or.at(words, addresses, shifted)
        self._found.add(name)

    def write(self, name: str, addresses: Array, elements: Array, padding: Any = 0) -> Array:
        """Write elements to their addresses; return at which of them another element is."""
        if self.write_values(name, addresses, elements, padding):
            return np.zeros(len(addresses), dtype=bool)
        return self.clashes(name, addresses, elements)

    def write_values(self, name: str, addresses: Array, elements: Array, padding: Any = 0) -> bool:
        """Write elements to their addresses, but over none of an earlier call.

        Return whether it is known that each has a place of its own; else ``clashes`` tells.
        """
        if name in self._found:
            return False
        self.bind_length(name, addresses)
        stored = self._array(name, elements.dtype, padding)
        earlier = self._written.setdefault(name, [])
        is_free = ~_marked(len(stored), earlier)[addresses] if earlier else None
        earlier.append((addresses, 1))
        if is_free is not None:
            addresses, elements = addresses[is_free], elements[is_free]
        stored[addresses] = elements
        return is_free is None and is_increasing(addresses)

    def holds_rows(self, name: str, addresses: Array, width: int) -> bool:
        """Return whether an array is not written to yet, and has rows that begin at these addresses."""
        length = self.length(name)
        if name in self._written or length is None or length % width:
            return False
        return not (addresses // width * width != addresses).any()

    def write_rows(self, name: str, addresses: Array, rows: Array, padding: Any = 0) -> None:
        """Write rows of elements to an array that holds such, the first elements to these addresses."""
        width = rows.shape[1]
        stored = self._array(name, rows.dtype, padding)
        row = np.dtype((np.void, rows.nbytes // len(rows))) if len(rows) else stored.dtype
        stored.view(row)[addresses // width] = np.ascontiguousarray(rows).reshape(-1).view(row)
        self._written[name] = [(addresses, width)]

    def clashes(self, name: str, addresses: Array, elements: Array) -> Array:
        """Return for which elements that were written another one is at its address."""
        stored, found = self.arrays[name], np.empty(len(addresses), dtype=bool)
        for piece in small_blocks(len(addresses)):
            found[piece] = is_different(stored[addresses[piece]], elements[piece])
        return found

    def write_indices(self, name: str, addresses: Array, elements: Array) -> Array:
        """Write keys, positions or marks; what is never written is the array's padding.

        Return at which of them another element is.
        """
        first = np.flatnonzero(changes((addresses, elements), len(addresses)))
        if 2 * len(first) >= len(addresses):
            elements = elements.astype(self._type_with(name, elements))
            return self.write(name, addresses, elements, self._padding(name))
        found = np.zeros(len(addresses), dtype=bool)
        found[first] = self.write_indices(name, addresses[first], elements[first])
        return found

    def finish(self, values_type: np.dtype[Any], zero: Any) -> dict[str, Array]:
        """Return all arrays; those that nothing was written to are padding.

        In an array of distinct elements, places without an entry hold elements that occur nowhere else.
        """
        for name in self._written:
            kinds = {type(each) for each in self._declarations[name].properties}
            if DistinctElements in kinds and Pad not in kinds:
                self._make_unique(name)
        for name, declaration in self._declarations.items():
            if name not in self.arrays:
                self.bind_length(name, np.empty(0, dtype=np.int64))
                if declaration.holds_values:
                    self._array(name, values_type, zero)
                else:
                    self._array(name, self._type(name), self._padding(name))
        return self.arrays

    def _make_unique(self, name: str) -> None:
        """Give the places that nothing was written to the least elements that nobody has."""
        stored, lows = self.arrays[name], [evaluate_size(low, self.sizes) for low, _ in self.ranges(name)]
        is_free = ~_marked(len(stored), self._written[name])
        first = max(lows, default=0)
        unused = np.setdiff1d(np.arange(first, first + len(stored)), stored[~is_free])
        stored[is_free] = unused[: np.count_nonzero(is_free)]

    def _array(self, name: str, dtype: np.dtype[Any], padding: Any) -> Array:
        if name not in self.arrays:
            self.arrays[name] = self._allocate(name, dtype, padding)
        return self.arrays[name]

    def _allocate(self, name: str, dtype: np.dtype[Any], padding: Any) -> Array:
        length = self.length(name)
        if length is None:
            raise FormatError(
                f"format {self._storage.name} cannot be packed: nothing fixes the length of {name}",
                hint=how_to_give(self._storage),
            )
        self._require_places(name, length, dtype.itemsize)
        return np.full(length, padding, dtype) if padding else np.zeros(length, dtype)

    def _require_places(self, name: str, length: int, itemsize: int) -> None:
        if length < 0:
            raise FormatError(
                f"format {self._storage.text} gives {name} a negative length", found=str(length)
            )
        require_memory(length * itemsize, name, self._memory_limit)

    def _type(self, name: str) -> np.dtype[Any]:
        if not self._declarations[name].holds_indices:
            return np.dtype(bool)
        return self._index_type if self._fits(self._padding(name)) else np.dtype(np.int64)

    def _type_with(self, name: str, elements: Array) -> np.dtype[Any]:
        """Return a type that holds these elements, too; what was written before is made of that type.

        Elements may be larger than all extents and lengths, such as numbers of pairs of keys.
        """
        kind = self._type(name)
        if kind != self._index_type or elements.dtype.itemsize <= kind.itemsize:
            return kind
        span = integer_span(elements)
        if span is None or all(map(self._fits, span)):
            return kind
        if name in self.arrays:
            self.arrays[name] = self.arrays[name].astype(np.int64)
        return np.dtype(np.int64)

    def _fits(self, number: int) -> bool:
        held = np.iinfo(self._index_type)
        return held.min <= number <= held.max

    def _padding(self, name: str) -> int:
        for each in self._declarations[name].properties:
            if isinstance(each, Pad):
                return evaluate_size(each.value, self.sizes)
        return 0

    def _first(self, name: str) -> int:
        for each in self._declarations[name].properties:
            if isinstance(each, FromTo):
                return evaluate_size(each.first, self.sizes)
        return 0


def is_different(some: Array, others: Array) -> Array:
    """Return where elements differ; NaN does not differ from NaN."""
    return (some != others) & ((some == some) | (others == others))


def _marked(length: int, written: list[tuple[Array, int]]) -> Array:
    """Return which of the elements of an array rows of these widths hold, which begin at these addresses."""
    marks = np.zeros(length, dtype=bool)
    for addresses, width in written:
        marks.reshape(-1, width)[addresses // width] = True
    return marks
