"""Counts of what a kernel does, one for each action of its plan.

    loop    iterations of its body        guard    times that its condition held
    unite   distinct keys                 others   times that they ran

Counters are numbered in preorder, as the plan is printed. They are an output of the kernel like any other,
so that C, Numba and the interpreter count without knowing it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storel.loops.emitter import INDEX, Emitter, index
from storel.loops.nodes import Buffer, Role, Update

COUNTS = Buffer("profile.counts", INDEX, Role.INDEX)


@dataclass
class Profile:
    """The counters handed out so far."""

    length: int = 0

    def counter(self, emitter: Emitter) -> Callable[[], None]:
        """Return a function that emits an increment of the next counter at the emitter's cursor."""
        number = index(self.length)
        self.length += 1
        return lambda: emitter.emit(Update(COUNTS, number, "add", index(1)))
