"""What one may ask of the optimizer, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from storel.calculus.nodes import Term
from storel.errors import TypeMismatchError, UnknownNameError, nearest
from storel.optimizer.cost.model import NANOSECONDS, Cost, CostModel, Nanoseconds
from storel.optimizer.egraph.browse import Graph
from storel.optimizer.egraph.extract import Extractor
from storel.optimizer.encoding.binders import Encoding
from storel.optimizer.encoding.debruijn import DE_BRUIJN
from storel.optimizer.encoding.named import NAMED
from storel.optimizer.limits import Limits, PhaseReport

if TYPE_CHECKING:
    from storel.optimizer.egraph.saturate import Schedule  # loads the e-graph library

NORMALIZE = Limits()
"""The budget of the first phase, which nearly always saturates."""

MAIN = Limits(iterations=30, nodes=5_000, seconds=2.0)
"""The budget of the second phase: products of three operands take 700 nodes."""

PATIENCE = 100.0
"""Runs of the best plan so far that a search may take as long as."""

BINDERS: dict[str, Encoding] = {"named": NAMED, "debruijn": DE_BRUIJN}
_SHIPPED = dict(BINDERS)


def _is_cost_model(part: object) -> bool:
    return not isinstance(part, type) and callable(getattr(part, "price", None))


def _is_extractor(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, Extractor)


def _is_limits(part: object) -> bool:
    return isinstance(part, Limits)


def _is_patience(part: object) -> bool:
    return isinstance(part, int | float) and part >= 0


_PARTS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "normalize": (_is_limits, "Limits"),
    "main": (_is_limits, "Limits"),
    "cost": (_is_cost_model, "a cost model, which has a method price"),
    "schedule": (lambda part: part is None or callable(part), "a function of a state and a phase"),
    "extractor": (_is_extractor, "a subclass of Extractor"),
    "patience": (_is_patience, "a number of runs, 0 or more"),
}
"""What the parts of a search may be, as a test and in words."""


@dataclass(frozen=True, slots=True)
class Options:
    """Budgets of the two phases, and every part of the search that may be another.

    A main phase of no iterations keeps sums and products in the order written; ``expands`` also allows to
    multiply products of sums out. ``cost`` is what plans are compared by, ``binders`` a name in ``BINDERS``,
    ``rewrites`` lets the eager rules rewrite the term before there is an e-graph, ``schedule`` runs the
    rulesets (``saturate.alternate`` if there is none), and ``extractor`` is a subclass that chooses nodes in
    its own way. Plans that are expected to store more than ``memory`` bytes are not chosen if others store
    less. A search goes on as long as it takes less than ``patience`` runs of the best plan so far; with
    infinite patience only the budgets end it. What is searched with a user's model, schedule, extractor or
    encoding is not remembered, since nothing tells when they change.
    """

    normalize: Limits = NORMALIZE
    main: Limits = MAIN
    cost: CostModel = NANOSECONDS
    binders: str = "named"
    expands: bool = False
    rewrites: bool = True
    schedule: Schedule | None = None
    extractor: type[Extractor] = Extractor
    memory: float = math.inf
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        """Raise StorelError for a part that is none, before a search comes upon it."""
        for name, (is_one, expected) in _PARTS.items():
            part: object = getattr(self, name)
            if not is_one(part):
                raise TypeMismatchError(
                    f"'{name}' of a search is something else",
                    expected=expected,
                    found=f"{part!r} ({type(part).__name__})",
                )
        if self.binders not in BINDERS:
            raise UnknownNameError(
                f"there is no encoding of binders called '{self.binders}'",
                expected=", ".join(BINDERS),
                hint=nearest(self.binders, BINDERS),
            )

    @property
    def is_repeatable(self) -> bool:
        """Whether the same options always search in the same way."""
        is_shipped = BINDERS[self.binders] is _SHIPPED.get(self.binders)
        is_own = type(self.cost) is not Nanoseconds or self.extractor is not Extractor
        return is_shipped and not is_own and self.schedule is None


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

    All terms are right as long as no element of the arrays ``nonzero`` is zero.
    ``considered`` are all terms that were priced in full, the chosen one among them, the cheapest first;
    ``graph`` is the e-graph that the last phase ended with, ``effort`` the nanoseconds that another search
    like this one may take.
    """

    term: Term
    cost: Cost
    report: tuple[PhaseReport, ...]
    normalized: Term
    nonzero: frozenset[str]
    considered: tuple[Priced, ...] = field(compare=False, repr=False)
    graph: Graph = field(compare=False, repr=False)
    effort: float = field(compare=False, repr=False)


DEFAULT = Options()
