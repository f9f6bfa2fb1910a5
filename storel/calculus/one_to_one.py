"""Which loops evidently make no entry twice, by what is declared of the arrays that they go through."""

from __future__ import annotations

from storel.calculus.binding import occurs
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Literal,
    Lookup,
    Range,
    Singleton,
    Slice,
    Symbol,
    Term,
    Variable,
)
from storel.symbols import ArraySymbol, Symbols


def unique_keys(source: Term, body: Term, symbols: Symbols) -> int:
    """Return how many keys of an entry tell the iterations of ``sum(<k, v> in source) body`` apart.

    No tuple of so many is made twice; it is 0 where that is not evident.
    """
    while isinstance(body, If):
        body = body.body
    keys: list[Term] = []
    while isinstance(body, Singleton):
        keys.append(body.key)
        body = body.value
    if not keys:
        return 0
    if keys[0] == Variable(1):
        return 1
    if keys[0] != Variable(0):
        return 0
    if is_one_to_one(source, symbols):
        return 1
    array = source.array if isinstance(source, Slice) else source
    fact = symbols.get(array.name) if isinstance(array, Symbol) else None
    if not isinstance(fact, ArraySymbol) or fact.group[:1] != (fact.name,):
        return 0
    others = tuple(Lookup(Symbol(name), Variable(1)) for name in fact.group[1:])
    return len(fact.group) if tuple(keys[1 : len(fact.group)]) == others else 0


def finds_one(source: Term, body: Term, symbols: Symbols) -> bool:
    """Return whether ``sum(<k, v> in source) body`` is of one iteration at most: it asks for a value of v."""
    match body:
        case If(Apply("and", (left, right)), inner):
            return any(finds_one(source, If(each, inner), symbols) for each in (left, right))
        case If(Apply("equal", (one, other))) if Variable(0) in (one, other):
            asked = other if one == Variable(0) else one
            return not (occurs(asked, 0) or occurs(asked, 1)) and is_one_to_one(source, symbols)
        case _:
            return False


def is_one_to_one(source: Term, symbols: Symbols) -> bool:
    """Return whether no element of an array, as it is declared, is at two positions."""
    array = source.array if isinstance(source, Slice) else source
    fact = symbols.get(array.name) if isinstance(array, Symbol) else None
    if not isinstance(fact, ArraySymbol):
        return isinstance(array, Range)
    if fact.increasing or fact.unique:
        return True
    return (
        isinstance(source, Slice)
        and fact.within is not None
        and is_segment(fact.within, source.low, source.high)
    )


def is_segment(boundaries: str, low: Term, high: Term) -> bool:
    """Return whether low:high is ``boundaries(e):boundaries(e + 1)``, as ``pos(i - 1):pos(i)`` is."""
    match low, high:
        case Lookup(Symbol(first), start), Lookup(Symbol(second), stop) if first == second == boundaries:
            (base, before), (other, after) = _beside_constant(start), _beside_constant(stop)
            return base == other and after == before + 1
        case _:
            return False


def _beside_constant(term: Term) -> tuple[Term | None, int]:
    """Return an integer as a term and a number that is added to it; without the term it is that number."""
    match term:
        case Literal(int() as value):
            return None, value
        case Add(rest, Literal(int() as value)) | Add(Literal(int() as value), rest):
            base, constant = _beside_constant(rest)
            return base, constant + value
        case Apply("subtract", (rest, Literal(int() as value))):
            base, constant = _beside_constant(rest)
            return base, constant - value
        case _:
            return term, 0
