"""The De Bruijn calculus: program and storage composed into one expression.

    t ::= i                              variable, the i-th enclosing binder (0 is the innermost)
        | c : type                       literal
        | name                           symbol: a physical array, a parameter, or a size
        | sum_s(t) t                     key = 1, value = 0 in the body
        | reduce_m(t) t                  the same binders, over another monoid
        | { t -> t }_s | {}_rank         singleton, zero dictionary
        | t(t)                           lookup, in a dictionary or in an array
        | t:t | t(t:t)                   range, sub-array (positions stay absolute)
        | let t in t                     value = 0 in the body
        | if_s t then t                  the semiring's zero otherwise
        | t +_s t | t *_s t              of scalars or of dictionaries (union, intersection)
        | f(t, ...)                      scalar function: arithmetic of keys, comparisons, exp, ...
        | merge(t, t) t                  positions p = 2, q = 1 and the common element k = 0
        | find(t at t) t                 position = 0 in the body
        | unique(t)                      promise that a key does not repeat

Equal programs are identical terms, so terms are what is hashed, cached and compared. ``sum``, ``if``,
``+``, ``*`` and singletons carry the name of their semiring since composition mixes two in one term
(0 is an entry over ``min_plus`` but none over ``plus_times``); keys, addresses and conditions are always
over ``plus_times``.

Source: the calculus of STOREL (Schleich, Shaikhha, Suciu; PVLDB 16, 2022, section 4), with
``merge`` of its section 5, and ``find`` of our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from storel.scalars import ScalarType
from storel.semiring import Scalar


@dataclass(frozen=True, slots=True)
class Variable:
    """``i``: what the i-th enclosing binder binds, counted from the inside."""

    index: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant scalar."""

    value: Scalar
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name bound outside the term: a physical array, a scalar parameter, or a size."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of ``body`` over the entries of a dictionary or all positions of an array or range.

    Binds key (1) and value (0) in ``body``.
    """

    source: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Reduce:
    """``min``, ``max``, ``prod``, ``any`` or ``all`` of a scalar ``body`` over the entries of ``source``.

    Binds key (1) and value (0) in ``body``. ``min`` and ``max`` of nothing are an evaluation error;
    ``least`` and ``greatest`` are the same with a unit, the last and the first of the body's type.
    """

    monoid: str
    source: Term
    body: Term


@dataclass(frozen=True, slots=True)
class Singleton:
    """``{key -> value}``: one entry, or none when the value is the semiring's zero or empty."""

    key: Term
    value: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Empty:
    """The dictionary of the given rank without entries; rank is at least 1."""

    rank: int
    type: ScalarType = ScalarType.FLOAT64


@dataclass(frozen=True, slots=True)
class Lookup:
    """``mapping(key)``: a missing entry of a dictionary is zero; an array must be read in bounds."""

    mapping: Term
    key: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Range:
    """``low:high``: the array of the integers low … high - 1, each at its own position."""

    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Slice:
    """``array(low:high)``: the sub-array; positions stay absolute."""

    array: Term
    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Let:
    """``let value in body``; binds the value (0) in ``body``."""

    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class If:
    """``body`` where ``condition`` holds, else the semiring's zero (of the body's rank)."""

    condition: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Add:
    """Semiring addition of two scalars or, entry by entry, of two dictionaries of equal rank."""

    left: Term
    right: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Multiply:
    """Semiring product of two scalars, scaling of a dictionary, or element-wise product of two."""

    left: Term
    right: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar function of scalars; the names are those of ``storel/functions.py``."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """The sum of ``body`` over positions at which two increasing arrays hold the same element.

    Binds the positions p (2) and q (1) and the common element k (0) in ``body``:
    ``sum(<p, k> in left) sum(<q, y> in right) if k == y then body``.
    """

    left: Term
    right: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Find:
    """The sum of ``body`` over the positions at which an ascending array holds ``key``.

    Binds the position (0) in ``body``: ``sum(<p, y> in source) if y == key then body``.
    """

    source: Term
    key: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Unique:
    """``key``, with the promise that it never repeats over the enclosing sums."""

    key: Term


Term: TypeAlias = (
    Variable
    | Literal
    | Symbol
    | Sum
    | Reduce
    | Singleton
    | Empty
    | Lookup
    | Range
    | Slice
    | Let
    | If
    | Add
    | Multiply
    | Apply
    | Merge
    | Find
    | Unique
)


def map_children(term: Term, function: Callable[[Term, int], Term]) -> Term:
    """Rebuild ``term`` with ``function(child, binders)`` for each child.

    ``binders`` is the number of binders that the child stands under, seen from ``term``. This is the
    one place that says which constructor binds how many variables in which child.
    """
    match term:
        case Variable() | Literal() | Symbol() | Empty():
            return term
        case Sum(source, body, semiring):
            return Sum(function(source, 0), function(body, 2), semiring)
        case Reduce(monoid, source, body):
            return Reduce(monoid, function(source, 0), function(body, 2))
        case Singleton(key, value, semiring):
            return Singleton(function(key, 0), function(value, 0), semiring)
        case Lookup(mapping, key, semiring):
            return Lookup(function(mapping, 0), function(key, 0), semiring)
        case Range(low, high):
            return Range(function(low, 0), function(high, 0))
        case Slice(array, low, high):
            return Slice(function(array, 0), function(low, 0), function(high, 0))
        case Let(value, body):
            return Let(function(value, 0), function(body, 1))
        case If(condition, body, semiring):
            return If(function(condition, 0), function(body, 0), semiring)
        case Add(left, right, semiring):
            return Add(function(left, 0), function(right, 0), semiring)
        case Multiply(left, right, semiring):
            return Multiply(function(left, 0), function(right, 0), semiring)
        case Apply(name, arguments):
            return Apply(name, tuple(function(argument, 0) for argument in arguments))
        case Merge(left, right, body, semiring):
            return Merge(function(left, 0), function(right, 0), function(body, 3), semiring)
        case Find(source, key, body, semiring):
            return Find(function(source, 0), function(key, 0), function(body, 1), semiring)
        case Unique(key):
            return Unique(function(key, 0))


def children(term: Term) -> list[tuple[Term, int]]:
    """Return the children of ``term``, each with the number of binders it stands under."""
    found: list[tuple[Term, int]] = []
    if isinstance(term, Variable | Symbol | Literal):  # most are, and rebuilding them takes time
        return found

    def note(child: Term, binders: int) -> Term:
        found.append((child, binders))
        return child

    map_children(term, note)
    return found
