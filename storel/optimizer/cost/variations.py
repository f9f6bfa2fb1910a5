"""Ways to charge for a plan, for each of which the cheapest one is extracted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variation:
    """A way to charge.

    ``shared_loops`` is the part charged for a loop that depends on at most one outer variable: it may
    later be moved out or tabulated, and a cost that anticipates this finds plans that are worse as
    they stand and better afterwards. ``flops`` weighs arithmetic against memory; ``selective`` weighs a
    condition by its probability. ``unstored`` weighs loops over dictionaries that are not stored, with all
    they do, and lookups in them: taken apart they can be reordered, as they stand they cannot.
    """

    name: str
    shared_loops: float = 1.0
    unstored: float = 1.0
    flops: float = 1.0
    selective: bool = False


PLAIN = Variation("plain")
TAKEN_APART = Variation("taken apart", unstored=1e6)
SHARED = Variation("shared", shared_loops=0.1)
ARITHMETIC = Variation("arithmetic", flops=10_000.0)
FULL = Variation("full", selective=True)
