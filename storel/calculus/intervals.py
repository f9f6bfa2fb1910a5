"""Bounds of integer terms, from the facts about arrays, sizes and enclosing binders.

    bounds(e)   ⊇ {value of e | every enclosing binder takes a value within its interval}

Interval arithmetic (Moore, 1966) over concrete integers: data is at hand when a program is compiled,
so extents have values although terms keep their names. ``None`` is an open end. An enclosing
condition narrows the intervals of the variables that it compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
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
from storel.functions import WORD
from storel.symbols import ArraySymbol, EndSymbol, SizeSymbol, Symbols


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from ``low`` to ``high``, both inclusive; None where an end is not known."""

    low: int | None = None
    high: int | None = None

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(_either(min, self.low, other.low), _either(max, self.high, other.high))

    def meet(self, other: Interval) -> Interval:
        """Return the integers in both; an empty intersection has ``low > high``."""
        return Interval(_known(max, self.low, other.low), _known(min, self.high, other.high))

    def __contains__(self, number: int) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    @property
    def is_natural(self) -> bool:
        """Whether no element is negative."""
        return self.low is not None and self.low >= 0

    def within(self, low: int, high: int) -> bool:
        """Return whether every element e has ``low <= e <= high``."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


@dataclass(frozen=True, slots=True)
class Entries(Interval):
    """A dictionary, which as a number is not known: the bounds of its keys, and those of its values."""

    keys: Interval = Interval()
    values: Interval = Interval()


Context: TypeAlias = tuple[Interval, ...]
"""What is known about the enclosing binders, the innermost first."""

ANY = Interval()
NONE = Interval(0, -1)
TRUTH = Interval(0, 1)
LEAST, GREATEST = -(2**63), 2**63 - 1
"""The ends of the integers of 64 bits. The absolute value of the least is the least itself."""

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_MIRRORED = {
    "equal": "equal", "less": "greater", "less_equal": "greater_equal",
    "greater": "less", "greater_equal": "less_equal",
}  # fmt: skip


def _either(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _known(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else choose(a, b)


def bounds(term: Term, symbols: Symbols, context: Context = ()) -> Interval:
    """Return an interval that holds the value of ``term``; ``ANY`` for what is not an integer.

    >>> bounds(Add(Variable(0), Variable(1)), {}, (Interval(0, 3), Interval(1, 2)))
    Interval(low=1, high=5)
    """
    match term:
        case Variable(index):
            return context[index] if index < len(context) else ANY
        case Literal(value):
            return Interval(int(value), int(value)) if isinstance(value, int) else ANY
        case Symbol(name):
            fact = symbols.get(name)
            if isinstance(fact, EndSymbol):
                return Interval(fact.low, fact.high)
            return Interval(fact.value, fact.value) if isinstance(fact, SizeSymbol) else ANY
        case Lookup(mapping, _, semiring):
            return _found(mapping, semiring, symbols, context)
        case Add(left, right, semiring):
            one, other = bounds(left, symbols, context), bounds(right, symbols, context)
            if isinstance(one, Entries) or isinstance(other, Entries):
                return _united(one, other)
            return wrapped(_add(one, other)) if semiring == "plus_times" else ANY
        case Multiply(left, right, semiring):
            one, other = bounds(left, symbols, context), bounds(right, symbols, context)
            if isinstance(one, Entries) or isinstance(other, Entries):
                return _intersected(one, other)
            return wrapped(_multiply(one, other)) if semiring == "plus_times" else ANY
        case Apply(name, arguments):
            return wrapped(applied(name, *(bounds(argument, symbols, context) for argument in arguments)))
        case Let(value, body):
            return bounds(body, symbols, (bounds(value, symbols, context), *context))
        case If(condition, body, semiring):
            found = bounds(body, symbols, narrowed(condition, symbols, context))
            if isinstance(found, Entries):
                return found
            return found.hull(Interval(0, 0)) if semiring == "plus_times" else ANY
        case Unique(key):
            return bounds(key, symbols, context)
        case Singleton(key, value):
            return Entries(keys=bounds(key, symbols, context), values=bounds(value, symbols, context))
        case Empty(rank):
            return reduce(lambda values, _: Entries(keys=NONE, values=values), range(rank), NONE)
        case Sum(source, body):
            keys, values = binder_bounds(source, symbols, context)
            found = bounds(body, symbols, (values, keys, *context))
            return found if isinstance(body, Singleton) and body.key == Variable(1) else _summed(found)
        case Reduce("min" | "max", source, body):
            keys, values = binder_bounds(source, symbols, context)
            return bounds(body, symbols, (values, keys, *context))
        case Merge(left, right, body):
            (p, x), (q, y) = (binder_bounds(side, symbols, context) for side in (left, right))
            return _summed(bounds(body, symbols, (x.meet(y), q, p, *context)))
        case Find(source, _, body):
            return _summed(bounds(body, symbols, (binder_bounds(source, symbols, context)[0], *context)))
        case Reduce() | Range() | Slice():
            return ANY


def binder_bounds(source: Term, symbols: Symbols, context: Context = ()) -> tuple[Interval, Interval]:
    """Return the intervals of the key and of the value that a sum over ``source`` binds."""
    match source:
        case Range(low, high):
            first, last = bounds(low, symbols, context), bounds(high, symbols, context)
            positions = Interval(first.low, None if last.high is None else last.high - 1)
            return positions, positions
        case Slice(array, low, high):
            first, last = bounds(low, symbols, context), bounds(high, symbols, context)
            positions = Interval(first.low, None if last.high is None else last.high - 1)
            whole, elements = binder_bounds(array, symbols, context)
            return positions.meet(whole), elements
        case Symbol(name):
            fact = symbols.get(name)
            if isinstance(fact, ArraySymbol):
                return Interval(0, fact.length - 1), Interval(fact.low, fact.high)
            return Interval(0), ANY
        case _:  # a dictionary that is read: its keys are not negative (``lower`` sees to it)
            match bounds(source, symbols, context):
                case Entries(keys=keys, values=values):
                    return keys.meet(Interval(0)), values
                case _:
                    return Interval(0), ANY


def decided(condition: Term, symbols: Symbols, context: Context = ()) -> bool | None:
    """Return the truth of ``condition`` if the bounds decide it.

    >>> decided(Apply("less", (Variable(0), Variable(1))), {}, (Interval(0, 3), Interval(4, 9)))
    True
    """
    truth = bounds(condition, symbols, context)
    return bool(truth.low) if truth.low is not None and truth.low == truth.high else None


def narrowed(condition: Term, symbols: Symbols, context: Context) -> Context:
    """Return ``context`` inside a body that is only evaluated where ``condition`` holds."""
    match condition:
        case Apply("and", (left, right)):
            return narrowed(right, symbols, narrowed(left, symbols, context))
        case Apply(name, (left, right)) if name in _MIRRORED:
            context = _compared(name, left, bounds(right, symbols, context), context)
            return _compared(_MIRRORED[name], right, bounds(left, symbols, context), context)
        case _:
            return context


def _compared(name: str, term: Term, other: Interval, context: Context) -> Context:
    if not isinstance(term, Variable) or term.index >= len(context):
        return context
    strict = 1 if name in ("less", "greater") else 0
    at_most = None if other.high is None else other.high - strict
    at_least = None if other.low is None else other.low + strict
    match name:
        case "equal":
            known = other
        case "less" | "less_equal":
            known = Interval(None, at_most)
        case _:
            known = Interval(at_least, None)
    narrowed_interval = context[term.index].meet(known)
    return (*context[: term.index], narrowed_interval, *context[term.index + 1 :])


def elements(array: ArraySymbol) -> Interval:
    """Return an interval that holds the elements of an array: of integers all there are, if nothing is known.

    Not those of its own type, in which sums of elements may wrap around.
    """
    if array.type.is_integer and array.low is None and array.high is None:
        return Interval(LEAST, GREATEST)
    return Interval(array.low, array.high)


def _found(mapping: Term, semiring: str, symbols: Symbols, context: Context) -> Interval:
    """Return the bounds of what is looked up in an array, or in a dictionary, where it may be missing."""
    match mapping:
        case Symbol(name):
            fact = symbols.get(name)
            return elements(fact) if isinstance(fact, ArraySymbol) else ANY
        case Slice(inner, _, _):
            return _found(inner, semiring, symbols, context)
        case _:
            match bounds(mapping, symbols, context):
                case Entries(values=Entries() as row):
                    return row
                case Entries(values=value) if semiring == "plus_times":
                    return value.hull(Interval(0, 0))
                case _:
                    return ANY


def _summed(found: Interval) -> Interval:
    """Return the bounds of a sum of what has the bounds ``found``: of keys the same, of numbers none."""
    return Entries(keys=found.keys, values=_summed(found.values)) if isinstance(found, Entries) else ANY


def _united(one: Interval, other: Interval) -> Interval:
    """Return the bounds of the sum of two dictionaries."""
    if not (isinstance(one, Entries) and isinstance(other, Entries)):
        return ANY
    return Entries(keys=one.keys.hull(other.keys), values=_united(one.values, other.values))


def _intersected(one: Interval, other: Interval) -> Interval:
    """Return the bounds of the product of two dictionaries, or of one and a number."""
    if isinstance(one, Entries) and isinstance(other, Entries):
        return Entries(keys=one.keys.meet(other.keys), values=_intersected(one.values, other.values))
    return _summed(one if isinstance(one, Entries) else other)


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(_either(int.__add__, a.low, b.low), _either(int.__add__, a.high, b.high))


def wrapped(found: Interval) -> Interval:
    """Return the interval of a value in 64 bits, which may be any where it would leave them."""
    is_below = found.low is not None and found.low < LEAST
    is_above = found.high is not None and found.high > GREATEST
    return ANY if is_below or is_above else found


def _negate(a: Interval) -> Interval:
    return Interval(None if a.high is None else -a.high, None if a.low is None else -a.low)


def _multiply(a: Interval, b: Interval) -> Interval:
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Interval(min(corners), max(corners))
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return Interval(a.low * b.low)
    return ANY


def _floor_divide(a: Interval, b: Interval) -> Interval:
    if b.low is None or b.high is None or b.low <= 0:
        return ANY
    low = None if a.low is None else min(a.low // b.low, a.low // b.high)
    high = None if a.high is None else max(a.high // b.low, a.high // b.high)
    return Interval(low, high)


def _modulo(a: Interval, b: Interval) -> Interval:
    if b.low is None or b.low <= 0:
        return ANY
    if a.low is not None and a.high is not None and a.low >= 0 and a.high < b.low:
        return a
    return Interval(0, None if b.high is None else b.high - 1)


def _mask(a: Interval, b: Interval) -> Interval:
    """Return the bounds of the bits that two numbers share: no more than either has, if not negative."""
    naturals = [each for each in (a, b) if _is_natural(each)]
    highest: int | None = None
    for each in naturals:
        highest = _known(min, highest, each.high)
    return Interval(0, highest) if naturals else ANY


def _any_bits(a: int, b: int) -> int:
    """Return the largest number that has no more bits than the larger of two."""
    return (1 << max(a, b).bit_length()) - 1


def _is_natural(interval: Interval) -> bool:
    return interval.low is not None and interval.low >= 0


def _compare(name: str, a: Interval, b: Interval) -> Interval:
    """Return the truth of a comparison: exactly one integer where the intervals decide it."""
    match name:
        case "less":
            return _decide(_below(a.high, b.low), _below(b.high, a.low, 0))
        case "less_equal":
            return _decide(_below(a.high, b.low, 0), _below(b.high, a.low))
        case "greater":
            return _compare("less", b, a)
        case "greater_equal":
            return _compare("less_equal", b, a)
        case "equal":
            same = a.low is not None and a.low == a.high == b.low == b.high
            return _decide(same, _below(a.high, b.low) or _below(b.high, a.low))
        case _:
            equal = _compare("equal", a, b)
            return _add(Interval(1, 1), _negate(equal))


def _below(a: int | None, b: int | None, gap: int = 1) -> bool:
    return a is not None and b is not None and a + gap <= b


def _decide(holds: bool, fails: bool) -> Interval:
    return Interval(1, 1) if holds else Interval(0, 0) if fails else TRUTH


def applied(name: str, *arguments: Interval) -> Interval:
    """Return an interval of the scalar function ``name`` of arguments within the given intervals.

    A comparison of numbers that are not integers is undecided, since their ends are not known.
    """
    match name, arguments:
        case "negate", (a,):
            return _negate(a)
        case "subtract", (a, b):
            return _add(a, _negate(b))
        case "floor_divide", (a, b):
            return _floor_divide(a, b)
        case "modulo", (a, b):
            return _modulo(a, b)
        case "bit_and", (a, b):
            return _mask(a, b)
        case "bit_or" | "bit_xor", (a, b) if _is_natural(a) and _is_natural(b):
            return Interval(0, _either(_any_bits, a.high, b.high))
        case "shift_right", (a, _) if _is_natural(a):
            return Interval(0, a.high)
        case "shift_left", (a, Interval(int() as low, int() as high)) if _is_natural(a) and low >= 0:
            return _multiply(a, Interval(1 << low, 1 << high)) if high < WORD else ANY
        case "popcount", _:
            return Interval(0, WORD)
        case "minimum", (a, b):
            return Interval(_either(min, a.low, b.low), _known(min, a.high, b.high))
        case "maximum", (a, b):
            return Interval(_known(max, a.low, b.low), _either(max, a.high, b.high))
        case "abs", (a,) if a.low is not None and a.low > LEAST:
            return applied("maximum", a, _negate(a)).meet(Interval(0))
        case "relu", (a,) if a != ANY:
            return applied("maximum", a, Interval(0, 0))
        case "sign", (a,) if a != ANY:
            return TRUTH if _is_natural(a) else Interval(-1, 1)
        case "floor" | "ceil", (a,):
            return a
        case "and", (a, b):
            return Interval(_either(min, a.low, b.low), _known(min, a.high, b.high)).meet(TRUTH)
        case "or", (a, b):
            return Interval(_known(max, a.low, b.low), _either(max, a.high, b.high)).meet(TRUTH)
        case "not", (a,):
            return _add(Interval(1, 1), _negate(a)).meet(TRUTH)
        case _, (a, b) if name in COMPARISONS:
            return _compare(name, a, b)
        case _:
            return ANY
