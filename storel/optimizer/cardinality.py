"""Estimates of whole terms: a fold over the De Bruijn term, from the outside in and back.

``fold`` computes the ``Estimate`` of every node and whatever ``price`` makes of it, and notes how often
each loop's body is reached: the estimated iterations N(prefix), where the prefix counts conditions
by their probability.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from storel.calculus.intervals import ANY, Interval
from storel.calculus.nodes import (
    Add,
    Apply,
    Empty,
    Find,
    If,
    Let,
    Literal,
    Lookup,
    Merge,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Slice,
    Sum,
    Symbol,
    Term,
    Unique,
    Variable,
    children,
)
from storel.degrees import KnownDegrees
from storel.optimizer import estimates
from storel.optimizer.encoding import INDEX, LAYOUTS, TERMS
from storel.optimizer.estimate import Estimate, integer, symbol, variable
from storel.optimizer.joins import both, drawn_elements, found_positions, visits
from storel.symbols import SizeSymbol, Symbols


@dataclass(frozen=True, slots=True)
class Appraised:
    """A term's estimate and price."""

    estimate: Estimate
    cost: float


@dataclass(slots=True)
class Loop:
    """A loop of a term, with the number of times that its body is evaluated in all."""

    term: Term
    iterations: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: under which innermost loop (its binders), and whether it fills a small table."""

    innermost: frozenset[int] = frozenset()
    fills_tile: bool = False


OUTSIDE = Place()

Price: TypeAlias = Callable[[str, str, Sequence[Appraised], Estimate, Place], float]
"""The price of a node: constructor, string, children, estimate, place."""

TILE = 256.0
"""Entries of a table that stays in registers or in the first cache."""


def entries(term: Term, symbols: Symbols) -> float:
    """Return the estimated number of scalar entries of a closed dictionary-valued term; 1 for a scalar."""
    return appraise(term, symbols).total


def appraise(term: Term, symbols: Symbols, scope: tuple[Estimate, ...] = ()) -> Estimate:
    """Return the estimate of a term whose free variables have the estimates ``scope``, innermost first."""
    return fold(term, symbols, _free, [], scope).estimate


def bound_estimates(term: Term, symbols: Symbols, scope: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """Return the estimates of what ``term`` binds, the outermost first, in a scope, innermost first."""
    outside = [appraise(child, symbols, scope) for child, binders in children(term) if not binders]
    return estimates.bound(shape(term)[0], outside)


def _free(constructor: str, text: str, parts: Sequence[Appraised], result: Estimate, place: Place) -> float:
    return 0.0


def fold(
    term: Term,
    symbols: Symbols,
    price: Price,
    loops: list[Loop],
    scope: tuple[Estimate, ...] = (),
    place: Place = OUTSIDE,
) -> Appraised:
    """Return the estimate and the price of ``term``; its loops are added to ``loops`` in preorder.

    ``scope`` are the estimates of its free variables, innermost first, and ``place`` is where it stands.
    """
    return _Fold(symbols, price, loops, len(scope)).visit(term, scope, 1.0, place)


@dataclass
class _Fold:
    symbols: Symbols
    price: Price
    loops: list[Loop]
    names: int
    pairs: list[tuple[Hashable, Hashable, KnownDegrees | None]] = field(
        default_factory=list[tuple[Hashable, Hashable, "KnownDegrees | None"]]
    )

    def visit(
        self, term: Term, scope: tuple[Estimate, ...], times: float, place: Place, index: bool = False
    ) -> Appraised:
        if isinstance(term, Variable):
            return Appraised(scope[term.index], 0.0)
        parts = children(term)
        if not parts:
            return Appraised(self._leaf(term), 0.0)
        constructor, text = shape(term)
        if index and constructor in ("Add", "Mul"):
            text = INDEX
        kinds = [kind for kind in LAYOUTS[constructor] if kind in TERMS]
        loop = Loop(term, 0.0)
        if isinstance(term, Sum | Reduce | Merge | Find):
            self.loops.append(loop)
        done: list[Appraised] = []
        names: tuple[int, ...] = ()
        for (child, binders), kind in zip(parts, kinds, strict=True):
            inner, reached, within = scope, times, place
            if binders:
                known = [part.estimate for part in done]
                names = tuple(range(self.names, self.names + binders))
                self.names += binders
                values = estimates.bound(constructor, known)
                variables = [variable(*pair) for pair in zip(names, values, strict=True)]
                if known[0].is_array and binders == 2:
                    pair = (variables[0].identity, variables[1].identity, known[0].value_origin)
                    self.pairs.append(pair)
                inner = (*reversed(variables), *self._around(constructor, known, scope))
                if not isinstance(term, Let):
                    within = Place(frozenset(names), place.fills_tile)
                    loop.iterations = reached = times * estimates.iterations(constructor, known)
            elif isinstance(term, Let):
                # Names are numbered on from here: those of the scope need not be its first ones.
                alone = _Fold(self.symbols, _free, [], self.names)
                stored = alone.visit(child, scope, 1.0, OUTSIDE).estimate
                within = Place(place.innermost, bool(stored.counts) and stored.total <= TILE)
            elif isinstance(term, If) and done:
                reached = times * done[0].estimate.probability
            done.append(self.visit(child, inner, reached, within, kind == "k" or (kind == "v" and index)))
        identity = _identity(constructor, text, done)
        known = [part.estimate for part in done]
        result = estimates.combine(constructor, text, known, names, identity, self.symbols)
        return Appraised(result, self.price(constructor, text, done, result, place))

    def _around(
        self, constructor: str, known: Sequence[Estimate], scope: tuple[Estimate, ...]
    ) -> tuple[Estimate, ...]:
        """Return the scope as the body of a loop sees it: what has a segment or is found recurs in the body.

        That is an integer, and where it is an element of an array that is looped over, its position, too.
        """
        source, begin = known[0], known[0].boundary
        recurs: dict[Hashable, KnownDegrees | None] = {}
        if constructor == "Find":
            recurs[known[1].identity] = source.value_origin
        elif constructor in ("Sum", "Reduce") and source.is_array and begin is not None and begin.offset == 0:
            recurs[begin.identity] = visits(begin, self.symbols)
        if not recurs:
            return scope
        for position, element, occurrences in self.pairs:
            if element in recurs:
                recurs[position] = found_positions(recurs[element], occurrences)
            elif position in recurs:
                recurs[element] = drawn_elements(recurs[position], occurrences)
        return tuple(
            each._replace(origins=(both(each.origin, recurs[each.identity]),))
            if each.identity in recurs and not each.counts
            else each
            for each in scope
        )

    def _leaf(self, term: Term) -> Estimate:
        match term:
            case Literal(value) if isinstance(value, int):
                return integer(int(value))
            case Symbol(name):
                fact = self.symbols.get(name)
                interval = Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
                return symbol(name, self.symbols, interval)
            case Empty(rank):
                return Estimate(counts=(0.0,) * rank, spans=(0.0,) * rank, length=0.0)
            case _:
                return Estimate()


def _identity(constructor: str, text: str, parts: Sequence[Appraised]) -> Hashable:
    """Return a value that is equal for equal integer terms, None for terms that are no such."""
    if any(part.estimate.identity is None for part in parts) or constructor in ("Sum", "Single", "Merge"):
        return None
    return (constructor, text, *(part.estimate.identity for part in parts))


def shape(term: Term) -> tuple[str, str]:
    """Return the constructor of ``encoding.LAYOUTS`` and the string of a node that is no leaf."""
    match term:
        case Sum(_, _, semiring):
            return "Sum", semiring
        case Reduce(monoid, _, _):
            return "Reduce", monoid
        case Singleton(_, _, semiring):
            return "Single", semiring
        case Lookup(_, _, semiring):
            return "Look", semiring
        case Range():
            return "Range", ""
        case Slice():
            return "Slice", ""
        case Let():
            return "Let", ""
        case If(_, _, semiring):
            return "If", semiring
        case Add(_, _, semiring):
            return "Add", semiring
        case Multiply(_, _, semiring):
            return "Mul", semiring
        case Apply(function, arguments):
            return f"Apply{len(arguments)}", function
        case Merge(_, _, _, semiring):
            return "Merge", semiring
        case Find(_, _, _, semiring):
            return "Find", semiring
        case Unique():
            return "Uniq", ""
        case Variable() | Literal() | Symbol() | Empty():
            raise ValueError(f"a leaf: {term}")
