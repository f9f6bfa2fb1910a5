"""Sums over dictionaries of another semiring, as sums over what these dictionaries are made from.

    sum_s(<k, v> in sum_t(R) D) e    =  sum_s(R) sum_s(<k, v> in D) e             no key of D repeats over R,
                                        or no tuple of keys, and e only visits the entries of v
    sum_s(<k, v> in if_t c then D) e =  if_s c then sum_s(<k, v> in D) e
    sum_s(<k, v> in {x -> y}_t) e    =  let k = x in let v = y in if_s v != 0_t then e
    where v is a dictionary           =  e[k := x, v := y], v as a value seen over s (``views.py``)

Composition mixes semirings: ``any`` and ``count`` are sums of their own, a tensor may be over another
semiring than the program. Rules about sums over one semiring apply again afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from storel.calculus.binding import occurs, shift, substitute
from storel.calculus.nodes import (
    Apply,
    Find,
    If,
    Let,
    Lookup,
    Merge,
    Multiply,
    Reduce,
    Singleton,
    Sum,
    Term,
    Variable,
)
from storel.calculus.one_to_one import unique_keys
from storel.calculus.strictness import strict
from storel.calculus.verify import KEY, Context, Type, element, infer, zero_literal
from storel.calculus.views import entry_by_entry
from storel.calculus.walk import map_children, subterms
from storel.semiring import SEMIRINGS
from storel.symbols import Symbols


def separate(term: Term, symbols: Symbols) -> Term:
    """Return the closed ``term`` with sums over dictionaries of other semirings taken apart."""
    return _Separation(symbols).of(term, ()) if any(map(_is_mixed, subterms(term))) else term


def _is_mixed(term: Term) -> bool:
    """Return whether a term is a sum that may be taken apart."""
    match term:
        case Sum(Let()):
            return True
        case Sum(Sum(_, _, other) | If(_, _, other) | Singleton(_, _, other), _, semiring):
            return other != semiring
        case _:
            return False


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
            if not strict(body, 0, semiring):
                return None
            seen = _seen(body, 0, kind, other, semiring)
            return substitute(seen, shift(value, 1))
        if SEMIRINGS[other].zero == SEMIRINGS[semiring].zero and strict(body, 0, semiring):
            return Let(shift(value, 1), body)
        present = Apply("not_equal", (Variable(0), zero_literal(kind, other)))
        return Let(shift(value, 1), If(present, body, semiring))


def _seen(body: Term, index: int, kind: Type, own: str, semiring: str) -> Term:
    """Return ``body`` with the dictionary ``index``, which is over ``own``, seen over ``semiring``.

    Where it is gone through or looked up in, it stays as it is.
    """

    def within(child: Term, binders: int = 0) -> Term:
        return _seen(child, index + binders, kind, own, semiring)

    match body:
        case Variable(position) if position == index:
            return entry_by_entry(body, kind, own, semiring)
        case Sum(Variable(position) as source, inner, over) if position == index:
            return Sum(source, within(inner, 2), over)
        case Reduce(monoid, Variable(position) as source, inner) if position == index:
            return Reduce(monoid, source, within(inner, 2))
        case Lookup(Variable(position) as mapping, key, over) if position == index:
            return Lookup(mapping, within(key), over)
        case _:
            return map_children(body, within)


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
