"""When a search ends, and what is told of it afterwards.

A search may save at most what the best plan so far takes, so it may take some multiple of that: then a plan
is good enough, as in optimizers of databases. Effort is counted in nodes, not in seconds, so that plans do
not depend on what else the machine does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

E_NODE = 1e5
"""Nanoseconds that a search takes for each e-node: to find, to read and to price it."""

TERM_NODE = 2e4
"""Nanoseconds that a search takes for each node of a term that it makes and prices."""

FEW_E_NODES = 1_000
"""E-nodes that a phase may make however little is at stake: products of three operands take 700."""

FEW_TERM_NODES = 20_000
"""Nodes of terms that a search may make however little is at stake: chains of eight matrices take these."""


class Stop(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    ITERATIONS = "iteration limit"
    NODES = "node limit"
    TIME = "time limit"
    GOOD_ENOUGH = "good enough"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: whichever comes first; other work on the machine takes none of the seconds."""

    iterations: int = 60
    nodes: int = 20_000
    seconds: float = 5.0

    def within(self, nanoseconds: float) -> Limits:
        """Return these limits with no more e-nodes than may take so long, but for a few."""
        return replace(self, nodes=int(min(self.nodes, max(FEW_E_NODES, nanoseconds / E_NODE))))


@dataclass(frozen=True, slots=True)
class PhaseReport:
    """What happened in one phase."""

    phase: str
    iterations: int
    nodes: int
    matches: dict[str, int]
    stop: Stop
    milliseconds: float
