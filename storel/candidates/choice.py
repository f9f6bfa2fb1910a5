"""``auto`` in place of a format: the cheapest one for a program, or where none is known the smallest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from storel.candidates.candidates import candidates
from storel.compilation.reformat import conversion_cost
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor

Price: TypeAlias = Callable[[Tensor], float]
"""Returns the estimated nanoseconds of a program with its operand so stored."""


def smallest(tensor: Tensor, formats: Formats, memory_limit: int | None = None) -> Tensor:
    """Return ``tensor`` in the format that takes the fewest bytes; of equals in the present one."""
    if tensor.rank == 0:
        return tensor
    kept = candidates(tensor, formats, memory_limit).kept
    return min(kept, key=lambda each: each.bytes).tensor


def cheapest(
    tensor: Tensor, formats: Formats, price: Price, memory_limit: int | None = None, *, is_stored: bool
) -> Tensor:
    """Return ``tensor`` in the format of the least estimated time: storing it so, and the program once.

    ``is_stored`` says whether the present format costs nothing, since the data comes in it.
    """
    if tensor.rank == 0:
        return tensor

    kept = candidates(tensor, formats, memory_limit).kept

    def total(number: int) -> tuple[float, int]:
        is_free = is_stored and number == 0
        storing = 0.0 if is_free else conversion_cost(tensor, kept[number].tensor)
        return price(kept[number].tensor) + storing, kept[number].bytes

    return kept[min(range(len(kept)), key=total)].tensor
