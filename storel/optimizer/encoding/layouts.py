"""Terms in the e-graph, whichever way their binders are held (``named.py``, ``debruijn.py``).

Each constructor of the calculus is one constructor of egglog; ``LAYOUTS`` says what its arguments are:

    s   a string: a semiring, a symbol, a function      i   an integer
    t   a term                                          b   a binder: an integer, bound in the bodies
    k   a key, an address, a bound or a condition       B   a body: a term in the scope of all binders
    v   a term that is what its parent is (see below)

``Int`` and ``Truth`` are literals that rules compute with, ``Const`` is any other (an index into a table),
``Zero s r`` is the semiring's zero of rank r. What ``Var`` and binders hold, an ``Encoding`` says; its
operators (substitution, for one) are terms that rules push down and that extraction never takes.

Arithmetic of keys, addresses, bounds and conditions carries the semiring ``index``, so that rules about
values leave addresses alone; it means ``plus_times``. A let-bound value that becomes a key keeps its
semiring: both spellings mean the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

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
from storel.optimizer.encoding.binders import BinderFact, Encoding
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS

INDEX = "index"

ARITHMETIC = ("Add", "Mul", "Look")
"""Constructors that keys are made with in the plain semiring, whatever the one around them is."""

LAYOUTS: dict[str, str] = {
    "Var": "i",
    "Int": "i",
    "Truth": "i",
    "Const": "i",
    "Zero": "si",
    "Sym": "s",
    "Sum": "stbbB",
    "Reduce": "stbbB",
    "Single": "skt",
    "Look": "stk",
    "Range": "kk",
    "Slice": "tkk",
    "Let": "vbB",
    "If": "skv",
    "Add": "svv",
    "Mul": "svv",
    "Apply1": "sv",
    "Apply2": "svv",
    "Apply3": "svvv",
    "Merge": "sttbbbB",
    "Find": "stkbB",
    "Uniq": "v",
}
TERMS = "tkvB"


def is_index(kind: str, within: bool) -> bool:
    """Return whether a child is a key, an address, a bound or a condition, or a part of one."""
    return kind == "k" or (kind == "v" and within)


ENode: TypeAlias = tuple[str, tuple[object, ...]]
"""A constructor with its arguments: strings, integers, and terms in whatever form they are held."""


@dataclass(slots=True)
class Numbering:
    """The binders and the literals of one term, as the e-graph knows them."""

    encoding: Encoding
    literals: list[Literal] = field(default_factory=list[Literal])
    binders: list[BinderFact] = field(default_factory=list[BinderFact])

    def binder(self, fact: BinderFact) -> int:
        """Return the number of a binder."""
        number = self.encoding.number_binder(self.binders, fact)
        if number == len(self.binders):
            self.binders.append(fact)
        return number

    def constant(self, literal: Literal) -> int:
        """Return the index of ``literal`` in the table of constants."""
        if literal not in self.literals:
            self.literals.append(literal)
        return self.literals.index(literal)


Bind: TypeAlias = Callable[[Term, tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
"""Numbers what a term binds, given the scope outside it, and the path to it less additions."""


def encode(
    term: Term,
    numbering: Numbering,
    bind: Bind,
    scope: tuple[int, ...] = (),
    index: bool = False,
    path: tuple[int, ...] = (),
) -> str:
    """Return ``term`` as egglog text; ``scope`` holds the enclosing binders, the innermost first.

    ``path`` leads to it by the places of children, less those in additions: what is added has the same one.
    """
    return _text(term, _Children(term, numbering, bind, scope, index, path))


@dataclass(slots=True)
class _Children:
    """What a term is made of, in text: its children are asked for in their order, what binds last."""

    term: Term
    numbering: Numbering
    bind: Bind
    scope: tuple[int, ...]
    index: bool
    path: tuple[int, ...]
    place: int = 0

    def value(self, child: Term) -> str:
        """Return a child that is a key where the term is one."""
        return encode(child, self.numbering, self.bind, self.scope, self.index, self._below())

    def key(self, child: Term) -> str:
        return encode(child, self.numbering, self.bind, self.scope, True, self._below())

    def plain(self, child: Term) -> str:
        return encode(child, self.numbering, self.bind, self.scope, False, self._below())

    def bound(self, body: Term) -> str:
        """Return the binders of the term, and the body in which they are bound."""
        names = self.bind(self.term, self.scope, self.path)
        scope = (*reversed(names), *self.scope)
        text = encode(body, self.numbering, self.bind, scope, False, self._below())
        return f"{' '.join(map(str, names))} {text}"

    def _below(self) -> tuple[int, ...]:
        """Return the path to the next child."""
        if isinstance(self.term, Add):
            return self.path
        self.place += 1
        return (*self.path, self.place)


def _text(term: Term, of: _Children) -> str:
    """Return a term as egglog text, made of its children's."""
    value, key, plain, bound = of.value, of.key, of.plain, of.bound
    match term:
        case Variable(number):
            return of.numbering.encoding.variable(number, of.scope)
        case Literal(number, type):
            return _literal(Literal(number, type), of.numbering)
        case Symbol(name):
            return f'(Sym "{name}")'
        case Sum(source, body, semiring):
            return f'(Sum "{semiring}" {plain(source)} {bound(body)})'
        case Reduce(monoid, source, body):
            return f'(Reduce "{monoid}" {plain(source)} {bound(body)})'
        case Singleton(at, entry, semiring):
            return f'(Single "{semiring}" {key(at)} {plain(entry)})'
        case Empty(rank, _):
            return f'(Zero "plus_times" {rank})'
        case Lookup(mapping, at, semiring):
            return f'(Look "{semiring}" {plain(mapping)} {key(at)})'
        case Range(low, high):
            return f"(Range {key(low)} {key(high)})"
        case Slice(array, low, high):
            return f"(Slice {plain(array)} {key(low)} {key(high)})"
        case Let(named, body):
            return f"(Let {value(named)} {bound(body)})"
        case If(condition, body, semiring):
            return f'(If "{semiring}" {key(condition)} {value(body)})'
        case Add(left, right, semiring):
            return f'(Add "{spelled(semiring, of.index)}" {value(left)} {value(right)})'
        case Multiply(left, right, semiring):
            return f'(Mul "{spelled(semiring, of.index)}" {value(left)} {value(right)})'
        case Apply(function, arguments):
            return f'(Apply{len(arguments)} "{function}" {" ".join(map(value, arguments))})'
        case Merge(left, right, body, semiring):
            return f'(Merge "{semiring}" {plain(left)} {plain(right)} {bound(body)})'
        case Find(source, at, body, semiring):
            return f'(Find "{semiring}" {plain(source)} {key(at)} {bound(body)})'
        case Unique(at):
            return f"(Uniq {value(at)})"


