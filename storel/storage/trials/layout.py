"""Which element of which array holds what of which entry, on a small example.

An element belongs to an entry if the mapping reads it for a key or the value of that entry. Entries whose
value is the same element have the same mark: a place and its mirror image, a run. An element has the mark of
the entries that it belongs to, if they have only one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.errors import DataError
from storel.semiring import SEMIRINGS
from storel.storage.formats.format import Format
from storel.storage.tensor import Tensor
from storel.storage.trials.samples import Sample, Structure, best_fit, fitting, places, structures
from storel.storage.unpacking.iterations import Iterations
from storel.syntax.nodes.expressions import Call, Expression, Name
from storel.syntax.walk import children

Key: TypeAlias = tuple[int, ...]
Element: TypeAlias = tuple[str, int]
"""The name of an array, and a position in it."""

PATTERN = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1]], dtype=bool)
"""Where the example has entries, again and again: an empty row, an empty column, and a full corner."""

FEW_KEYS = 8
"""How much of each dimension is tried first, to find out which entries a format holds."""

MOST_DRAWN = 20_000
"""How many places, and how many elements, are still drawn; nobody looks at more, which takes minutes."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A stored tensor, and the marks of its entries and of elements of its arrays, counted from 0."""

    tensor: Tensor
    entries: dict[Key, int]
    elements: dict[Element, int]

    @property
    def values(self) -> dict[Key, str]:
        """The value of each entry, as it is written."""
        coordinates, values = self.tensor.to_coo()
        keys = (tuple(key) for key in coordinates.T.tolist())
        return dict(zip(keys, map(str, values.tolist()), strict=True))

    @property
    def labels(self) -> tuple[str, ...]:
        """What to call each mark: the value of its entries, or their first key where values are alike."""
        values, first = self.values, dict[int, Key]()
        for key, mark in self.entries.items():
            first.setdefault(mark, key)
        called = [values[first[mark]] for mark in range(len(first))]
        if len(set(called)) == len(called):
            return tuple(called)
        return tuple(",".join(map(str, first[mark])) for mark in range(len(first)))


def example(storage: Format, shape: tuple[int, ...]) -> Tensor:
    """Return a small tensor of a shape that fits a format, with different values where these may differ.

    Raises the FormatError or DataError of packing if none is found, DataError for more than can be drawn.
    """
    _require_drawable("places", math.prod(shape))
    entries = _pattern(shape)
    tried = [structure for _, structure in structures(shape)]
    best = best_fit(storage, (each(entries) for each in _likely(storage, shape, tried)))
    best = best or best_fit(storage, (each(entries) for each in tried))
    if best is None:
        return entries.packed(storage)
    numbered = _numbered(best)
    fits = fitting(storage, numbered).refusal is None
    return (numbered if fits else best).packed(storage)


def _pattern(shape: tuple[int, ...]) -> Sample:
    """Return entries where the pattern has some, with the values 1, 2, …, each a group of its own."""
    coordinates = places(shape)
    if shape:
        coordinates = coordinates[:, PATTERN[coordinates[:-1].sum(axis=0) % 4, coordinates[-1] % 4]]
    count = coordinates.shape[1]
    return Sample(shape, coordinates, np.arange(1, count + 1), np.arange(count))


def _likely(storage: Format, shape: tuple[int, ...], tried: list[Structure]) -> list[Structure]:
    """Return the structure that fits best with a few keys of each dimension, where trying takes little time.

    A shape that is no larger needs none.
    """
    small = tuple(min(extent, FEW_KEYS) for extent in shape)
    if small == shape:
        return []
    held = [_held(storage, each(_pattern(small))) for each in tried]
    return [tried[held.index(max(held))]]


def _held(storage: Format, sample: Sample) -> float:
    """Return how many groups of a sample a format holds, infinity for all."""
    fit = fitting(storage, sample)
    count = 0 if fit.part is None else len(np.unique(fit.part.groups))
    return math.inf if count and fit.refusal is None else count


def _require_drawable(what: str, count: int) -> None:
    if count > MOST_DRAWN:
        raise DataError(f"too many {what} to draw", expected=f"at most {MOST_DRAWN}", found=str(count))


def _numbered(sample: Sample) -> Sample:
    """Return a sample whose groups have the values 1, 2, …, or their negatives, in the order of the keys."""
    order = np.lexsort(sample.coordinates[::-1]) if sample.coordinates.size else np.arange(len(sample))
    numbers: dict[int, int] = {}
    for group in sample.groups[order].tolist():
        numbers.setdefault(group, len(numbers) + 1)
    counted = np.array([numbers[group] for group in sample.groups.tolist()])
    return replace(sample, values=np.sign(sample.values) * counted)


def layout(tensor: Tensor) -> Layout:
    """Return which entries each element of a tensor's arrays belongs to.

    Raises DataError for more elements than can be drawn.
    """
    _require_drawable("elements", sum(map(len, tensor.arrays.values())))
    readers: dict[Element, set[Key]] = defaultdict(set)
    leaves: dict[Element, set[Key]] = defaultdict(set)
    of_values = {each.name for each in tensor.storage.arrays if each.holds_values}
    for chain in tensor.storage.chains:
        made = Iterations.of(chain, tensor.arrays, tensor.sizes)

        def vector(expression: Expression, made: Iterations = made) -> list[Any]:
            return made.vector(expression).tolist()

        keys = list(zip(*map(vector, chain.keys), strict=True)) if chain.keys else [()] * made.count
        is_entry = [value != SEMIRINGS[tensor.semiring].zero for value in vector(chain.leaf)]
        loops = [(each.array, Name(each.position)) for each in chain.loops if each.array and each.element]
        in_keys = [read for key in chain.keys for read in _reads(key, tensor.arrays)]
        in_leaf = list(_reads(chain.leaf, tensor.arrays))
        for array, position in (*in_leaf, *loops, *in_keys):
            for address, key, exists in zip(vector(position), keys, is_entry, strict=True):
                if exists:
                    readers[array, address].add(key)
                    if array in of_values:
                        leaves[array, address].add(key)
    entries = _marks(tensor, leaves)
    marks = {element: {entries[key] for key in of if key in entries} for element, of in readers.items()}
    return Layout(tensor, entries, {element: min(of) for element, of in marks.items() if len(of) == 1})


def _marks(tensor: Tensor, leaves: dict[Element, set[Key]]) -> dict[Key, int]:
    """Return the mark of each entry; entries whose value is the same element share one."""
    first: dict[Key, Key] = {}
    for sharing in leaves.values():
        earliest = min(sharing)
        for key in sharing:
            first[key] = min(first.get(key, key), earliest)
    marks: dict[Key, int] = {}
    found: dict[Key, int] = {}
    for key in map(tuple, tensor.to_coo()[0].T.tolist()):
        found[key] = marks.setdefault(first.get(key, key), len(marks))
    return found


def _reads(expression: Expression, arrays: Mapping[str, Array]) -> Iterator[tuple[str, Expression]]:
    """Yield the reads of arrays in an expression: each array, and the position in it."""
    match expression:
        case Call(Name(array), (position,)) if array in arrays:
            yield array, position
        case _:
            pass
    for child in children(expression):
        yield from _reads(child, arrays)
