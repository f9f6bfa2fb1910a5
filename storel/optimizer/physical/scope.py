"""Where the planner stands: the enclosing binders, and the destination of what it plans."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storel.calculus.bounds import narrowed
from storel.calculus.intervals import Interval
from storel.calculus.nodes import Term
from storel.calculus.verify import Type
from storel.optimizer.estimation.estimate import Estimate, unknown, variable
from storel.semiring import SEMIRINGS, Scalar
from storel.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Scope:
    """Types and integer bounds of the enclosing binders, the innermost first.

    The interval of a store is that of its outermost keys. ``extents`` are those of binders that are
    stores or rows of one, empty for the others. ``loops`` counts the enclosing loops,
    ``appraised`` are the estimates of what was bound by a ``let``.
    """

    types: tuple[Type, ...] = ()
    intervals: tuple[Interval, ...] = ()
    extents: tuple[tuple[Term, ...], ...] = ()
    loops: int = 0
    appraised: tuple[Estimate | None, ...] = ()

    def bind(
        self,
        *entries: tuple[Type, Interval],
        extents: tuple[tuple[Term, ...], ...] | None = None,
        loops: int = 0,
        appraised: Estimate | None = None,
    ) -> Scope:
        """Enter binders, the outermost first; ``extents`` come the innermost first."""
        types = tuple(entry[0] for entry in reversed(entries))
        intervals = tuple(entry[1] for entry in reversed(entries))
        bound = ((),) * len(entries) if extents is None else extents
        known = (appraised,) * len(entries) + self.appraised
        return Scope(
            types + self.types, intervals + self.intervals, bound + self.extents, self.loops + loops, known
        )

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """What is known of the binders: of stores what was estimated, of loops types and bounds only."""
        known = zip(self.types, self.intervals, self.appraised, strict=True)
        return tuple(
            variable(n, found or unknown(each, of.rank)) for n, (of, each, found) in enumerate(known)
        )

    def where(self, condition: Term, symbols: Symbols) -> Scope:
        """Go where ``condition`` holds."""
        return replace(self, intervals=narrowed(condition, symbols, self.intervals))


@dataclass(frozen=True, slots=True)
class Monoid:
    """How a destination combines what is added to it; without a ``zero`` something must be."""

    operator: str
    zero: Scalar | None


def sum_over(semiring: str) -> Monoid:
    """Return the additive monoid of a semiring: sums over it may be added up in such a destination."""
    ring = SEMIRINGS[semiring]
    return Monoid(ring.plus_name, ring.zero)
