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

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from storel.scalars import ScalarType
from storel.semiring import Scalar


class Node:
    """What all terms have in common.

    Terms are values and share their parts, so what follows from the fields of a node is found once and kept
    with it: its children, its free variables (a bit for each), its hash, how many nodes it has, whether it
    loops, or takes long. So is the type inferred last, with the symbols and the types of free variables that
    it was inferred from.
    """

    __slots__ = (
        "kept_children", "kept_costly", "kept_free", "kept_hash", "kept_length", "kept_loop", "kept_type"
    )  # fmt: skip

    kept_children: tuple[tuple[Term, int], ...]
    kept_costly: bool
    kept_free: int
    kept_hash: int
    kept_length: int
    kept_loop: bool
    kept_type: tuple[object, object, object]
    __match_args__: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls.__hash__ = Node.__hash__  # or else a dataclass gets one that goes through the whole term

    def __hash__(self) -> int:
        found: int | None = getattr(self, "kept_hash", None)
        if found is None:
            found = hash((type(self), *[getattr(self, name) for name in self.__match_args__]))
            object.__setattr__(self, "kept_hash", found)
        return found


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """``i``: what the i-th enclosing binder binds, counted from the inside."""

    index: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant scalar."""

    value: Scalar
    type: ScalarType


@dataclass(frozen=True, slots=True)
class Symbol(Node):
    """A name bound outside the term: a physical array, a scalar parameter, or a size."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """The sum of ``body`` over the entries of a dictionary or all positions of an array or range.

    Binds key (1) and value (0) in ``body``.
    """

    source: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """``min``, ``max``, ``prod``, ``any`` or ``all`` of a scalar ``body`` over the entries of ``source``.

    Binds key (1) and value (0) in ``body``. ``min`` and ``max`` of nothing are an evaluation error;
    ``least`` and ``greatest`` are the same with a unit, the last and the first of the body's type.
    """

    monoid: str
    source: Term
    body: Term


@dataclass(frozen=True, slots=True)
class Singleton(Node):
    """``{key -> value}``: one entry, or none when the value is the semiring's zero or empty."""

    key: Term
    value: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Empty(Node):
    """The dictionary of the given rank without entries; rank is at least 1."""

    rank: int
    type: ScalarType = ScalarType.FLOAT64


@dataclass(frozen=True, slots=True)
class Lookup(Node):
    """``mapping(key)``: a missing entry of a dictionary is zero; an array must be read in bounds."""

    mapping: Term
    key: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Range(Node):
    """``low:high``: the array of the integers low … high - 1, each at its own position."""

    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """``array(low:high)``: the sub-array; positions stay absolute."""

    array: Term
    low: Term
    high: Term


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``let value in body``; binds the value (0) in ``body``."""

    value: Term
    body: Term


@dataclass(frozen=True, slots=True)
class If(Node):
    """``body`` where ``condition`` holds, else the semiring's zero (of the body's rank)."""

    condition: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Add(Node):
    """Semiring addition of two scalars or, entry by entry, of two dictionaries of equal rank."""

    left: Term
    right: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Multiply(Node):
    """Semiring product of two scalars, scaling of a dictionary, or element-wise product of two."""

    left: Term
    right: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """A scalar function of scalars; the names are those of ``storel/functions.py``."""

    function: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Merge(Node):
    """The sum of ``body`` over positions at which two increasing arrays hold the same element.

    Binds the positions p (2) and q (1) and the common element k (0) in ``body``:
    ``sum(<p, k> in left) sum(<q, y> in right) if k == y then body``. Of other arrays it is undefined.
    """

    left: Term
    right: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Find(Node):
    """The sum of ``body`` over the positions at which an ascending array holds ``key``.

    Binds the position (0) in ``body``: ``sum(<p, y> in source) if y == key then body``. Of other arrays
    it is undefined.
    """

    source: Term
    key: Term
    body: Term
    semiring: str = "plus_times"


@dataclass(frozen=True, slots=True)
class Unique(Node):
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
