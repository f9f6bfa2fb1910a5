"""What comes of a term that was visited (``cardinality.Fold``): its estimate, its price, and its loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from storel.calculus.nodes import Term
from storel.optimizer.estimation.estimate import Estimate


class Appraised(NamedTuple):
    """A term's estimate and price (a tuple, as what follows, since thousands are made for each plan)."""

    estimate: Estimate
    cost: float


class Loop(NamedTuple):
    """A loop of a term, with the number of times that its body is evaluated in all."""

    term: Term
    iterations: float


class Place(NamedTuple):
    """Where a node stands.

    ``innermost`` are the binders of the innermost loop around it, ``fills_tile`` says that it fills a small
    table, and ``is_repeated`` that there is a loop around it. Of a part of a sum, ``united`` are the arrays
    that all parts scan; inside of such a scan they are ``met``.
    """

    innermost: frozenset[int] = frozenset()
    fills_tile: bool = False
    is_repeated: bool = False
    united: frozenset[str] = frozenset()
    met: frozenset[str] = frozenset()

    def inside(self, binders: frozenset[int]) -> Place:
        """Return the place inside of a loop that stands here, with these binders."""
        return Place(binders, self.fills_tile, True, met=self.united)

    def within(self, varies: frozenset[int]) -> Place:
        """Return what matters of the place to a term that depends on the binders in ``varies``."""
        innermost = self.innermost & varies
        return self._replace(innermost=innermost, met=self.met if innermost else frozenset())

    def finds(self, source: Estimate, key: Estimate) -> bool:
        """Return whether a union stands at ``key``, the element of its scans, in ``source``, too."""
        element = ("Var", max(self.innermost, default=None))
        return source.array in self.met and key.identity == element


OUTSIDE = Place()

Price: TypeAlias = Callable[[str, str, Sequence[Appraised], Estimate, Place], float]
"""The price of a node: constructor, string, children, estimate, place."""


class Visited(NamedTuple):
    """What came of a term: if it is a loop that loop, and its parts, each with how often it is evaluated.

    ``node`` is its constructor, its string and its place, None for a leaf.
    """

    appraised: Appraised
    own: Loop | None = None
    parts: tuple[tuple[float, Visited], ...] = ()
    node: tuple[str, str, Place] | None = None

    def loops(self, times: float = 1.0) -> Iterator[Loop]:
        """Yield the loops in preorder, the term being evaluated so many times."""
        if self.own is not None:
            yield Loop(self.own.term, times * self.own.iterations)
        for each, part in self.parts:
            yield from part.loops(times * each)

    def priced(self, price: Price) -> Appraised:
        """Return the same estimate with another price."""
        if self.node is None:
            return self.appraised
        constructor, text, place = self.node
        parts = [part.priced(price) for _, part in self.parts]
        estimate = self.appraised.estimate
        return Appraised(estimate, price(constructor, text, parts, estimate, place))
