"""Which figures of a tensor cannot be true at the same time.

l∞ ≤ l2 ≤ l1          of the degrees of a dimension, whose l1 norm is the number of entries
l2² ≤ l∞ · l1         since each degree is at most l∞
nonempty ≤ entries    and what else counts keys is no more than there are keys
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

from storel.degrees import Degrees
from storel.errors import DataError

Bound: TypeAlias = tuple[str, float, str, float]
"""A figure by its name, and one that it must not exceed by its name."""

ROUNDING = 1e-5
"""Norms are written with few digits."""


def require_bounds(where: str, bounds: Iterator[Bound]) -> None:
    """Raise DataError, with both figures, for the first that exceeds the one that bounds it."""
    for name, figure, limit_name, limit in bounds:
        if figure > limit and not _is_rounded(figure, limit):
            raise DataError(
                f"{where}: {name} is more than {limit_name}",
                expected=f"at most {_written(limit)}",
                found=_written(figure),
            )


def bounds_of_degrees(degrees: Degrees, others: int) -> Iterator[Bound]:
    """Yield what must hold of the degrees of a dimension; ``others`` are the places of each of its keys."""
    l1, l2, most = degrees.total, degrees.root_square, degrees.largest
    yield "linf", most, "the places of a key", others
    yield "l2, the root of the sum of squares,", l2, "nnz, the sum", l1
    yield "linf, the largest degree,", most, "l2", l2
    yield "l2", l2, "the root of linf · nnz", math.sqrt(most * l1)
    histogram = degrees.histogram
    if histogram:
        yield "the sum of 'histogram'", sum(histogram), "'nonempty'", degrees.nonempty
        yield "'nonempty'", degrees.nonempty, "the sum of 'histogram'", sum(histogram)
        fewest = sum(keys << exponent for exponent, keys in enumerate(histogram))
        yield "what 'histogram' makes of entries", fewest, "nnz", l1


def bounds_of_keys(nonempty: int, extent: int, first: int | None, last: int | None) -> Iterator[Bound]:
    """Yield what must hold of the keys with entries, of which the first and the last may be known."""
    if nonempty == 0:
        named = 2 - (first, last).count(None)
        yield "the number of keys that 'first' and 'last' name", named, "'nonempty'", 0
        return
    end = extent - 1 if last is None else last
    yield "'last'", end, "the last key of the extent", extent - 1
    yield "'first'", first or 0, "'last'", end
    yield "'nonempty'", nonempty, "the keys from 'first' to 'last'", end - (first or 0) + 1


def bounds_of_prefixes(prefixes: tuple[int, ...], nonempty: tuple[int, ...]) -> Iterator[Bound]:
    """Yield what must hold of distinct prefixes; ``nonempty`` are keys with entries, in the same order."""
    most = 1
    for length, (found, keys) in enumerate(zip(prefixes, nonempty, strict=True), 1):
        most *= keys
        yield f"prefix {length} of 'prefixes'", found, "what 'nonempty' keys make", most
        most = found


def bounds_of_bandwidth(shape: tuple[int, ...], bandwidth: tuple[int, ...]) -> Iterator[Bound]:
    """Yield what must hold of how far entries of a matrix lie below and above the diagonal."""
    for side, extent, distance in zip(("below", "above"), shape, bandwidth, strict=True):
        farthest = max(0, extent - 1)
        yield f"'bandwidth' {side} the diagonal", distance, "the distance of the last key", farthest


def _is_rounded(figure: float, limit: float) -> bool:
    """Return whether two figures differ by less than what norms are rounded by; counts are exact."""
    is_exact = isinstance(figure, int) and isinstance(limit, int)
    return not is_exact and math.isclose(figure, limit, rel_tol=ROUNDING)


def _written(figure: float) -> str:
    return str(figure) if isinstance(figure, int) else f"{figure:g}"
