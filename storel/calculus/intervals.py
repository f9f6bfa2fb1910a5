"""Bounds of integers, and what becomes of them where integers are added, compared, divided.

Interval arithmetic (Moore, 1966). ``None`` is an open end. The bounds of a dictionary are those of its keys
and of its values. Arithmetic on numbers of 32 bits alone wraps around at 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from storel.functions import FUNCTIONS, WORD


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from ``low`` to ``high``, both inclusive; None where an end is not known.

    ``is_short`` where the number may be one of 32 bits, or a truth.
    """

    low: int | None = None
    high: int | None = None
    is_short: bool = False

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        low, high = _either(min, self.low, other.low), _either(max, self.high, other.high)
        return Interval(low, high, self.is_short or other.is_short)

    def meet(self, other: Interval) -> Interval:
        """Return the integers in both; an empty intersection has ``low > high``."""
        low, high = _known(max, self.low, other.low), _known(min, self.high, other.high)
        return Interval(low, high, self.is_short or other.is_short)

    def __contains__(self, number: int) -> bool:
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)

    @property
    def is_known(self) -> bool:
        """Whether an end is known, which is so of integers only."""
        return self.low is not None or self.high is not None

    @property
    def is_natural(self) -> bool:
        """Whether no element is negative."""
        return self.low is not None and self.low >= 0

    def within(self, low: int, high: int) -> bool:
        """Return whether every element e has ``low <= e <= high``."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


@dataclass(frozen=True, slots=True)
class EntryBounds(Interval):
    """A dictionary, which as a number is not known: the bounds of its keys, and those of its values."""

    keys: Interval = Interval(is_short=True)
    values: Interval = Interval(is_short=True)


Context: TypeAlias = tuple[Interval, ...]
"""What is known about the enclosing binders, the innermost first."""

ANY = Interval(is_short=True)
NONE = Interval(0, -1)
TRUTH = Interval(0, 1, is_short=True)
LONG = Interval(-(2**63), 2**63 - 1)
"""The integers of 64 bits. The absolute value of the least is the least itself."""

SHORT = Interval(-(2**31), 2**31 - 1, is_short=True)

COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _either(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else choose(a, b)


def _known(choose: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else choose(a, b)


def _add(a: Interval, b: Interval) -> Interval:
    low, high = _either(int.__add__, a.low, b.low), _either(int.__add__, a.high, b.high)
    return _made(low, high, a, b)


def _made(low: int | None, high: int | None, *operands: Interval) -> Interval:
    """Return an interval of a sum or a product; short numbers may wrap around if an end is not known."""
    is_short = all(each.is_short for each in operands)
    return ANY if is_short and (low is None or high is None) else Interval(low, high, is_short)


def summed(found: Interval) -> Interval:
    """Return the bounds of a sum of what has the bounds ``found``: of keys the same, of numbers none."""
    return (
        EntryBounds(keys=found.keys, values=summed(found.values)) if isinstance(found, EntryBounds) else ANY
    )


def _united(one: Interval, other: Interval) -> Interval:
    """Return the bounds of the sum of two dictionaries."""
    if not (isinstance(one, EntryBounds) and isinstance(other, EntryBounds)):
        return ANY
    return EntryBounds(keys=one.keys.hull(other.keys), values=_united(one.values, other.values))


def _intersected(one: Interval, other: Interval) -> Interval:
    """Return the bounds of the product of two dictionaries, or of one and a number."""
    if isinstance(one, EntryBounds) and isinstance(other, EntryBounds):
        return EntryBounds(keys=one.keys.meet(other.keys), values=_intersected(one.values, other.values))
    return summed(one if isinstance(one, EntryBounds) else other)


def added(one: Interval, other: Interval, semiring: str) -> Interval:
    """Return the bounds of a sum over a semiring, of numbers or of dictionaries."""
    if isinstance(one, EntryBounds) or isinstance(other, EntryBounds):
        return _united(one, other)
    return wrapped(_add(one, other)) if semiring == "plus_times" else ANY


def multiplied(one: Interval, other: Interval, semiring: str) -> Interval:
    """Return the bounds of a product over a semiring, of numbers or of dictionaries."""
    if isinstance(one, EntryBounds) or isinstance(other, EntryBounds):
        return _intersected(one, other)
    return wrapped(_multiply(one, other)) if semiring == "plus_times" else ANY


def wrapped(found: Interval) -> Interval:
    """Return the interval of a value in 64 bits, or 32, which may be any where it would leave them."""
    all_ = SHORT if found.is_short else LONG
    return found if all(end is None or end in all_ for end in (found.low, found.high)) else ANY


def _negate(a: Interval) -> Interval:
    return _made(None if a.high is None else -a.high, None if a.low is None else -a.low, a)


def _multiply(a: Interval, b: Interval) -> Interval:
    if a.low is not None and a.high is not None and b.low is not None and b.high is not None:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return _made(min(corners), max(corners), a, b)
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        return _made(a.low * b.low, None, a, b)
    return _made(None, None, a, b)


def _floor_divide(a: Interval, b: Interval) -> Interval:
    if b.high is not None and b.high < 0:
        return wrapped(_floor_divide(_negate(a), _negate(b)))  # the least number by -1 is itself
    if b.low is None or b.high is None or b.low <= 0:
        return ANY
    low = None if a.low is None else min(a.low // b.low, a.low // b.high)
    high = None if a.high is None else max(a.high // b.low, a.high // b.high)
    return Interval(low, high)


def _modulo(a: Interval, b: Interval) -> Interval:
    if b.high is not None and b.high < 0:
        return _negate(_modulo(_negate(a), _negate(b)))
    if b.low is None or b.low <= 0 or not a.is_known:
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

    A comparison of numbers that are not integers is undecided, since their ends are not known: also not those
    of the maximum of a real and an integer, which may be NaN or lie between two integers.
    """
    if name == "truncate":
        return arguments[0] if arguments[0].is_known else LONG
    if name == "int64":
        return Interval(arguments[0].low, arguments[0].high)
    is_short = FUNCTIONS[name].is_predicate or all(each.is_short for each in arguments)
    found = _applied(name, *arguments)
    return Interval(found.low, found.high, is_short)


def _applied(name: str, *arguments: Interval) -> Interval:
    match name, arguments:
        case "negate", (a,):
            return wrapped(_negate(a))
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
        case "minimum" | "maximum", (a, b) if not (a.is_known and b.is_known):
            return ANY
        case "minimum", (a, b):
            return Interval(_either(min, a.low, b.low), _known(min, a.high, b.high))
        case "maximum", (a, b):
            return Interval(_known(max, a.low, b.low), _either(max, a.high, b.high))
        case "abs", (a,) if a.low is not None and -a.low in (SHORT if a.is_short else LONG):
            return _applied("maximum", a, _negate(a)).meet(Interval(0))
        case "relu", (a,) if a.is_known:
            return _applied("maximum", a, Interval(0, 0))
        case "sign", (a,) if a.is_known:
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
