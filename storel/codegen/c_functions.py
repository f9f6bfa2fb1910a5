"""The elementary functions (``elementary.py``) of doubles in C; what several of them call comes first."""

from __future__ import annotations

from storel.codegen import elementary

_CONSTANTS = vars(elementary)

_SHARED = """\
static inline double scaled(double a, int64_t exponent) {
    union { uint64_t bits; double value; } power = {((uint64_t)exponent + 1023) << 52};
    return a * power.value;
}

static inline double reduced(double a, int64_t *exponent) {
    union { double value; int64_t bits; } shifted = {a * %(PER_LOG_2)r + %(SHIFT)r};
    double n = shifted.value - %(SHIFT)r;
    *exponent = shifted.bits - %(SHIFT_BITS)#x;
    return a - n * %(LOG_2_HIGH)r - n * %(LOG_2_LOW)r;
}

static inline double exp_less_one(double r) {
    return r + r * r * %(EXPONENTIAL)s;
}
"""

_EXP = """\
static inline double exp_float64(double a) {
    double within = a < -746 ? -746 : a > 710 ? 710 : a;
    int64_t n;
    double r = reduced(within, &n);
    return scaled(scaled(1 + exp_less_one(r), n >> 1), n - (n >> 1));
}
"""

_TANH = """\
static inline double tanh_float64(double a) {
    double size = __builtin_fabs(a), within = size > 20 ? 20 : size;
    int64_t n;
    double r = reduced(2 * within, &n), power = scaled(1, n);
    double e = power * exp_less_one(r) + (power - 1);
    return __builtin_copysign(e / (e + 2), a);
}
"""

_LOG = """\
static inline double log_float64(double a) {
    const _Bool is_subnormal = a < %(LEAST_NORMAL)r;
    union { double value; uint64_t bits; } normal = {is_subnormal ? a * 0x1p54 : a}, mantissa, exponent;
    uint64_t bits = normal.bits + %(TO_SQRT_HALF)#x;
    mantissa.bits = (bits & %(MANTISSA_BITS)#x) + %(SQRT_HALF_BITS)#x;
    exponent.bits = (bits >> 52) | %(UNIT_BITS)#x;
    double n = exponent.value - (0x1p52 + 1023) - (is_subnormal ? 54 : 0);
    double f = mantissa.value - 1, s = f / (2 + f), z = s * s, half = 0.5 * f * f;
    double low = s * (half + z * %(LOGARITHM)s) + n * %(LOG_2_LOW)r;
    double found = n * %(LOG_2_HIGH)r - (half - low - f);
    found = a < __builtin_inf() ? found : a;
    found = a == 0 ? -__builtin_inf() : found;
    return a < 0 ? __builtin_nan("") : found;
}
"""

TEXTS = {
    "exp": (_SHARED % _CONSTANTS, _EXP),
    "tanh": (_SHARED % _CONSTANTS, _TANH),
    "log": (_LOG % _CONSTANTS,),
}
"""The texts that each function consists of, itself the last."""
