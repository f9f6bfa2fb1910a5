"""What each operator of the loop IR computes, on Python numbers.

Integers wrap around as two's complement does, float32 results are rounded once, reals follow
IEEE 754 (1 / 0 is inf). Where C leaves a result open, NumPy decides: integers divided by zero
give 0, floor division and remainder are Python's, a shift by at least the width gives 0 or the
sign; an integer to a negative power is 0. A real that no integer can hold becomes the least integer.
"""

from __future__ import annotations

import math
import operator as python
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from storel.loops.types import PREDICATES
from storel.scalars import ScalarType
from storel.semiring import OPERATIONS, Scalar

_FLOAT32 = struct.Struct("f")


def fit_int32(value: int) -> int:
    """Return ``value`` modulo 2^32, as a signed number."""
    if -0x80000000 <= value < 0x80000000:
        return value
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def fit_int64(value: int) -> int:
    """Return ``value`` modulo 2^64, as a signed number."""
    if -0x8000000000000000 <= value < 0x8000000000000000:
        return value
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def fit_float32(value: float) -> float:
    """Return the float32 nearest to ``value``."""
    try:
        rounded: float = _FLOAT32.unpack(_FLOAT32.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


FIT: dict[ScalarType, Callable[[Any], Scalar]] = {
    ScalarType.BOOL: bool,
    ScalarType.INT32: fit_int32,
    ScalarType.INT64: fit_int64,
    ScalarType.FLOAT32: fit_float32,
    ScalarType.FLOAT64: float,
}


def divide(a: float, b: float) -> float:
    """Return a / b as IEEE 754 defines it."""
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


def floor_divide(a: Scalar, b: Scalar) -> Scalar:
    """Return ⌊a / b⌋; by zero: 0 of integers, a / b of reals."""
    if b != 0:
        return a // b
    return divide(a, b) if isinstance(b, float) else 0


def modulo(a: Scalar, b: Scalar) -> Scalar:
    """Return a - b⌊a / b⌋; by zero: 0 of integers, NaN of reals."""
    if b != 0:
        return a % b
    return math.nan if isinstance(b, float) else 0


def power(a: Scalar, b: Scalar) -> Scalar:
    """Return a to the power b; of integers modulo 2^64."""
    if not isinstance(a, float):
        return pow(int(a), int(b), 1 << 64) if b >= 0 else 0
    try:
        return math.pow(a, b)
    except (OverflowError, ValueError):  # too large, a pole, or a root of a negative number
        if a < 0 and b != math.floor(b):
            return math.nan
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def shift_left(a: int, b: int) -> int:
    """Return a · 2^b, 0 when b is not below 64."""
    return a << b if 0 <= b < 64 else 0


def shift_right(a: int, b: int) -> int:
    """Return ⌊a / 2^b⌋, the sign when b is not below 64."""
    return a >> (b if 0 <= b < 64 else 63)


def sign(a: Scalar) -> Scalar:
    """Return -1, 0 or 1; NaN of NaN."""
    return a if a != a else type(a)((a > 0) - (a < 0))


def relu(a: Scalar) -> Scalar:
    """Return the larger of a and 0, NaN of NaN."""
    return a if a != a or a > 0 else type(a)(0)


def popcount(a: int) -> int:
    """Return the number of one bits among 64, which the sign fills."""
    return (a & (1 << 64) - 1).bit_count()


def trailing_zeros(a: int) -> int:
    """Return the number of zero bits below the lowest one bit; there must be one."""
    if a == 0:
        raise ValueError("trailing_zeros(0) is undefined")
    return (a & -a).bit_length() - 1


def _whole(round_real: Callable[[float], int]) -> Callable[[float], float]:
    return lambda a: math.copysign(round_real(a), a) if math.isfinite(a) else a


def _real(function: Callable[[np.float64], Any]) -> Callable[[float], float]:
    quiet = np.errstate(all="ignore")(function)
    return lambda a: float(quiet(np.float64(a)))


BINARY: dict[str, Callable[[Any, Any], Scalar]] = {
    "add": python.add, "subtract": python.sub, "multiply": python.mul, "divide": divide,
    "floor_divide": floor_divide, "modulo": modulo, "power": power,
    "minimum": OPERATIONS["minimum"], "maximum": OPERATIONS["maximum"],
    "lesser": OPERATIONS["minimum"], "larger": OPERATIONS["maximum"],
    "equal": python.eq, "not_equal": python.ne, "less": python.lt, "less_equal": python.le,
    "greater": python.gt, "greater_equal": python.ge,
    "and": OPERATIONS["and"], "or": OPERATIONS["or"],
    "bit_and": python.and_, "bit_or": python.or_, "bit_xor": python.xor,
    "shift_left": shift_left, "shift_right": shift_right,
}  # fmt: skip

UNARY: dict[str, Callable[[Any], Scalar]] = {
    "negate": python.neg, "not": python.not_, "abs": abs, "relu": relu, "sign": sign,
    "exp": _real(np.exp), "log": _real(np.log), "sqrt": _real(np.sqrt), "tanh": _real(np.tanh),
    "sin": _real(np.sin), "cos": _real(np.cos), "sigmoid": _real(lambda a: 1 / (1 + np.exp(-a))),
    "floor": _whole(math.floor), "ceil": _whole(math.ceil), "is_nan": math.isnan,
    "popcount": popcount, "trailing_zeros": trailing_zeros,
}  # fmt: skip


def binary(operator: str, of: ScalarType, a: Scalar, b: Scalar) -> Scalar:
    """Return ``a operator b`` for operands of type ``of``.

    >>> binary("add", ScalarType.INT32, 2147483647, 1)
    -2147483648
    """
    value = BINARY[operator](a, b)
    return value if operator in PREDICATES else FIT[of](value)


def unary(operator: str, of: ScalarType, a: Scalar) -> Scalar:
    """Return ``operator a`` for an operand of type ``of``."""
    value = UNARY[operator](a)
    return value if operator in PREDICATES else FIT[of](value)


def cast(to: ScalarType, value: Scalar) -> Scalar:
    """Return ``value`` as a number of type ``to``, as NumPy's ``astype`` does.

    >>> cast(ScalarType.INT64, -2.5)
    -2
    """
    if to.is_integer:
        bits = 8 * to.itemsize
        if isinstance(value, float):
            least = -(2.0 ** (bits - 1))
            return int(value) if least <= value < -least else int(least)
        return FIT[to](int(value))
    if to is ScalarType.FLOAT32 and not isinstance(value, float):
        return float(np.int64(value).astype(np.float32))  # one rounding, not two
    return bool(value) if to is ScalarType.BOOL else FIT[to](float(value))
