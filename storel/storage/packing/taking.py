"""Which entries a part of a composed format may take.

rank(j WITHIN i)             how many lesser j there are in the row
count(WITHIN i // 4, j // 4)  how many entries there are in the block of 4 × 4
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from storel.arrays import Array
from storel.errors import FormatError
from storel.storage.packing import ranking
from storel.storage.packing.columns import collected, pieces
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import Taking
from storel.syntax.nodes.expressions import Binder, Expression, Name, Window
from storel.syntax.walk import map_children


@dataclass
class Takings:
    """What conditions ask of sorted entries; what two of them ask of groups of entries is counted once."""

    coordinates: Array
    values: Array
    sizes: Mapping[str, int]
    _windows: dict[tuple[tuple[Binder, ...], Window], Array] = field(
        default_factory=dict[tuple[tuple[Binder, ...], Window], Array]
    )

    def taken(self, taking: Taking) -> Array:
        """Return for each entry whether the condition holds.

        Raises FormatError for another number of keys than the entries have.
        """
        if len(taking.keys) != len(self.coordinates):
            raise FormatError(
                "what a part takes has another rank than the tensor",
                expected=f"{len(self.coordinates)} keys",
                found=str(len(taking.keys)),
                span=taking.condition.span,
            )
        vectors: dict[str, Array] = {}
        for binder, keys in zip(taking.keys, self.coordinates, strict=True):
            if binder.name is not None:
                vectors[binder.name] = keys
        if taking.value.name is not None:
            vectors[taking.value.name] = self.values
        condition = self._without_windows(taking.condition, taking, vectors)
        return self._value(condition, vectors).astype(bool, copy=False)

    def _value(self, expression: Expression, vectors: Mapping[str, Array]) -> Array:
        """Return the value of an expression without windows for each entry."""
        named = free_names(expression)
        needed = {name: vector for name, vector in vectors.items() if name in named}
        count = len(self.values)
        parts = (
            (piece, evaluate_vector(expression, {**self.sizes, **names}, {}))
            for piece, names in pieces(needed, count)
        )
        return collected(count, parts)

    def _without_windows(
        self, expression: Expression, taking: Taking, vectors: dict[str, Array]
    ) -> Expression:
        """Replace windows by names of their values."""
        match expression:
            case Window():
                name = f"window {len(vectors)}"
                known = (*taking.keys, taking.value), expression
                if known not in self._windows:
                    self._windows[known] = self._window(expression, vectors)
                vectors[name] = self._windows[known]
                return Name(name)
            case _:
                return map_children(expression, lambda each: self._without_windows(each, taking, vectors))

    def _window(self, window: Window, vectors: Mapping[str, Array]) -> Array:
        """Return the rank of each entry in its group, or how many entries that has."""
        groups, count = [self._numbered(each, vectors) for each in window.within], len(self.values)
        if window.ordered is None:
            return ranking.sizes(groups, count)
        return ranking.ranks(groups, [self._numbered(window.ordered, vectors)], count)

    def _numbered(self, expression: Expression, vectors: Mapping[str, Array]) -> Array:
        """Return integers in the order of an expression's values, which may be real."""
        found = self._value(expression, vectors)
        return found if found.dtype.kind == "i" else np.unique(found, return_inverse=True)[1]
