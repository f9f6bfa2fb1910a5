"""How many elements a stored array has for one integer: degree products.

An integer drawn from one array refers to a segment, or to equal elements, of another. Integers that
are drawn often weigh more, so that the average is over the elements, not over the integers:

    length of a(pos(e):pos(e + 1))  =  join(drawn, segments of pos) / |drawn|₁
    elements of a equal to e        =  join(drawn, occurrences in a) / |drawn|₁
    keys that a and b share         =  join(occurrences in a, occurrences in b)
    e in a loop over its segment     is drawn as often as that is long

where ``drawn`` are the occurrences in the array that e is an element of. A position that a search finds
is drawn as often as its element is. This holds on average if the elements are all visited equally
often, and parts of arrays share in it by their lengths; where nothing is known, a join is uniform.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

from storel.degrees import DegreeVector, KnownDegrees, Occurrences, join, summary_of
from storel.symbols import ArraySymbol, Symbols


@dataclass(frozen=True, slots=True)
class Boundary:
    """An element of ``array`` at ``identity`` + ``offset``; ``drawn`` says how often each place recurs."""

    array: str
    identity: Hashable
    offset: int
    drawn: KnownDegrees | None


def segment_length(
    length: float, low: Boundary | None, high: Boundary | None, symbols: Symbols
) -> float | None:
    """Return the expected length of a segment of an array of ``length``; None if these are no boundaries."""
    if low is None or high is None or (low.array, low.identity) != (high.array, high.identity):
        return None
    fact = symbols.get(low.array)
    if not isinstance(fact, ArraySymbol):
        return None
    if (low.offset, high.offset) == (0, 1):
        degree = mean_degree(low.drawn, fact.segments)
        if degree is not None:
            return degree
    return (high.offset - low.offset) * length / max(1, fact.length - 1)


def matches(
    length: float, distinct: float | None, occurrences: KnownDegrees | None, drawn: KnownDegrees | None
) -> float:
    """Return how many of ``length`` elements equal an integer; ``occurrences`` are those of a whole array."""
    if occurrences is not None and summary_of(occurrences).total == length:
        degree = mean_degree(drawn, occurrences)
        if degree is not None:
            return degree
    return length / max(1.0, min(distinct or 1.0, length))


def common(
    lengths: tuple[float, float], one: KnownDegrees | None, other: KnownDegrees | None, domain: float
) -> float:
    """Return how many keys parts of two arrays share; of uniform ones, by the size of their domain."""
    pairs = math.prod(lengths) / max(1.0, domain)
    if one is not None and other is not None:
        whole = summary_of(one).total * summary_of(other).total
        pairs = join(one, other).estimate * math.prod(lengths) / max(1.0, whole)
    return min(*lengths, pairs)


def found_positions(drawn: KnownDegrees | None, elements: KnownDegrees | None) -> KnownDegrees | None:
    """Return how often each position of an array is found by searches for integers that are drawn so."""
    if isinstance(drawn, DegreeVector) and isinstance(elements, Occurrences):
        return elements.positions(drawn)
    return None


def is_distinct(array: str | None, begin: Boundary | None, symbols: Symbols) -> bool:
    """Return whether no element occurs twice in an array, or in the segment of it that begins there."""
    fact = symbols.get(array) if array is not None else None
    if not isinstance(fact, ArraySymbol):
        return False
    return fact.unique or fact.increasing or (begin is not None and begin.array == fact.within)


def visits(boundary: Boundary, symbols: Symbols) -> KnownDegrees | None:
    """Return how often each place is met in loops over the segments: as often as its segment is long."""
    fact = symbols.get(boundary.array)
    return fact.segments if isinstance(fact, ArraySymbol) else None


def both(one: KnownDegrees | None, other: KnownDegrees | None) -> KnownDegrees | None:
    """Return how often integers recur for two reasons; what is unknown is taken to be uniform."""
    if isinstance(one, DegreeVector) and isinstance(other, DegreeVector):
        return one.times(other)
    return one or other


def drawn_elements(positions: KnownDegrees | None, elements: KnownDegrees | None) -> KnownDegrees | None:
    """Return how often each element of an array is met if its positions are visited so often."""
    if isinstance(positions, DegreeVector) and isinstance(elements, Occurrences):
        return elements.elements_at(positions)
    return None


def mean_degree(drawn: KnownDegrees | None, degrees: KnownDegrees | None) -> float | None:
    """Return the average degree of an integer that is drawn so; None where either is not known."""
    if drawn is None or degrees is None:
        return None
    return join(drawn, degrees).estimate / max(1.0, summary_of(drawn).total)
