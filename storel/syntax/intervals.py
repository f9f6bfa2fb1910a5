"""Bounds of integer expressions, by interval arithmetic; None is a side that is not known."""

from __future__ import annotations

from dataclasses import dataclass

FARTHEST = 2**128
"""What is farther from 0 is no known bound: no key lies there, and each square has twice as many digits."""

MOST_BITS = 64
"""Shifts by as many bits or more leave nothing of an integer, or are refused."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The integers from ``low`` to ``high``, both included."""

    low: int | None = None
    high: int | None = None

    @staticmethod
    def exactly(value: int) -> Bounds:
        return Bounds(value, value)

    @property
    def constant(self) -> int | None:
        """The only integer within, None if there are more."""
        return self.low if self.low == self.high else None

    @property
    def is_natural(self) -> bool:
        """Whether nothing within is negative."""
        return self.low is not None and self.low >= 0

    def __add__(self, other: Bounds) -> Bounds:
        """Return the bounds of sums.

        >>> Bounds(0, 3) + Bounds(1, None)
        Bounds(low=1, high=None)
        """
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Bounds(low, high)

    def __neg__(self) -> Bounds:
        return Bounds(
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
        )

    def __sub__(self, other: Bounds) -> Bounds:
        return self + -other

    def __mul__(self, other: Bounds) -> Bounds:
        """Return the bounds of products; known where all sides are, or one factor is a constant.

        >>> Bounds(0, 2**80) * Bounds(0, 2**80)
        Bounds(low=0, high=None)
        """
        if other.constant is not None:
            return self.scaled(other.constant)
        if self.constant is not None:
            return other.scaled(self.constant)
        if self.low is None or self.high is None or other.low is None or other.high is None:
            is_natural = self.is_natural and other.is_natural
            return Bounds(0 if is_natural else None, None)
        corners = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bounds(_near(min(corners)), _near(max(corners)))

    def scaled(self, factor: int) -> Bounds:
        if factor == 0:
            return Bounds.exactly(0)
        if factor < 0:
            return (-self).scaled(-factor)
        return Bounds(
            None if self.low is None else _near(self.low * factor),
            None if self.high is None else _near(self.high * factor),
        )

    def __floordiv__(self, other: Bounds) -> Bounds:
        """Return the bounds of floored quotients by a constant.

        >>> Bounds(0, 7) // Bounds.exactly(2)
        Bounds(low=0, high=3)
        """
        if other.constant is None or other.constant == 0:
            return Bounds()
        if other.constant < 0:
            return -self // -other
        return Bounds(
            None if self.low is None else self.low // other.constant,
            None if self.high is None else self.high // other.constant,
        )

    def __mod__(self, other: Bounds) -> Bounds:
        """Return the bounds of remainders, which have the divisor's sign; of 0 there are none.

        >>> Bounds() % Bounds(0, 5)
        Bounds(low=0, high=4)
        """
        if other.low is None or other.high is None:
            return Bounds()
        return Bounds(min(other.low + 1, 0), other.high - 1 if other.high > 0 or other.low >= 0 else 0)

    def __and__(self, other: Bounds) -> Bounds:
        """Return the bounds of the bits that two integers share: no more than either has, if not negative."""
        highs = [each.high for each in (self, other) if each.is_natural and each.high is not None]
        is_natural = self.is_natural or other.is_natural
        return Bounds(0 if is_natural else None, min(highs, default=None))

    def __xor__(self, other: Bounds) -> Bounds:
        """Return the bounds of the bits that one of two natural numbers has.

        >>> Bounds(0, 5) ^ Bounds.exactly(8)
        Bounds(low=0, high=15)
        """
        if not (self.is_natural and other.is_natural):
            return Bounds()
        if self.high is None or other.high is None:
            return Bounds(0)
        return Bounds(0, (1 << max(self.high, other.high).bit_length()) - 1)

    def __lshift__(self, other: Bounds) -> Bounds:
        """Return the bounds of natural numbers with a known number of zero bits behind them."""
        if not self.is_natural or other.constant is None or not 0 <= other.constant < MOST_BITS:
            return Bounds()
        return self.scaled(1 << other.constant)

    def __rshift__(self, other: Bounds) -> Bounds:
        """Return the bounds of natural numbers without so many of their last bits."""
        if not self.is_natural:
            return Bounds()
        if other.constant is None or not 0 <= other.constant < MOST_BITS:
            return Bounds(0, self.high)
        return self // Bounds.exactly(1 << other.constant)

    def union(self, other: Bounds) -> Bounds:
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Bounds(low, high)

    def intersection(self, other: Bounds) -> Bounds:
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return Bounds(max(lows, default=None), min(highs, default=None))

    def least(self, other: Bounds) -> Bounds:
        """Return the bounds of the smaller of two integers."""
        return -((-self).greatest(-other))

    def greatest(self, other: Bounds) -> Bounds:
        """Return the bounds of the greater of two integers."""
        lows = [low for low in (self.low, other.low) if low is not None]
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Bounds(max(lows, default=None), high)


def _near(bound: int) -> int | None:
    return bound if abs(bound) <= FARTHEST else None
