"""Lists of entries, as they are packed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.semiring import SEMIRINGS, Semiring
from storel.storage.coordinates import combine, index_dtype


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries of a tensor of some shape over a semiring: rank × count coordinates, and a value for each.

    They come in any order, and values of equal coordinates are added up, unless they ``are_combined``:
    sorted, without duplicates and zeros.
    """

    coordinates: Array
    values: Array
    shape: tuple[int, ...]
    semiring: str = "plus_times"
    are_combined: bool = False

    @property
    def ring(self) -> Semiring:
        return SEMIRINGS[self.semiring]

    @property
    def index_type(self) -> np.dtype[Any]:
        """The type of arrays of keys and positions: the least that holds them."""
        return index_dtype(self.shape, len(self.values))

    def combined(self) -> Entries:
        """Return the same sorted, without duplicates and zeros."""
        if self.are_combined:
            return self
        coordinates, values = combine(self.coordinates, self.values, self.shape, self.ring)
        return replace(self, coordinates=coordinates, values=values, are_combined=True)
