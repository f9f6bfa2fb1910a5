"""What operations cost, in nanoseconds: as shipped, or as measured on a machine (``calibration``)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any

from storel.functions import AS_A_DIVISION, AS_AN_ADDITION, FUNCTIONS, ONE_BY_ONE

NOT_FITTED = frozenset(("product", "lanes", "register", "node"))
"""Constants that are not measured; the last two only tell plans apart that cost the same."""

WORKING_SETS = (11, 14, 17, 20, 22, 24)
"""Logarithms of the numbers of elements that random reads are measured on."""


@dataclass(frozen=True, slots=True)
class Constants:
    """Nanoseconds per operation.

    ``gather`` is a read at random from 2^k elements, for each k of ``WORKING_SETS``; ``touch`` is the first
    access to a place of new memory; a ``function`` is one that compilers may make vector code of, ``library``
    one that they may not; ``product`` is a multiplication, and its addition, in a dense product
    that has a kernel of its own. A loop over a ``segment`` is as long as the data says, which a processor
    cannot predict; ``accumulate`` is how long an addition waits for the last one. So many iterations as there
    are ``lanes`` go side by side where consecutive values are added up. What is in other vector code or in
    the shadow of a wait is nearly free. ``call`` is what is around a kernel: every plan has it once.
    """

    flop: float = 0.08
    division: float = 0.25
    function: float = 4.0
    library: float = 9.0
    start: float = 0.25
    segment: float = 1.8
    step: float = 0.08
    accumulate: float = 0.4
    sequential: float = 0.2
    gather: tuple[float, ...] = (0.16, 0.16, 0.2, 0.3, 1.8, 2.5)
    write: float = 0.2
    tile: float = 0.08
    register: float = 0.004
    store: float = 0.4
    clear: float = 0.12
    touch: float = 0.4
    hash_build: float = 3.2
    hash_probe: float = 2.0
    collect: float = 1.8
    merge_step: float = 1.5
    search_step: float = 1.3
    branch: float = 0.12
    node: float = 0.004
    product: float = 0.04
    lanes: float = 4.0
    call: float = 16_000.0

    def listed(self) -> Iterator[tuple[str, float]]:
        """Yield each constant that is fitted with its name, those of a curve one by one."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, tuple):
                yield from (
                    (f"{each.name} 2^{size}", one) for size, one in zip(WORKING_SETS, value, strict=True)
                )
            elif each.name not in NOT_FITTED:
                yield each.name, value

    def fitted(self, values: Iterable[float]) -> Constants:
        """Return these constants with ``values`` for those that are fitted, in the order of ``listed``."""
        pending = iter(values)
        found: dict[str, Any] = {}
        for each in fields(self):
            old = getattr(self, each.name)
            if isinstance(old, tuple):
                found[each.name] = tuple(next(pending) for _ in WORKING_SETS)
            elif each.name not in NOT_FITTED:
                found[each.name] = next(pending)
        return replace(self, **found)


CONSTANTS = Constants()
FREE = Constants(lanes=1.0, register=0.0, node=0.0, product=0.0).fitted(repeat(0.0))
"""No operation costs anything."""


def gather(length: float, constants: Constants) -> float:
    """Return the cost of reading an element of an array of the given length at random."""
    size = min(max(math.log2(max(2.0, length)), WORKING_SETS[0]), WORKING_SETS[-1])
    above = min(bisect_right(WORKING_SETS, size), len(WORKING_SETS) - 1)
    low, high = WORKING_SETS[above - 1 : above + 1]
    part = (size - low) / (high - low)
    return (1 - part) * constants.gather[above - 1] + part * constants.gather[above]


def function(name: str, constants: Constants) -> float:
    """Return the cost of a function of numbers; conversions are free, since most are made anyway."""
    if FUNCTIONS[name].conversion is not None:
        return 0.0
    if name in AS_AN_ADDITION:
        return constants.flop
    if name in AS_A_DIVISION:
        return constants.division
    return constants.library if name in ONE_BY_ONE else constants.function
