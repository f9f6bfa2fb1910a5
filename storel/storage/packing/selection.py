"""The entries that a chain may still take, and what is known of them, for some after the others.

What is computed of a few thousand entries stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.storage.packing.building import Building
from storel.storage.packing.columns import LARGEST_KEPT, collected, pieces
from storel.storage.unpacking.extremes import LARGEST_INT32, Interval, interval
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Binary, Expression, Name

Names: TypeAlias = Mapping[str, Any]
"""What the names in expressions stand for: sizes, and vectors with an element for each of some entries."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """The number of an entry, and why its chain cannot take it."""

    entry: int
    reason: str


class EntriesDoNotFit(FormatError):
    """A format does not hold some entries; ``keys`` are theirs, rank × count, as far as is known."""

    def __init__(self, message: str, keys: Array, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


@dataclass
class Selection:
    """Some entries, and the values of variables for each."""

    building: Building
    entries: Array
    """The numbers of the entries, ascending."""

    values: Array
    vectors: dict[str, Array]
    """The keys, and of the variables those that have been found (``columns.py``)."""

    misfit: Misfit | None = field(default=None, init=False)
    _extremes: dict[str, tuple[Array, Interval]] = field(
        default_factory=dict[str, tuple[Array, Interval]], init=False
    )

    def interval(self, expression: Expression, largest: int | None = None) -> Interval | None:
        """Return between which numbers the values of an expression lie, and those of its parts, if known."""
        return interval(expression, self._extremes_of, largest)

    def is_never_below(self, expression: Expression, other: Expression, by: int = 0) -> bool:
        """Return whether it is proven that the first is the greater one by at least ``by``."""
        found = self.interval(Binary("-", expression, other))
        return found is not None and found[0] >= by

    def _extremes_of(self, name: str) -> Interval | None:
        size = self.building.sizes.get(name)
        if size is not None:
            return size, size
        vector = self.vectors.get(name)
        if vector is None or vector.dtype.kind != "i":
            return None
        kept, found = self._extremes.get(name, (None, (0, 0)))
        if kept is not vector:
            found = (int(vector.min()), int(vector.max())) if len(vector) else (0, 0)
            self._extremes[name] = vector, found
        return found

    def value(self, expression: Expression) -> Array:
        """Return the value of a known expression for each entry."""
        if isinstance(expression, Name) and expression.name in self.vectors:
            return self.vectors[expression.name]
        found = ((piece, self.evaluate(expression, names)) for piece, names in self.pieces(expression))
        are_small = self.interval(expression, LARGEST_KEPT) is not None
        return collected(len(self.entries), found, are_small=are_small)

    def extreme(self, expression: Expression, function: Callable[[Any], Any]) -> int:
        """Return the least or greatest value of a known expression; 0 if there are no entries."""
        if not len(self.entries):
            return 0
        if not free_names(expression) & self.vectors.keys():
            return int(self.evaluate(expression, self.building.sizes))
        found = [function(self.evaluate(expression, names)) for _, names in self.pieces(expression)]
        return int(function(found))

    def holds(self, condition: Callable[[Names], Any], *expressions: Expression) -> Array:
        """Return for which entries a condition holds, which needs the names in ``expressions``."""
        found = np.empty(len(self.entries), dtype=bool)
        for piece, names in self.pieces(*expressions):
            found[piece] = condition(names)
        return found

    def keep(self, fits: Array, reason: Callable[[int], str]) -> None:
        """Drop the entries that do not fit; ``reason`` is asked for the first one, by its index."""
        if fits.all():
            return
        first = int(np.argmin(fits))
        entry = int(self.entries[first])
        if self.misfit is None or entry < self.misfit.entry:
            self.misfit = Misfit(entry, reason(first))
        self.entries, self.values = self.entries[fits], self.values[fits]
        self.vectors = {name: vector[fits] for name, vector in self.vectors.items()}

    def evaluate(self, expression: Expression, names: Names) -> Any:
        """Return the value of a known expression where its names are these."""
        return evaluate_vector(expression, names, self.building.arrays)

    def pieces(self, *expressions: Expression) -> Iterator[tuple[slice, dict[str, Any]]]:
        """Yield the names in expressions for some entries after the others; at least once."""
        needed = frozenset[str]().union(*map(free_names, expressions))
        vectors = {name: vector for name, vector in self.vectors.items() if name in needed}
        are_small = all(self.interval(each, LARGEST_INT32) is not None for each in expressions)
        for piece, names in pieces(vectors, len(self.entries), are_small=are_small):
            yield piece, {**self.building.sizes, **names}

    def at(self, number: int) -> dict[str, Any]:
        """Return the names for one of the entries."""
        found = {name: int(vector[number]) for name, vector in self.vectors.items()}
        return {**self.building.sizes, **found}
