"""Which ``let``s name keys: over any semiring their values are ordinary arithmetic."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from storel.syntax.nodes.expressions import Expression, Let
from storel.syntax.walk import map_children


def marked(expression: Expression, values: Collection[int]) -> Expression:
    """Mark those ``let``s whose value's identity is in ``values``, as ``Inference`` collects them."""
    made = map_children(expression, lambda child: marked(child, values))
    if isinstance(expression, Let) and isinstance(made, Let):
        return replace(made, is_index=id(expression.value) in values)
    return made
