"""Counts, durations and sizes as people read them."""

from __future__ import annotations

EXPECTED, COUNTED = "expected", "counted"
TIME_EXPECTED, TIME_ATTRIBUTED = "time (expected)", "time (attributed)"
"""What the figures of an operator are called."""


def count(number: float) -> str:
    """Return a number of things, of three digits at least.

    >>> count(1234567), count(2.5), count(3.2e12)
    ('1,234,567', '2.5', '3.2e+12')
    """
    if number >= 1e10:
        return f"{number:.1e}"
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def duration(nanoseconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> duration(850), duration(12_345), duration(2.5e9)
    ('850 ns', '12.3 µs', '2.50 s')
    """
    for unit, length in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= length:
            return f"{nanoseconds / length:#.3g} {unit}".replace(". ", " ")
    return f"{nanoseconds:.0f} ns"


def size(number: int) -> str:
    """Return a number of bytes in the unit that suits it.

    >>> size(512), size(12_345), size(2_500_000)
    ('512 B', '12.3 kB', '2.50 MB')
    """
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= length:
            return f"{number / length:#.3g} {unit}".replace(". ", " ")
    return f"{number} B"
