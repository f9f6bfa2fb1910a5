"""What a cost model, which may be a user's, makes of a node, checked before plans are compared by it."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

from storel.errors import DataError, TypeMismatchError

ROUNDING = 1e-9
"""The part of a price by which rounding may change it."""


def require_price(found: object, model: object, constructor: str, costs: Sequence[float]) -> float:
    """Return the price of a node, given those of its children; raises TypeMismatchError for no number."""
    if isinstance(found, float) and found == found:  # as nearly always: asking for a Real takes longer
        return found
    if not isinstance(found, Real) or found != found:
        raise TypeMismatchError(
            f"the cost model {type(model).__name__} returned something else as the price of a {constructor}",
            expected="a number; the children of the node cost " + ", ".join(f"{cost:g}" for cost in costs),
            found=f"{found!r} ({type(found).__name__})",
        )
    return float(found)


def require_growing(found: object, model: object, constructor: str, costs: Sequence[float]) -> float:
    """Return such a price; raises DataError, too, if it is less than that of a child."""
    price = require_price(found, model, constructor, costs)
    if price < (1 - ROUNDING) * max(costs):
        raise DataError(
            f"the cost model {type(model).__name__} makes a {constructor} cheaper than a child of it",
            expected=f"at least {max(costs):g}",
            found=f"{price:g}",
            hint="prices that fall from child to parent have no least one",
        )
    return price
