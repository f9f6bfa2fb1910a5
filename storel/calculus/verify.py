"""When a term is legal: scopes, types, semirings. Types are inferred on the way.

    T ::= scalar | dictionary of rank r ≥ 1 with scalar entries | array of scalars

Keys, positions and bounds are integers; conditions are scalars. Arrays (physical ones, sub-arrays and
ranges) are read, scanned, sliced and named, never added or multiplied. What may be the zero of its
semiring has a type that holds this zero: integers become reals over ``min_plus``. A sum of bools
counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from storel.calculus.binding import free_mask
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
from storel.calculus.printer import show
from storel.functions import FUNCTIONS
from storel.scalars import ScalarType
from storel.semiring import SEMIRINGS
from storel.symbols import ArraySymbol, EndSymbol, MappingSymbol, ParameterSymbol, SizeSymbol, Symbols

MONOIDS = ("min", "max", "least", "greatest", "prod", "any", "all")


class InvariantError(Exception):
    """A term that no correct pass produces: a defect of storel, not of a program."""


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar (rank 0), a dictionary nested ``rank`` times, or an array (rank 1)."""

    scalar: ScalarType
    rank: int = 0
    is_array: bool = False

    def __str__(self) -> str:
        if self.is_array:
            return f"array of {self.scalar.value}"
        return f"dictionary of rank {self.rank} of {self.scalar.value}" if self.rank else self.scalar.value


Context: TypeAlias = tuple[Type, ...]
"""The types of the enclosing binders' variables, the innermost first."""

SCALARS = {scalar: Type(scalar) for scalar in ScalarType}
"""The types of scalars: there is one of each in most contexts, which are compared often."""

KEY = SCALARS[ScalarType.INT64]


def verify(term: Term, symbols: Symbols) -> None:
    """Check that ``term`` is closed and well-typed; raises ``InvariantError``."""
    infer(term, symbols)


def infer(term: Term, symbols: Symbols, context: Context = ()) -> Type:
    """Return the type of ``term``; raises ``InvariantError`` if it has none.

    >>> str(infer(Sum(Range(Variable(0), Variable(0)), Variable(1)), {}, (KEY,)))
    'int64'
    """
    if isinstance(term, Variable):
        return _inferred(term, symbols, context)
    kept: tuple[Symbols, Context, Type] | None = getattr(term, "kept_type", None)
    relevant = context[: free_mask(term).bit_length()]
    if kept is not None and kept[0] is symbols and kept[1] == relevant:
        return kept[2]
    found = _inferred(term, symbols, context)
    object.__setattr__(term, "kept_type", (symbols, relevant, found))
    return found


def _inferred(term: Term, symbols: Symbols, context: Context) -> Type:
    match term:
        case Variable(index):
            _require(index < len(context), term, "a variable outside its {} binders", len(context))
            return context[index]
        case Literal(value, scalar):
            _require(_holds(scalar, value), term, "{!r} is no {}", value, scalar.value)
            return Type(scalar)
        case Symbol(name):
            return _symbol(name, symbols)
        case Sum(source, body, semiring):
            return _plus(infer(body, symbols, _entry(source, symbols, context)), semiring, term)
        case Reduce(monoid, source, body):
            return _reduced(term, monoid, infer(body, symbols, _entry(source, symbols, context)))
        case Singleton(key, value, semiring):
            _integer(key, symbols, context)
            return _dictionary_of(with_zero(_entry_value(value, symbols, context), semiring))
        case Empty(rank, scalar):
            _require(rank >= 1, term, "an empty dictionary of rank 0")
            return Type(scalar, rank)
        case Lookup(mapping, key, semiring):
            _integer(key, symbols, context)
            kind = infer(mapping, symbols, context)
            _require(kind.rank >= 1, term, "a lookup in {}", kind)
            return element(kind) if kind.is_array else with_zero(element(kind), semiring)
        case Range(low, high):
            _bounds(low, high, symbols, context)
            return Type(ScalarType.INT64, 1, is_array=True)
        case Slice(array, low, high):
            _bounds(low, high, symbols, context)
            return _array(array, symbols, context)
        case Let(value, body):
            return infer(body, symbols, (infer(value, symbols, context), *context))
        case If(condition, body, semiring):
            _scalar(condition, symbols, context)
            return with_zero(_entry_value(body, symbols, context), semiring)
        case Add(left, right, semiring):
            return _sum_of_two(term, left, right, semiring, symbols, context)
        case Multiply(left, right, semiring):
            return _product(term, left, right, semiring, symbols, context)
        case Apply(name, arguments):
            return _application(term, name, tuple(_scalar(a, symbols, context).scalar for a in arguments))
        case Merge(_, _, body, semiring):
            return _plus(infer(body, symbols, _common(term, symbols, context)), semiring, term)
        case Find(source, key, body, semiring):
            _integer(key, symbols, context)
            _integers(source, symbols, context)
            return _plus(infer(body, symbols, (KEY, *context)), semiring, term)
        case Unique(key):
            return _integer(key, symbols, context)


def element(kind: Type) -> Type:
    """Return the type of what a dictionary or an array holds at a key."""
    return SCALARS[kind.scalar] if kind.rank == 1 else Type(kind.scalar, kind.rank - 1)


def with_zero(kind: Type, semiring: str) -> Type:
    """Return ``kind`` with a scalar type that holds the zero of ``semiring``, too."""
    return _of(kind, SEMIRINGS[semiring].with_zero(kind.scalar))


def zero_literal(kind: Type, semiring: str) -> Literal:
    """Return the zero of ``semiring`` as a literal of the scalar type ``kind``, or of one that holds it."""
    zero, scalar = SEMIRINGS[semiring].zero, with_zero(kind, semiring).scalar
    if scalar is ScalarType.BOOL:
        return Literal(bool(zero), scalar)
    return Literal(float(zero) if scalar.is_real else int(zero), scalar)


