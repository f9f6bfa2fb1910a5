"""Python functions for the operators that Python lacks or defines otherwise, to be compiled by Numba.

They follow ``loops/arithmetic.py``, and may return a wider type than their operands have. Numba
specializes them, so one text serves all integers, and one all reals. Elementary functions are our own
(``elementary.py``) unless a kernel is strict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from storel.codegen import numba_functions
from storel.scalars import ScalarType

_INTEGER = {
    "floor_divide": """
        if b == 0:
            return 0
        return -a if b == -1 else a // b
    """,
    "modulo": """
        return 0 if b == 0 or b == -1 else a % b
    """,
    "power": """
        result = uint64(1 if b >= 0 else 0)
        factor = uint64(a)
        while b > 0:
            if b & 1:
                result *= factor
            factor *= factor
            b >>= 1
        return np.int64(result)
    """,
    "shift_left": """
        return a << b if 0 <= b < 64 else 0
    """,
    "shift_right": """
        return a >> (b if 0 <= b < 64 else 63)
    """,
    "sort": """
        pending = np.empty(128, np.int64)  # no recursion: what recurs cannot be loaded from Numba's cache
        depth = 0
        while True:
            while high - low > 32:
                first, middle, last = a[uint64(low)], a[uint64((low + high) >> 1)], a[uint64(high - 1)]
                pivot = max(min(first, middle), min(max(first, middle), last))
                i = low
                j = high - 1
                while i <= j:
                    while a[uint64(i)] < pivot:
                        i += 1
                    while pivot < a[uint64(j)]:
                        j -= 1
                    if i <= j:
                        a[uint64(i)], a[uint64(j)] = a[uint64(j)], a[uint64(i)]
                        i += 1
                        j -= 1
                if j + 1 - low < high - i:
                    pending[depth], pending[depth + 1] = i, high
                    high = j + 1
                else:
                    pending[depth], pending[depth + 1] = low, j + 1
                    low = i
                depth += 2
            for i in range(low + 1, high):
                value = a[uint64(i)]
                j = i
                while j > low and a[uint64(j - 1)] > value:
                    a[uint64(j)] = a[uint64(j - 1)]
                    j -= 1
                a[uint64(j)] = value
            if depth == 0:
                return
            depth -= 2
            low, high = pending[depth], pending[depth + 1]
    """,
    "trailing_zeros": """
        undefined = Constant(IntType(1), 1)
        return a(a), lambda context, builder, signature, values: builder.cttz(values[0], undefined)
    """,
    "popcount": """
        def count(context, builder, signature, values):
            ones = builder.ctpop(builder.sext(values[0], IntType(64)))
            return builder.trunc(ones, values[0].type)
        return a(a), count
    """,
}

# The algorithm of CPython's and NumPy's float division, which keeps quotient and remainder consistent.
_REAL = {
    "floor_divide": """
        if b == 0:
            return np.float64(a) / b
        remainder = np.fmod(np.float64(a), np.float64(b))
        quotient = (a - remainder) / b
        if remainder != 0 and (b < 0) != (remainder < 0):
            quotient -= 1
        whole = np.floor(quotient)
        return whole + 1 if quotient - whole > 0.5 else whole
    """,
    "modulo": """
        remainder = np.fmod(np.float64(a), np.float64(b))
        if remainder == 0:
            return math.copysign(0.0, np.float64(b))
        return remainder + b if (b < 0) != (remainder < 0) else remainder
    """,
    "power": """
        return math.pow(np.float64(a), np.float64(b))
    """,
    "sigmoid": """
        return 1 / (1 + exp_real(-a))
    """,
}

# The library takes ten times as long, but rounds once.
_FREELY_ROUNDED = {
    "power": """
        if b == 3:
            return a * a * a
        if b == 4:
            return (a * a) * (a * a)
    """
    + _REAL["power"],
}

_OF_LIBRARY = {
    "exp": """
        return np.exp(a)
    """,
    "log": """
        return np.log(a)
    """,
    "tanh": """
        return np.tanh(a)
    """,
}

# NaN goes through: whichever operand is NaN is the result.
_COMMON = {
    "minimum": """
        return a if a != a or a <= b else b
    """,
    "maximum": """
        return a if a != a or a >= b else b
    """,
    "lesser": """
        return b if b < a else a
    """,
    "larger": """
        return b if b > a else a
    """,
    "sign": """
        return a if a != a else (a > 0) - (a < 0)
    """,
    "relu": """
        return a if a != a or a > 0 else 0
    """,
    "select": """
        return a if condition else b
    """,
}

HELPED = frozenset({*_INTEGER, *_REAL, *_COMMON, *_OF_LIBRARY})
_INTRINSICS = frozenset({"trailing_zeros", "popcount"})
_PARAMETERS = {
    "sort": "a, low, high", "trailing_zeros": "typing, a", "popcount": "typing, a", "sign": "a", "relu": "a",
    "sigmoid": "a", "exp": "a", "log": "a", "tanh": "a", "select": "condition, a, b",
}  # fmt: skip

PRELUDE = '''\
import math
from functools import partial

import numpy as np
from llvmlite.ir import Constant, IntType
from numba import carray, cfunc, njit, types, uint64
from numba.extending import intrinsic

# Only compiled code calls these: wrappers for other callers take a fifth of the time to compile.
inner = partial(njit, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@intrinsic
def place(typing, slots, number):
    """The address of a slot."""

    def generate(context, builder, signature, values):
        return builder.gep(values[0], [builder.mul(values[1], Constant(IntType(64), 8))])

    return types.voidptr(slots, types.int64), generate


@intrinsic
def pointee(typing, slots, number):
    """The address in a slot."""

    def generate(context, builder, signature, values):
        slot = builder.gep(values[0], [builder.mul(values[1], Constant(IntType(64), 8))])
        return builder.load(builder.bitcast(slot, IntType(8).as_pointer().as_pointer()))

    return types.voidptr(slots, types.int64), generate
'''


def name(operator: str, of: ScalarType) -> str:
    """Return the name of the helper for an operator on operands of type ``of``.

    >>> name("modulo", ScalarType.INT32), name("modulo", ScalarType.FLOAT64)
    ('modulo', 'modulo_real')
    """
    return f"{operator}_real" if of.is_real and operator in {*_REAL, *_OF_LIBRARY} else operator


def texts(helpers: Iterable[tuple[str, ScalarType]], *, is_strict: bool) -> list[str]:
    """Return the functions that compute these operators of ``HELPED``, those first that others call.

    If it ``is_strict``, elementary functions are those of the C library, as in the interpreters.
    """
    ordered = sorted(helpers, key=lambda helper: name(*helper))
    return list(dict.fromkeys(text for helper in ordered for text in _texts(*helper, is_strict)))


def _texts(operator: str, of: ScalarType, is_strict: bool) -> Iterator[str]:
    """Yield the functions for one operator, itself the last."""
    if operator == "sigmoid":
        yield from _texts("exp", of, is_strict)
    if operator in _OF_LIBRARY and not is_strict:
        yield from (text.rstrip() for text in numba_functions.TEXTS[operator])
        return
    bodies = {**_COMMON, **_OF_LIBRARY, **(_REAL if of.is_real else _INTEGER)}
    if of.is_real and not is_strict:
        bodies |= _FREELY_ROUNDED
    body = bodies[operator]
    decorator = "@intrinsic" if operator in _INTRINSICS else "@inner()"
    header = f"def {name(operator, of)}({_PARAMETERS.get(operator, 'a, b')}):"
    lines = body.strip("\n").rstrip().splitlines()
    yield "\n".join([decorator, header, *(line[4:] for line in lines)])
