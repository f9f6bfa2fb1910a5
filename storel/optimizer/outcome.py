"""What one may ask of the optimizer, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from storel.calculus.nodes import Term
from storel.optimizer.binders import Encoding
from storel.optimizer.browse import Graph
from storel.optimizer.cost import CONSTANTS, Constants, Cost
from storel.optimizer.debruijn import DE_BRUIJN
from storel.optimizer.limits import Limits, PhaseReport
from storel.optimizer.named import NAMED

NORMALIZE = Limits()
MAIN = Limits(iterations=30, nodes=5_000, seconds=2.0)


@dataclass(frozen=True, slots=True)
class Options:
    """Budgets of the two phases, what operations cost on this machine, and how the e-graph holds binders.

    A main phase of no iterations keeps sums and products in the order written; ``expands`` also allows to
    multiply products of sums out.
    """

    normalize: Limits = NORMALIZE
    main: Limits = MAIN
    constants: Constants = CONSTANTS
    binders: str = "named"
    expands: bool = False


@dataclass(frozen=True, slots=True)
class Priced:
    """A term that was considered: what it comes from, its cost, and its arithmetic operations."""

    origin: str
    term: Term
    cost: Cost
    operations: float


@dataclass(frozen=True, slots=True)
class Optimized:
    """The chosen term, its cost, what the phases did, and the term between them.

    ``considered`` are all terms that were priced in full, the chosen one among them, the cheapest first;
    ``graph`` is the e-graph that the last phase ended with.
    """

    term: Term
    cost: Cost
    report: tuple[PhaseReport, ...]
    normalized: Term
    considered: tuple[Priced, ...] = field(compare=False, repr=False)
    graph: Graph = field(compare=False, repr=False)


DEFAULT = Options()
BINDERS: dict[str, Encoding] = {"named": NAMED, "debruijn": DE_BRUIJN}
