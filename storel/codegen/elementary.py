"""Elementary functions without branches, tables or calls, of which compilers make vector code.

They are within 1 (exp, log), 2 (sigmoid) and 3 (tanh) units in the last place, and the same on every lane, so
that an answer does not depend on where threads cut a loop. Strict kernels call the C library instead.

    exp(a)  = 2^n exp(r),  r = a - n log 2 with |r| <= log(2) / 2, log 2 in two parts
    tanh(a) = e / (e + 2),  e = exp(2 a) - 1
    log(a)  = n log 2 + log(1 + f),  f in [sqrt(1/2) - 1, sqrt(2) - 1], by s = f / (2 + f)

A number is rounded to an integer by adding ``SHIFT``, after which its low bits are that integer. Sources:
Cody, Waite, "Software Manual for the Elementary Functions", 1980, chapters 5, 6 and 13; Tang, "Table-driven
implementation of the logarithm function", TOMS 16(4), 1990, for s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

SHIFT = 1.5 * 2**52
SHIFT_BITS = 0x4338000000000000
UNIT_BITS = 0x4330000000000000
"""The bits of 2^52: with them, a small integer is the lowest bits of itself added to it."""

PER_LOG_2 = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.6931471805598903, 5.497923018708371e-14
"""The logarithm of 2 as a sum; integers of eleven bits times the first part are exact."""

SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
MANTISSA_BITS = 0x000FFFFFFFFFFFFF
TO_SQRT_HALF = 0x00095F619980C433
"""Added to the bits of a number, so that its exponent changes at sqrt(1/2) 2^n instead of at 2^n."""

LEAST_NORMAL = 2.2250738585072014e-308

_EXPONENTIAL = (
    0.5000000000000011, 0.16666666666666413, 0.04166666666653016, 0.00833333333349446, 0.0013888888943628865,
    0.000198412695065788, 2.4801493100063875e-05, 2.7557586375574562e-06, 2.763024800263849e-07,
    2.5000060618755118e-08,
)  # fmt: skip
"""(exp(r) - 1 - r) / r² as the polynomial of least relative error for |r| <= log(2) / 2 (Remez)."""

_LOGARITHM = (
    0.6666666666666734, 0.3999999999941419, 0.28571428742519744, 0.22222198557635, 0.18183565225891185,
    0.1531402539542151, 0.14796221248295913,
)  # fmt: skip
"""(log((1 + s) / (1 - s)) / s - 2) / s² as a polynomial in s², for |s| <= 3 - 2 sqrt(2)."""


def _horner(variable: str, coefficients: Sequence[float]) -> str:
    """Return a polynomial as an expression of C and of Python, the coefficients from the lowest power.

    >>> _horner("r", (1.0, 0.5, 0.25))
    '((0.25 * r + 0.5) * r + 1.0)'
    """
    *lower, highest = coefficients
    return reduce(lambda text, each: f"({text} * {variable} + {each!r})", reversed(lower), repr(highest))


EXPONENTIAL = _horner("r", _EXPONENTIAL)
LOGARITHM = _horner("z", _LOGARITHM)
