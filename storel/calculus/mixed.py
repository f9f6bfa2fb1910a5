"""Sums over dictionaries of another semiring, as sums over what these dictionaries are made from.

    sum_s(<k, v> in sum_t(R) D) e    =  sum_s(R) sum_s(<k, v> in D) e             no key of D repeats over R,
                                        or no tuple of keys, and e only visits the entries of v
    sum_s(<k, v> in if_t c then D) e =  if_s c then sum_s(<k, v> in D) e
    sum_s(<k, v> in {x -> y}_t) e    =  let k = x in let v = y in if_s v != 0_t then e

Composition mixes semirings: ``any`` and ``count`` are sums of their own, a tensor may be over another
semiring than the program. Rules about sums over one semiring apply again afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.binding import occurs, shift, substitute
from storel.calculus.nodes import (
    Add,
    Apply,
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
    Variable,
    map_children,
)
from storel.calculus.strictness import strict
from storel.calculus.verify import KEY, Context, element, infer, zero_literal
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, Symbols


def separate(term: Term, symbols: Symbols) -> Term:
    """Return the closed ``term`` with sums over dictionaries of other semirings taken apart."""
    return _Separation(symbols).of(term, ())


@dataclass(frozen=True, slots=True)
class _Separation:
    symbols: Symbols

    def of(self, term: Term, context: Context) -> Term:
        if isinstance(term, Sum):
            term = self._entries(term.source, term.body, term.semiring, context)
        return map_children(term, lambda child, binders: self.of(child, self._inside(term, binders, context)))

    def _inside(self, term: Term, binders: int, context: Context) -> Context:
        """Return the types of the variables of a child of ``term`` that stands under ``binders``."""
        if binders == 0:
            return context
        match term:
            case Sum(source) | Reduce(_, source):
                return (element(infer(source, self.symbols, context)), KEY, *context)
            case Let(value):
                return (infer(value, self.symbols, context), *context)
            case Merge(left):
                return (element(infer(left, self.symbols, context)), KEY, KEY, *context)
            case _:
                assert isinstance(term, Find)
                return (KEY, *context)

    def _entries(self, source: Term, body: Term, semiring: str, context: Context) -> Term:
        """Return the sum of ``body``, which binds a key and a value, over the entries of ``source``."""
        match source:
            case Sum(inner, rest, other) if other != semiring and self._is_apart(inner, rest, body, semiring):
                types = (element(infer(inner, self.symbols, context)), KEY, *context)
                return Sum(inner, self._entries(rest, shift(body, 2, 2), semiring, types), semiring)
            case If(condition, rest, other) if other != semiring:
                return If(condition, self._entries(rest, body, semiring, context), semiring)
            case Let(value, rest) if not isinstance(rest, Variable):
                types = (infer(value, self.symbols, context), *context)
                return Let(value, self._entries(rest, shift(body, 1, 2), semiring, types))
            case Singleton(key, value, other) if other != semiring:
                entry = self._entry(value, body, semiring, other, context)
                if entry is not None:
                    return substitute(entry, key) if isinstance(key, Variable) else Let(key, entry)
            case _:
                pass
        return Sum(source, body, semiring)

    def _is_apart(self, source: Term, made: Term, body: Term, semiring: str) -> bool:
        """Return whether ``body`` adds up alike over ``sum(source) made`` and over each iteration of it."""
        keys = unique_keys(source, made, self.symbols)
        return keys > 0 and _visits(body, 0, keys - 1, semiring)

    def _entry(self, value: Term, body: Term, semiring: str, other: str, context: Context) -> Term | None:
        """Return ``body`` for one value over the semiring ``other``; the key is still bound."""
        kind = infer(value, self.symbols, context)
        if kind.rank > 0:  # strict in an empty row, whatever the semiring
            return substitute(body, shift(value, 1)) if strict(body, 0, semiring) else None
        if SEMIRINGS[other].zero == SEMIRINGS[semiring].zero and strict(body, 0, semiring):
            return Let(shift(value, 1), body)
        present = Apply("not_equal", (Variable(0), zero_literal(kind, other)))
        return Let(shift(value, 1), If(present, body, semiring))


def _visits(body: Term, index: int, keys: int, semiring: str) -> bool:
    """Return whether ``body`` is additive over dictionaries that variable ``index`` may be, if no two have
    an entry in common: it only visits what is so many ``keys`` deep.
    """

    def free(child: Term, binders: int = 0) -> bool:
        return not occurs(child, index + binders)

    match body:
        case _ if keys == 0:
            return True
        case Sum(Variable(source), inner, own) if source == index:
            return own == semiring and free(inner, 2) and _visits(inner, 0, keys - 1, semiring)
        case Sum(source, inner, own):
            return own == semiring and free(source) and _visits(inner, index + 2, keys, semiring)
        case Singleton(key, value, own):
            return own == semiring and free(key) and _visits(value, index, keys, semiring)
        case If(condition, inner, own):
            return own == semiring and free(condition) and _visits(inner, index, keys, semiring)
        case Let(value, inner):
            return free(value) and _visits(inner, index + 1, keys, semiring)
        case Multiply(left, right, own):
            return own == semiring and (
                (free(left) and _visits(right, index, keys, semiring))
                or (free(right) and _visits(left, index, keys, semiring))
            )
        case _:
            return False


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


def is_one_to_one(source: Term, symbols: Symbols) -> bool:
    """Return whether no element of an array, as it is declared, is at two positions."""
    array = source.array if isinstance(source, Slice) else source
    fact = symbols.get(array.name) if isinstance(array, Symbol) else None
    if not isinstance(fact, ArraySymbol):
        return isinstance(array, Range)
    return fact.increasing or fact.unique or (fact.within is not None and _is_segment(source, fact.within))


def _is_segment(source: Term, boundaries: str) -> bool:
    """Return whether ``source`` is ``array(boundaries(e):boundaries(e + 1))``."""
    match source:
        case Slice(_, Lookup(Symbol(low), start), Lookup(Symbol(high), Add(end, Literal(1)))):
            return low == high == boundaries and start == end
        case _:
            return False
