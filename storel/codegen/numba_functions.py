"""The elementary functions (``elementary.py``) of doubles for Numba; what several call comes first.

All integers are signed: Numba makes floats of sums of signed and unsigned ones.
"""

from __future__ import annotations

from storel.codegen import elementary

_CONSTANTS = vars(elementary)

_SHARED = """\
@inner(fastmath=False)
def scaled(a, exponent):
    return a * np.int64((exponent + 1023) << 52).view(np.float64)


@inner(fastmath=False)
def reduced(a):
    shifted = np.float64(a * %(PER_LOG_2)r + %(SHIFT)r)
    n = shifted - %(SHIFT)r
    return a - n * %(LOG_2_HIGH)r - n * %(LOG_2_LOW)r, shifted.view(np.int64) - %(SHIFT_BITS)d


@inner(fastmath=False)
def exp_less_one(r):
    return r + r * r * %(EXPONENTIAL)s
"""

_EXP = """\
@inner(fastmath=False)
def exp_real(a):
    within = -746.0 if a < -746.0 else 710.0 if a > 710.0 else np.float64(a)
    r, n = reduced(within)
    return scaled(scaled(1.0 + exp_less_one(r), n >> 1), n - (n >> 1))
"""

_TANH = """\
@inner(fastmath=False)
def tanh_real(a):
    size = abs(np.float64(a))
    within = 20.0 if size > 20.0 else size
    r, n = reduced(2.0 * within)
    power = scaled(1.0, n)
    e = power * exp_less_one(r) + (power - 1.0)
    return math.copysign(e / (e + 2.0), np.float64(a))
"""

_LOG = """\
@inner(fastmath=False)
def log_real(a):
    is_subnormal = a < %(LEAST_NORMAL)r
    normal = np.float64(np.float64(a) * (2.0**54 if is_subnormal else 1.0))
    bits = normal.view(np.int64) + %(TO_SQRT_HALF)d
    mantissa = np.int64((bits & %(MANTISSA_BITS)d) + %(SQRT_HALF_BITS)d).view(np.float64)
    exponent = np.int64((bits >> 52) | %(UNIT_BITS)d).view(np.float64)
    n = exponent - (2.0**52 + 1023.0) - (54.0 if is_subnormal else 0.0)
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    low = s * (half + z * %(LOGARITHM)s) + n * %(LOG_2_LOW)r
    found = n * %(LOG_2_HIGH)r - (half - low - f)
    found = found if a < np.inf else np.float64(a)
    found = -np.inf if a == 0.0 else found
    return np.nan if a < 0.0 else found
"""

TEXTS = {
    "exp": (_SHARED % _CONSTANTS, _EXP),
    "tanh": (_SHARED % _CONSTANTS, _TANH),
    "log": (_LOG % _CONSTANTS,),
}
"""The texts that each function consists of, itself the last."""
