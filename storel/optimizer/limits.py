"""When saturation ends, and what is told of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stop(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    ITERATIONS = "iteration limit"
    NODES = "node limit"
    TIME = "time limit"


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: whichever comes first; other work on the machine takes none of the seconds."""

    iterations: int = 60
    nodes: int = 20_000
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class PhaseReport:
    """What happened in one phase."""

    phase: str
    iterations: int
    nodes: int
    matches: dict[str, int]
    stop: Stop
    milliseconds: float
