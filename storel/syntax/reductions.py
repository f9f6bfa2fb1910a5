"""The monoids of comprehensions."""

from __future__ import annotations

from collections.abc import Iterable

from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.semiring import OPERATIONS, PLUS_TIMES, Scalar
from storel.syntax.values import rounded


def reduce_all(monoid: str, values: Iterable[Scalar], scalar: ScalarType) -> Scalar:
    """Return ``values`` combined in a monoid; raises ``EvaluationError`` for the minimum of nothing.

    >>> reduce_all("max", [1, 3, 2], ScalarType.INT64), reduce_all("prod", [], ScalarType.INT64)
    (3, 1)
    """
    match monoid:
        case "any":
            return any(list(values))
        case "all":
            return all(list(values))
        case "count":
            return sum(1 for _ in values)
        case "prod":
            product = rounded(1, scalar)
            for value in values:
                product = rounded(PLUS_TIMES.times(product, value), scalar)
            return product
        case _:
            return _extreme(monoid, values, scalar)


def _extreme(monoid: str, values: Iterable[Scalar], scalar: ScalarType) -> Scalar:
    choose = OPERATIONS[{"min": "minimum", "max": "maximum"}[monoid]]
    best: Scalar | None = None
    for value in values:
        best = value if best is None else choose(best, value)
    if best is None:
        raise EvaluationError(f"the {monoid} of nothing")
    return rounded(best, scalar)
