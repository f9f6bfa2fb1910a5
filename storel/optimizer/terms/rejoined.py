"""Loops that look for the element at which a loop around them is, of the same array: it is where that one is.

    sum(<p, v> in S) … sum(<q, w> in S) if w == v then e   =>   sum(<p, v> in S) … (e with p for q, v for w)

So it is, too, where the elements of several arrays at p are told apart together, and all of them are asked
for. A tensor joined with itself is made of such loops, other loops and keys standing between the two. Inside
of the first loop both sides are equal, outside of it they are not: an e-graph cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.calculus.binding import shift, substitute
from storel.calculus.nodes import Apply, If, Lookup, Slice, Sum, Symbol, Term, Variable
from storel.calculus.one_to_one import is_one_to_one
from storel.calculus.walk import map_children
from storel.symbols import ArraySymbol, Symbols


def without_rejoined(term: Term, symbols: Symbols, around: tuple[Term | None, ...] = ()) -> Term:
    """Return a term without the loops that look for where a loop around them is.

    ``around`` has, for each variable from the innermost one on, what it is an element of if a loop binds it
    so, as seen from inside of that loop.
    """
    if isinstance(term, Sum):
        for element, source in enumerate(around):
            if source is None or shift(source, element) != term.source:
                continue
            if _asks_for(element + 2, term, symbols):
                position = Variable(element + 1)  # as seen from outside, where the element is one below
                return without_rejoined(
                    substitute(substitute(term.body, position), position), symbols, around
                )

    def visit(child: Term, binders: int) -> Term:
        bound: tuple[Term | None, ...] = (None,) * binders
        if isinstance(term, Sum) and binders:
            bound = (shift(term.source, binders), None)
        return without_rejoined(child, symbols, (*bound, *around))

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
