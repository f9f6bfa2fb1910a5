"""Loops that look for the element at which a loop around them is, of the same array: it is where that one is.

    sum(<p, v> in S) … sum(<q, w> in S) if w == v then e   =>   sum(<p, v> in S) … (e with p for q, v for w)

So it is, too, where the elements of several arrays at p are told apart together, and all of them are asked
for. A tensor joined with itself is made of such loops, other loops and keys standing between the two. Inside
of the first loop both sides are equal, outside of it they are not: an e-graph cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from storel.calculus.binders import binder_types
from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import Apply, If, Literal, Lookup, Slice, Sum, Symbol, Term, Variable
from storel.calculus.one_to_one import is_one_to_one
from storel.calculus.verify import Type, infer
from storel.calculus.walk import map_children
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, Symbols


@dataclass(frozen=True, slots=True)
class _Bound:
    """A variable: its type, and what it is an element of in a loop, as seen from inside of that loop."""

    type: Type
    source: Term | None = None


def without_rejoined(term: Term, symbols: Symbols) -> Term:
    """Return a closed term without the loops that look for where a loop around them is.

    What they add up keeps its type: of a truth it is asked whether it is one, as they count it. A dictionary
    of truths is counted by its loop.
    """
    return _without(term, symbols, ())


def _without(term: Term, symbols: Symbols, around: tuple[_Bound, ...]) -> Term:
    """``around`` are the variables, from the innermost one on."""
    if isinstance(term, Sum):
        types = tuple(each.type for each in around)
        for element, each in enumerate(around):
            if each.source is None or shift(each.source, element) != term.source:
                continue
            if _asks_for(element + 2, term, symbols):
                position = Variable(element + 1)  # as seen from outside, where the element is one below
                there = substitute(substitute(term.body, position), position)
                if infer(there, symbols, types) == Type(ScalarType.BOOL) and term.semiring == "plus_times":
                    there = If(there, Literal(1, ScalarType.INT64), term.semiring)
                if infer(there, symbols, types) == infer(term, symbols, types):
                    return _without(there, symbols, around)

    def visit(child: Term, binders: int) -> Term:
        if not binders:
            return _without(child, symbols, around)
        types = binder_types(term, symbols, tuple(each.type for each in around))
        bound = [_Bound(kind) for kind in reversed(types)]
        if isinstance(term, Sum):
            bound[0] = replace(bound[0], source=shift(term.source, binders))
        return _without(child, symbols, (*bound, *around))

    return map_children(term, visit)


def _asks_for(element: int, loop: Sum, symbols: Symbols) -> bool:
    """Return whether a loop over an array does something only where it meets what another one has met.

    ``element`` is that one's variable, in the body of the loop.
    """
    asked = [{left, right} for left, right in _equalities(loop.body)]
    if {Variable(0), Variable(element)} not in asked:
        return False
    if is_one_to_one(loop.source, symbols):
        return True
    array = loop.source.array if isinstance(loop.source, Slice) else loop.source
    fact = symbols.get(array.name) if isinstance(array, Symbol) else None
    if not isinstance(fact, ArraySymbol) or fact.name not in fact.group:
        return False
    others = (Symbol(name) for name in fact.group if name != fact.name)
    here, there = Variable(1), Variable(element + 1)
    return all({Lookup(other, here), Lookup(other, there)} in asked for other in others)


def _equalities(body: Term) -> Iterator[tuple[Term, Term]]:
    """Yield the sides of the equalities that all of a term stands under."""
    while isinstance(body, If):
        match body.condition:
            case Apply("equal", (left, right)):
                yield left, right
            case _:
                pass
        body = body.body
