"""The bytes that the stored dictionaries of a plan take at once, as estimated.

    footprint(let x = d in e) = max(footprint(d), bytes(d) + footprint(e))
    footprint(others)         = the most of their parts'

The result is left out: every plan makes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from storel.calculus.nodes import Term
from storel.optimizer.cardinality import Place
from storel.optimizer.cost import estimate, is_hashed
from storel.optimizer.estimate import Estimate
from storel.optimizer.variations import Variation
from storel.symbols import Symbols

PLACE = 8
"""Bytes of a place of a table: its value."""

SLOT = 64
"""Bytes that an entry takes in a hash table: up to four slots of a key and a value."""


def footprint(term: Term, symbols: Symbols) -> float:
    """Return the estimated bytes that ``term``, which is closed, stores at once besides its result."""
    return estimate(term, symbols, _Footprint()).nanoseconds


@dataclass(frozen=True, slots=True)
class _Footprint:
    """Bytes as a cost model."""

    def price(
        self,
        constructor: str,
        text: str,
        costs: Sequence[float],
        estimates: Sequence[Estimate],
        result: Estimate,
        variation: Variation,
        outer: int,
        place: Place | None = None,
    ) -> float:
        """Return the bytes that a node stores at once, given those of its children."""
        if constructor == "Let" and estimates[0].counts:
            value, body = costs
            return max(value, _bytes(estimates[0]) + body)
        return max(costs, default=0.0)


def _bytes(stored: Estimate) -> float:
    places = math.prod(stored.spans)
    return SLOT * stored.contributions if is_hashed(places, stored.total) else PLACE * places
