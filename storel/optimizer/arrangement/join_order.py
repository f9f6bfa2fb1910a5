"""Generators in other orders than they are written in: which tensor drives a loop, and which is looked up.

A key that several generators bind is looked up in all but the first (``calculus/generators.py``), so that the
order in which a program happens to name its operands is where the search for its plan begins. Rules exchange
neighbours where storage allows it, but not whole joins. So there are other beginnings: sparse tensors come
before dense ones, those that share a key with what came before, and of these the one with the fewest entries
for each choice of these keys (Swami, "Optimization of Large Join Queries", SIGMOD 1989). The first is the one
with the fewest entries; of several generators others are the first as well, in the orders with the fewest
partial results (C_out of Cluet, Moerkotte, "On the complexity of generating optimal left-deep processing
trees with cross products", ICDT 1995).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TypeAlias

from storel.calculus.lower import lower
from storel.optimizer.estimation.cardinality import appraise
from storel.optimizer.estimation.estimate import Estimate
from storel.symbols import Symbols
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Generator, Mapped, Range, Sum
from storel.syntax.walk import map_children

SEVERAL = range(4, 7)
"""Numbers of generators of which more than one order is tried.

Of fewer, a search reaches most orders from any of them; of more, it would take too long.
"""

TRIED = 3
"""How many orders are tried then."""

ENDLESS = 1e12
"""How many elements a range is taken to have: where it ends is not looked at."""


_Ordered: TypeAlias = Callable[[tuple[Generator, ...]], list[tuple[Generator, ...]]]
"""The orders of some generators, the best ones first."""

_Estimated: TypeAlias = Callable[[Mapped], Estimate]
"""The estimates of stored tensors: one may be the source of several generators."""


def orders(expression: Expression, symbols: Symbols) -> tuple[Expression, ...]:
    """Return a composed expression with the generators of its sums in other orders, the best ones first."""
    estimate = cache(partial(_estimate, symbols=symbols))
    ordered = cache(partial(_ordered, estimate=estimate))
    found = [_reordered(expression, ordered, 0)]
    while len(found) < TRIED and (another := _reordered(expression, ordered, len(found))) != found[-1]:
        found.append(another)
    return tuple(each for each in found if each != expression)


def _reordered(expression: Expression, ordered: _Ordered, place: int) -> Expression:
    """Return a composed expression with the generators of each sum in one of their best orders."""
    match expression:
        case Mapped():
            return expression
        case Sum(generators, _, _) if len(generators) > 1:
            found = ordered(generators)
            expression = replace(expression, generators=found[min(place, len(found) - 1)])
        case _:
            pass
    return map_children(expression, lambda child: _reordered(child, ordered, place))


@dataclass(frozen=True, slots=True)
class _Source:
    """A generator, the entries expected in its source, and how many values each of its keys may have."""

    generator: Generator
    entries: float
    spans: tuple[float, ...]

    @property
    def keys(self) -> tuple[str | None, ...]:
        return tuple(key.name for key in self.generator.keys)

    @property
    def binds(self) -> frozenset[str]:
        """What others may ask for once this one was chosen: its keys and its value."""
        return frozenset(name for name in (*self.keys, self.generator.value.name) if name is not None)

    @property
    def is_dense(self) -> bool:
        return self.entries >= math.prod(self.spans)

    @property
    def needs(self) -> frozenset[str]:
        return free_names(self.generator.source)

    def fan_out(self, bound: frozenset[str]) -> float:
        """Return how many entries are expected for each choice of the keys that are bound."""
        spans = list(zip(self.keys, self.spans, strict=True))
        if self.is_dense:  # as is a range, whose end is not known
            return math.prod(span for key, span in spans if key not in bound)
        return self.entries / max(1.0, math.prod(span for key, span in spans if key in bound))


def _ordered(generators: tuple[Generator, ...], estimate: _Estimated) -> list[tuple[Generator, ...]]:
    """Return generators in orders of which each begins with another one, the best ones first.

    Unless there are several, one order is all. They are left as they are where one is not known beforehand.
    """
    sources = [_source(each, estimate) for each in generators]
    names = frozenset(name for each in sources for name in each.keys if name is not None)
    values = frozenset(each.value.name for each in generators if each.value.name is not None)
    if any(math.isnan(each.entries) for each in sources) or names & values:
        return [generators]
    free = [each for each in sources if not each.needs & (names | values)]
    firsts = [each for each in free if not each.is_dense] or free
    fewest = min(firsts, key=lambda each: each.entries)
    others = [each for each in firsts if each is not fewest and len(sources) in SEVERAL]
    joined, *more = (list(_joined(each, sources, names | values)) for each in (fewest, *others))
    found = [joined, *sorted(more, key=_partial_results)]
    return [tuple(each.generator for each in order) for order in found]


def _joined(first: _Source, sources: Sequence[_Source], names: frozenset[str]) -> Iterator[_Source]:
    """Yield sources, one of them first, each when what it needs of ``names`` is bound."""

    def preference(source: _Source) -> tuple[bool, bool, float]:
        return source.is_dense, bound.isdisjoint(source.keys), source.fan_out(bound)

    left, chosen, bound = list(sources), first, frozenset[str]()
    while True:
        yield chosen
        left.remove(chosen)
        bound |= chosen.binds
        if not left:
            break
        chosen = min((each for each in left if not each.needs & names - bound), key=preference)


def _partial_results(order: Sequence[_Source]) -> float:
    """Return how many partial results a join in an order is expected to make."""
    bound, results, total = frozenset[str](), 1.0, 0.0
    for source in order:
        results *= source.fan_out(bound)
        total += results
        bound |= source.binds
    return total


def _source(generator: Generator, estimate: _Estimated) -> _Source:
    match generator.source:
        case Mapped() as stored:
            known, depth = estimate(stored), len(generator.keys)
            return _Source(generator, known.counts[depth - 1], known.spans[:depth])
        case Range():
            return _Source(generator, ENDLESS, (ENDLESS,))
        case _:
            return _Source(generator, math.nan, ())


def _estimate(stored: Mapped, symbols: Symbols) -> Estimate:
    return appraise(lower(stored.mapping, symbols, stored.semiring), symbols)