def _literal(literal: Literal, numbering: Numbering) -> str:
    if isinstance(literal.value, bool):
        return f"(Truth {int(literal.value)})"
    if literal.type is ScalarType.INT64:
        return f"(Int {literal.value})"
    return f"(Const {numbering.constant(literal)})"


def spelled(semiring: str, index: bool) -> str:
    """Return the semiring that a node carries; a condition may hold arithmetic of another one."""
    return INDEX if index and semiring == "plus_times" else semiring


def zero(semiring: str, rank: int) -> Term:
    """Return the zero of a semiring, as weakly typed as it can be, or the empty dictionary."""
    if rank > 0:
        return Empty(rank)
    value = SEMIRINGS[semiring].zero
    if isinstance(value, bool):
        return Literal(value, ScalarType.BOOL)
    return Literal(value, ScalarType.INT64 if isinstance(value, int) else ScalarType.FLOAT64)


def decode(node: ENode, numbering: Numbering, scope: tuple[int, ...], child: Callable[..., Term]) -> Term:
    """Return the term of an e-node; ``child(argument, scope)`` decodes its terms."""
    name, arguments = node
    layout = numbering.encoding.layouts[name]
    binders = tuple(a for a, kind in zip(arguments, layout, strict=True) if kind == "b")
    inner = (*reversed(binders), *scope)
    terms = [
        child(argument, inner if kind == "B" else scope)
        for argument, kind in zip(arguments, layout, strict=True)
        if kind in TERMS
    ]
    first = arguments[0]
    text = "plus_times" if first == INDEX else str(first)
    number = first if isinstance(first, int) else 0
    match name, terms:
        case "Var", _:
            return Variable(numbering.encoding.index(arguments, scope))
        case "Int", _:
            return Literal(number, ScalarType.INT64)
        case "Truth", _:
            return Literal(bool(number), ScalarType.BOOL)
        case "Const", _:
            return numbering.literals[number]
        case "Zero", _:
            rank = arguments[1]
            return zero(text, rank if isinstance(rank, int) else 0)
        case "Sum", [source, body]:
            return Sum(source, body, text)
        case "Reduce", [source, body]:
            return Reduce(text, source, body)
        case "Single", [key, value]:
            return Singleton(key, value, text)
        case "Look", [mapping, key]:
            return Lookup(mapping, key, text)
        case "Range", [low, high]:
            return Range(low, high)
        case "Slice", [array, low, high]:
            return Slice(array, low, high)
        case "Let", [value, body]:
            return Let(value, body)
        case "If", [condition, body]:
            return If(condition, body, text)
        case "Add", [left, right]:
            return Add(left, right, text)
        case "Mul", [left, right]:
            return Multiply(left, right, text)
        case "Merge", [left, right, body]:
            return Merge(left, right, body, text)
        case "Find", [source, key, body]:
            return Find(source, key, body, text)
        case "Uniq", [key]:
            return Unique(key)
        case "Sym", _:
            return Symbol(text)
        case _:  # Apply1, Apply2, Apply3
            return Apply(text, tuple(terms))
