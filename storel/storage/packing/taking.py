"""Which entries a part of a composed format may take.

rank(j WITHIN i)             how many lesser j there are in the row
count(WITHIN i // 4, j // 4)  how many entries there are in the block of 4 × 4
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storel.errors import FormatError
from storel.storage.packing import ranking
from storel.storage.vectors import evaluate_vector
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
    names: dict[str, Any] = dict(sizes)
    for binder, keys in zip(taking.keys, coordinates, strict=True):
        if binder.name is not None:
            names[binder.name] = keys
    if taking.value.name is not None:
        names[taking.value.name] = values
    found = evaluate_vector(_without_windows(taking.condition, names, len(values)), names, {})
    return np.broadcast_to(np.asarray(found, dtype=bool), values.shape)


def _without_windows(expression: Expression, names: dict[str, Any], count: int) -> Expression:
    """Replace windows by names of their values."""
    match expression:
        case Window(_, ordered, within):
            groups = [np.broadcast_to(evaluate_vector(each, names, {}), (count,)) for each in within]
            name = f"window {len(names)}"
            if ordered is None:
                names[name] = ranking.sizes(groups, count)
            else:
                ranked = np.broadcast_to(evaluate_vector(ordered, names, {}), (count,))
                names[name] = ranking.ranks(groups, [ranked], count)
            return Name(name)
        case _:
            return map_children(expression, lambda child: _without_windows(child, names, count))
