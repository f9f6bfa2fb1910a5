"""Which entries a part of a composed format may take.

rank(j WITHIN i)             how many lesser j there are in the row
count(WITHIN i // 4, j // 4)  how many entries there are in the block of 4 × 4
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from storel.errors import FormatError
from storel.storage.packing import ranking
from storel.storage.packing.columns import collected, pieces
from storel.storage.vectors import evaluate_vector
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import Taking
from storel.syntax.nodes.expressions import Expression, Name, Window
from storel.syntax.walk import map_children

Array: TypeAlias = NDArray[Any]


def taken(taking: Taking, coordinates: Array, values: Array, sizes: Mapping[str, int]) -> Array:
    """Return for each entry whether the condition holds.

    Raises FormatError for another number of keys than the entries have.
    """
    if len(taking.keys) != len(coordinates):
        raise FormatError(
            "what a part takes has another rank than the tensor",
            expected=f"{len(coordinates)} keys",
            found=str(len(taking.keys)),
            span=taking.condition.span,
        )
    vectors: dict[str, Array] = {}
    for binder, keys in zip(taking.keys, coordinates, strict=True):
        if binder.name is not None:
            vectors[binder.name] = keys
    if taking.value.name is not None:
        vectors[taking.value.name] = values
    entries = _Entries(sizes, vectors, len(values))
    return entries.value(entries.without_windows(taking.condition)).astype(bool)


@dataclass(frozen=True, slots=True)
class _Entries:
    """What the names in a condition stand for: sizes, and vectors with an element per entry."""

    sizes: Mapping[str, int]
    vectors: dict[str, Array]
    count: int

    def value(self, expression: Expression) -> Array:
        """Return the value of an expression without windows for each entry."""
        named = free_names(expression)
        needed = {name: vector for name, vector in self.vectors.items() if name in named}
        parts = (
            (piece, evaluate_vector(expression, {**self.sizes, **names}, {}))
            for piece, names in pieces(needed, self.count)
        )
        return collected(self.count, parts)

    def without_windows(self, expression: Expression) -> Expression:
        """Replace windows by names of their values."""
        match expression:
            case Window(_, ordered, within):
                groups = [self.value(each) for each in within]
                name = f"window {len(self.vectors)}"
                if ordered is None:
                    self.vectors[name] = ranking.sizes(groups, self.count)
                else:
                    self.vectors[name] = ranking.ranks(groups, [self.value(ordered)], self.count)
                return Name(name)
            case _:
                return map_children(expression, self.without_windows)