def added(kind: Type, semiring: str) -> Type:
    """Return the type of the semiring's sums of ``kind``.

    >>> str(added(Type(ScalarType.BOOL), "plus_times"))
    'int64'
    """
    return _of(kind, SEMIRINGS[semiring].sum_type(kind.scalar))


def _of(kind: Type, scalar: ScalarType) -> Type:
    """Return ``kind`` with another scalar type, which mostly is its own: thousands are made for each plan."""
    return kind if scalar is kind.scalar else Type(scalar, kind.rank, kind.is_array)


def _shown(term: Term) -> str:
    """Return a term as text, with its free variables as indices."""
    return show(term, tuple(f"%{index}" for index in range(free_mask(term).bit_length())))


def _require(condition: bool, term: Term, problem: str, *found: object) -> None:
    if not condition:
        raise InvariantError(f"{problem.format(*found)}: {_shown(term)}")


def _holds(scalar: ScalarType, value: object) -> bool:
    if isinstance(value, bool) or scalar is ScalarType.BOOL:
        return isinstance(value, bool) and scalar is ScalarType.BOOL
    return isinstance(value, int) or (scalar.is_real and isinstance(value, float))


def _symbol(name: str, symbols: Symbols) -> Type:
    match symbols.get(name):
        case ArraySymbol() as array:
            return Type(array.element_type, 1, is_array=True)
        case SizeSymbol() | EndSymbol():
            return KEY
        case ParameterSymbol(_, scalar):
            return Type(scalar)
        case MappingSymbol() | None:
            raise InvariantError(f"unknown symbol: {name}")


def _entry(source: Term, symbols: Symbols, context: Context) -> Context:
    """Return ``context`` with the key and the value of ``source``'s entries."""
    kind = infer(source, symbols, context)
    _require(kind.rank >= 1, source, "a sum over {}", kind)
    return (element(kind), KEY, *context)


def _common(term: Merge, symbols: Symbols, context: Context) -> Context:
    """Return ``context`` with the common element of two arrays, and its position in each."""
    common = _integers(term.left, symbols, context)
    _integers(term.right, symbols, context)
    return (common, KEY, KEY, *context)


def _dictionary_of(kind: Type) -> Type:
    return Type(kind.scalar, kind.rank + 1)


def _entry_value(term: Term, symbols: Symbols, context: Context) -> Type:
    kind = infer(term, symbols, context)
    _require(not kind.is_array, term, "an array where a scalar or a dictionary is needed")
    return kind


def _scalar(term: Term, symbols: Symbols, context: Context) -> Type:
    kind = infer(term, symbols, context)
    _require(kind.rank == 0, term, "{} where a scalar is needed", kind)
    return kind


def _integer(term: Term, symbols: Symbols, context: Context) -> Type:
    kind = _scalar(term, symbols, context)
    _require(kind.scalar.is_integer, term, "{} where an integer is needed", kind)
    return kind


def _bounds(low: Term, high: Term, symbols: Symbols, context: Context) -> None:
    _integer(low, symbols, context)
    _integer(high, symbols, context)


def _array(term: Term, symbols: Symbols, context: Context) -> Type:
    kind = infer(term, symbols, context)
    _require(kind.is_array, term, "{} where an array is needed", kind)
    return kind


def _integers(term: Term, symbols: Symbols, context: Context) -> Type:
    """Return the type of the elements of an array that is searched."""
    kind = element(_array(term, symbols, context))
    _require(kind.scalar.is_integer, term, "a search among {}", kind.scalar.value)
    return kind


def _plus(kind: Type, semiring: str, term: Term) -> Type:
    _require(semiring in SEMIRINGS, term, "unknown semiring {}", semiring)
    _require(not kind.is_array, term, "a sum of arrays")
    return added(kind, semiring)


def _reduced(term: Term, monoid: str, kind: Type) -> Type:
    _require(monoid in MONOIDS, term, "unknown monoid {}", monoid)
    _require(kind.rank == 0, term, "{} of {}", monoid, kind)
    if monoid in ("any", "all"):
        return Type(ScalarType.BOOL)
    return added(kind, "plus_times") if monoid == "prod" else kind


def _sum_of_two(
    term: Term, left: Term, right: Term, semiring: str, symbols: Symbols, context: Context
) -> Type:
    one, two = _entry_value(left, symbols, context), _entry_value(right, symbols, context)
    _require(one.rank == two.rank, term, "{} + {}", one, two)
    if isinstance(left, Empty):  # its own scalar type is a guess
        return _plus(two, semiring, term)
    if isinstance(right, Empty):
        return _plus(one, semiring, term)
    return _plus(Type(one.scalar.join(two.scalar), one.rank), semiring, term)


def _product(term: Term, left: Term, right: Term, semiring: str, symbols: Symbols, context: Context) -> Type:
    _require(semiring in SEMIRINGS, term, "unknown semiring {}", semiring)
    one, two = _entry_value(left, symbols, context), _entry_value(right, symbols, context)
    _require(one.rank == two.rank or 0 in (one.rank, two.rank), term, "{} * {}", one, two)
    return _of(one if one.rank else two, SEMIRINGS[semiring].product_type(one.scalar, two.scalar))


def _application(term: Term, name: str, arguments: tuple[ScalarType, ...]) -> Type:
    function = FUNCTIONS.get(name)
    if function is None or function.arity != len(arguments):
        raise InvariantError(f"no function {name} of {len(arguments)} arguments: {_shown(term)}")
    result = function.result_type(*arguments)
    if result is None:
        raise InvariantError(f"{name} of {', '.join(a.value for a in arguments)}: {_shown(term)}")
    return Type(result)
