"""Estimates of whole terms: a fold over the De Bruijn term, from the outside in and back.

``fold`` computes the ``Estimate`` of every node and whatever ``price`` makes of it, and notes how often
each loop's body is reached: the estimated iterations N(prefix), where the prefix counts conditions
by their probability.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeAlias

from storel.calculus.binding import free_variables
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
)
from storel.calculus.walk import children
from storel.degrees import KnownDegrees
from storel.optimizer.encoding.layouts import INDEX, LAYOUTS, TERMS
from storel.optimizer.estimation import estimates
from storel.optimizer.estimation.appraised import OUTSIDE, Appraised, Loop, Place, Price, Visited
from storel.optimizer.estimation.estimate import Estimate, integer, symbol, variable
from storel.optimizer.estimation.joins import both, drawn_elements, found_positions, visits
from storel.symbols import SizeSymbol, Symbols

CONSTRUCTORS: dict[type, str] = {
    Sum: "Sum",
    Reduce: "Reduce",
    Singleton: "Single",
    Lookup: "Look",
    Range: "Range",
    Slice: "Slice",
    Let: "Let",
    If: "If",
    Add: "Add",
    Multiply: "Mul",
    Merge: "Merge",
    Find: "Find",
    Unique: "Uniq",
}
"""The constructors of nodes with children, but for functions, whose arguments are counted."""

_KINDS = {name: tuple(kind for kind in layout if kind in TERMS) for name, layout in LAYOUTS.items()}
_LOOPS = (Sum, Reduce, Merge, Find)
_NOTHING = frozenset[int]()
_NO_ARRAYS = frozenset[str]()

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
    found = Fold(symbols, price).visit(term, _entered(scope), place)
    loops += found.loops()
    return found.appraised


class _Bound:
    """A variable in scope, told by its identity as an object; ``name`` is above those of outer loops.

    Of an element of an array that is looped over, and of its position, ``pair`` has the identities of the
    position and the element, and what is known of how often the array's elements occur. ``visited`` is what
    comes of the variable wherever it stands.
    """

    __slots__ = ("estimate", "name", "pair", "visited")

    def __init__(
        self,
        estimate: Estimate,
        name: int,
        pair: tuple[Hashable, Hashable, KnownDegrees | None] | None = None,
    ) -> None:
        self.estimate = estimate
        self.name = name
        self.pair = pair
        self.visited = Visited(Appraised(estimate, 0.0))


_Scope: TypeAlias = tuple[_Bound, ...]


def _entered(scope: tuple[Estimate, ...]) -> _Scope:
    return tuple(_Bound(estimate, len(scope) - 1) for estimate in scope)


class Fold:
    """Estimates and prices of terms that have most of their parts in common: each part is visited once.

    What comes of a part depends on the variables that are free in it, and on its place. Loops are named by
    what is free in them, not by what else is around them, and equal bindings are one object; so a part is
    met again wherever it stands.
    """

    def __init__(self, symbols: Symbols, price: Price) -> None:
        self._symbols = symbols
        self._price = price
        self._visited: dict[Hashable, Visited] = {}
        self._leaves: dict[Term, Visited] = {}
        self._bindings: dict[Hashable, tuple[Sequence[Estimate], tuple[_Bound, ...]]] = {}
        self._recurring: dict[Hashable, tuple[Sequence[Estimate], _Bound]] = {}

    def visit(self, term: Term, scope: _Scope = (), place: Place = OUTSIDE, index: bool = False) -> Visited:
        """Return what comes of ``term`` in a scope, at a place, as a part of an ``index`` or else a value."""
        if isinstance(term, Variable):
            return scope[term.index].visited
        if not children(term):
            leaf = self._leaves.get(term)
            if leaf is None:
                leaf = self._leaves[term] = Visited(Appraised(self._leaf(term), 0.0))
            return leaf
        free = [scope[number] for number in free_variables(term)]
        if place.innermost:
            varies = _NOTHING.union(*[each.estimate.varies for each in free])
            place = place.within(varies)
        key = (term, index, place, *map(id, free))
        found = self._visited.get(key)
        if found is None:
            first = 1 + max([-1, *[each.name for each in free]])
            found = self._visited[key] = self._node(term, scope, first, place, index)
        return found

    def _node(self, term: Term, scope: _Scope, first: int, place: Place, index: bool) -> Visited:
        constructor, text = shape(term)
        if index and constructor in ("Add", "Mul"):
            text = INDEX
        is_loop = isinstance(term, _LOOPS)
        own, done, parts = 0.0, list[Appraised](), list[tuple[float, Visited]]()
        names: tuple[int, ...] = ()
        united = _united(term, place)
        around = place if united == place.united else place._replace(united=united)
        for (child, binders), kind in zip(children(term), _KINDS[constructor], strict=True):
            inner, times, within = scope, 1.0, around
            if binders:
                known = [part.estimate for part in done]
                bound = self._bound(constructor, known, first, scope)
                names = tuple(each.name for each in bound)
                inner = (*reversed(bound), *self._around(term, constructor, known, scope))
                if is_loop:
                    within = place.inside(frozenset(names))
                    own = times = estimates.iterations(constructor, known)
            elif isinstance(term, Let):
                within = within._replace(fills_tile=False)
                stored = self.visit(child, scope, within).appraised.estimate
                is_small = bool(stored.counts) and stored.total <= TILE
                within = within._replace(fills_tile=is_small)
            elif isinstance(term, If) and done:
                times = done[0].estimate.probability
            part = self.visit(child, inner, within, kind == "k" or (kind == "v" and index))
            done.append(part.appraised)
            parts.append((times, part))
        identity = _identity(constructor, text, done)
        known = [part.estimate for part in done]
        result = estimates.combine(constructor, text, known, names, identity, self._symbols)
        appraised = Appraised(result, self._price(constructor, text, done, result, place))
        loop = Loop(term, own) if is_loop else None
        return Visited(appraised, loop, tuple(parts), (constructor, text, place))

    def _bound(
        self, constructor: str, known: Sequence[Estimate], first: int, scope: _Scope
    ) -> tuple[_Bound, ...]:
        """Return what a term binds in a scope, the outermost first.

        The names of loops begin with ``first``; a value that is named has one of its own, below all those,
        since it is the value of the term around it, too.
        """
        is_named = constructor == "Let"
        key: Hashable = (constructor, None if is_named else first, *map(id, known))
        if is_named and known[0].counts and not known[0].is_array:
            key = self._table(known[0], scope)
        if key not in self._bindings:
            values = estimates.bound(constructor, known)
            first = -1 - len(self._bindings) if is_named else first
            variables = [variable(first + number, value) for number, value in enumerate(values)]
            pair = None
            if known[0].is_array and len(variables) == 2:
                pair = (variables[0].identity, variables[1].identity, known[0].value_origin)
            bound = tuple(_Bound(each, first + number, pair) for number, each in enumerate(variables))
            self._bindings[key] = known, bound
        return self._bindings[key][1]

    def _table(self, stored: Estimate, scope: _Scope) -> Hashable:
        """Return what a stored dictionary is known by, apart from those in scope, however it is made."""
        number, stored = 0, stored._replace(keys=None)
        while (key := (stored, number)) in self._bindings and self._bindings[key][1][0] in scope:
            number += 1
        return key

    def _around(self, term: Term, constructor: str, known: Sequence[Estimate], scope: _Scope) -> _Scope:
        """Return the scope as the body of a loop sees it: what has a segment or is found recurs in the body.

        That is an integer, and where it is an element of an array that is looped over, its position, too.
        Only variables that are free in the loop are told apart by their names.
        """
        source, begin = known[0], known[0].boundary
        if constructor == "Find":
            identity, degrees = known[1].identity, source.value_origin
        elif constructor in ("Sum", "Reduce") and source.is_array and begin is not None and begin.offset == 0:
            identity, degrees = begin.identity, visits(begin, self._symbols)
        else:
            return scope
        free = free_variables(term)
        return tuple(
            self._again(each, identity, degrees, known)
            if number in free and not each.estimate.counts
            else each
            for number, each in enumerate(scope)
        )

    def _again(
        self, each: _Bound, identity: Hashable, degrees: KnownDegrees | None, known: Sequence[Estimate]
    ) -> _Bound:
        """Return a variable in a loop in which the integer of an identity recurs by ``degrees``."""
        own, pair = each.estimate.identity, each.pair
        if own != identity and (pair is None or identity not in pair[:2]):
            return each
        key = (id(each), *map(id, known))
        if key not in self._recurring:
            if own != identity and pair is not None:
                degrees = (found_positions if own == pair[0] else drawn_elements)(degrees, pair[2])
            origins = (both(each.estimate.origin, degrees),)
            recurring = _Bound(each.estimate._replace(origins=origins), each.name, pair)
            self._recurring[key] = known, recurring
        return self._recurring[key][1]

    def _leaf(self, term: Term) -> Estimate:
        match term:
            case Literal(value) if isinstance(value, int):
                return integer(int(value))
            case Symbol(name):
                fact = self._symbols.get(name)
                interval = Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
                return symbol(name, self._symbols, interval)
            case Empty(rank):
                return Estimate(counts=(0.0,) * rank, spans=(0.0,) * rank, length=0.0)
            case _:
                return Estimate()


def _united(term: Term, place: Place) -> frozenset[str]:
    """Return the arrays that all parts of a sum scan, if each enters its elements: that is one pass."""
    if not isinstance(term, Add):
        return _NO_ARRAYS
    if place.united:
        return place.united
    pending, scanned = [term.left, term.right], set[str]()
    while pending:
        match pending.pop():
            case Add(left, right):
                pending += [left, right]
            case Sum(Slice(Symbol(array)), body) if _enters(body, 0):
                scanned.add(array)
            case _:
                return _NO_ARRAYS
    return frozenset(scanned)


def _enters(body: Term, element: int) -> bool:
    """Return whether the body of a scan makes an entry at its element, if anything."""
    match body:
        case Singleton(Variable(key)):
            return key == element
        case If(_, inner):
            return _enters(inner, element)
        case Let(_, inner):
            return _enters(inner, element + 1)
        case _:
            return False


def _identity(constructor: str, text: str, parts: Sequence[Appraised]) -> Hashable:
    """Return a value that is equal for equal integer terms, None for terms that are no such."""
    identities = [part.estimate.identity for part in parts]
    if None in identities or constructor in ("Sum", "Single", "Merge"):
        return None
    return (constructor, text, *identities)


def shape(term: Term) -> tuple[str, str]:
    """Return the constructor of ``encoding.LAYOUTS`` and the string of a node that is no leaf."""
    if isinstance(term, Apply):
        return f"Apply{len(term.arguments)}", term.function
    constructor = CONSTRUCTORS.get(type(term))
    if constructor is None:
        raise ValueError(f"a leaf: {term}")
    return constructor, term.monoid if isinstance(term, Reduce) else getattr(term, "semiring", "")
