"""Generators in another order than they are written in: which tensor drives a loop, and which is looked up.

A key that several generators bind is looked up in all but the first (``calculus/generators.py``), so that the
order in which a program happens to name its operands is where the search for its plan begins. Rules exchange
neighbours where storage allows it, but not whole joins. So there is a second beginning: sparse tensors come
before dense ones, those that share a key with what came before, and of these the one with the fewest entries
for each choice of these keys (Swami, "Optimization of Large Join Queries", SIGMOD 1989).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from storel.calculus.lower import lower
from storel.optimizer.cardinality import appraise
from storel.symbols import Symbols
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Generator, Mapped, Range, Sum
from storel.syntax.walk import map_children


def reordered(expression: Expression, symbols: Symbols) -> Expression:
    """Return a composed expression with the generators of its sums in the order of their statistics."""
    match expression:
        case Mapped():
            return expression
        case Sum(generators, _, _) if len(generators) > 1:
            ordered = replace(expression, generators=tuple(_ordered(generators, symbols)))
            return map_children(ordered, lambda child: reordered(child, symbols))
        case _:
            return map_children(expression, lambda child: reordered(child, symbols))


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
    def is_dense(self) -> bool:
        return self.entries >= math.prod(self.spans)

    @property
    def needs(self) -> frozenset[str]:
        return free_names(self.generator.source)

    def fan_out(self, bound: frozenset[str]) -> float:
        """Return how many entries are expected for each choice of the keys that are bound."""
        known = (span for key, span in zip(self.keys, self.spans, strict=True) if key in bound)
        return self.entries / max(1.0, math.prod(known))


def _ordered(generators: tuple[Generator, ...], symbols: Symbols) -> Iterator[Generator]:
    """Yield generators in a good order; in their own where one of them is not known beforehand."""
    left = [_source(each, symbols) for each in generators]
    names = frozenset(name for each in left for name in each.keys if name is not None)
    values = frozenset(each.value.name for each in generators if each.value.name is not None)
    if any(math.isnan(each.entries) for each in left) or names & values:
        yield from generators
        return
    bound = frozenset[str]()
    while left:
        possible = [each for each in left if not each.needs & (names | values) - bound]
        chosen = min(possible, key=lambda each: _preference(each, bound))
        left.remove(chosen)
        bound |= {name for name in chosen.keys if name is not None}
        yield chosen.generator


def _preference(source: _Source, bound: frozenset[str]) -> tuple[bool, bool, float]:
    return source.is_dense, bool(bound) and bound.isdisjoint(source.keys), source.fan_out(bound)


def _source(generator: Generator, symbols: Symbols) -> _Source:
    match generator.source:
        case Mapped(_, mapping, semiring):
            estimate, depth = appraise(lower(mapping, symbols, semiring), symbols), len(generator.keys)
            return _Source(generator, estimate.counts[depth - 1], estimate.spans[:depth])
        case Range():
            return _Source(generator, math.inf, (math.inf,))
        case _:
            return _Source(generator, math.nan, ())
