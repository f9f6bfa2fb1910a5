"""C functions for the operators that C lacks or defines otherwise, one per operator and type.

``T`` stands for the C type, ``W`` for its width in bits, also in ``intW_t``, ``_N`` for the name of the type,
``F`` for what ends the name of a library function of the type. They follow ``loops/arithmetic.py``; ``eight``
reads up to as many neighbours, ``gather`` reads at eight places, ``any`` says whether one of the first
``count`` bits is set. Elementary functions are our own (``elementary.py``) unless a kernel is strict; what
works on lanes is in ``c_lane_functions.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from storel.codegen import c_functions, c_lane_functions
from storel.scalars import ScalarType

C_TYPES = {
    ScalarType.BOOL: "_Bool",
    ScalarType.INT32: "int32_t",
    ScalarType.INT64: "int64_t",
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
}

# NaN goes through: whichever operand is NaN is the result. The first choice is a single instruction; it is a
# where that is NaN.
_ORDER = """\
static inline T {operator}_N(T a, T b) {{
    T chosen = b {comparison} a ? b : a;
    return b != b ? b : chosen;
}}
"""

# OpenMP has minima and maxima of its own, which are not NaN where one operand is.
_ORDER_AS_REDUCTION = """\
#pragma omp declare reduction({operator}_N : T : omp_out = {operator}_N(omp_out, omp_in)) \\
    initializer(omp_priv = {unit})
"""

_ORDER_OF_NUMBERS = """\
static inline T {operator}_N(T a, T b) {{
    return b {comparison} a ? b : a;
}}
"""

_SIGN = """\
static inline T sign_N(T a) {
    return a != a ? a : (T)((a > 0) - (a < 0));
}
"""

_RELU = """\
static inline T relu_N(T a) {
    return (a != a) | (a > 0) ? a : (T)0;
}
"""

_EIGHT = """\
typedef T vector_N __attribute__((vector_size(8 * sizeof(T))));
static inline vector_N lanes_below_N(int64_t count) {
    const T end = count < 8 ? count : 8;
    const vector_N lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return lane < end;
}
static inline vector_N eight_N(const T *first, int64_t count) {
#if defined(__AVX2__) && !defined(__clang__)
    return __builtin_ia32_maskloadd256((const vector_N *)first, lanes_below_N(count));
#else
    vector_N values = {0};
    for (int64_t n = 0; n < count && n < 8; ++n) values[n] = first[n];
    return values;
#endif
}
"""

# GCC's own functions, since the header that has their usual names takes as long as a kernel.
_GATHER = """\
static inline vector_N gather_N(const T *table, vector_N places) {
#if defined(__AVX2__) && !defined(__clang__)
    return __builtin_ia32_gathersiv8si(places, table, places, (vector_N){0} - 1, sizeof(T));
#else
    return (vector_N){table[places[0]], table[places[1]], table[places[2]], table[places[3]],
                      table[places[4]], table[places[5]], table[places[6]], table[places[7]]};
#endif
}
"""

_ANY = """\
static inline T any_N(vector_N bits, int64_t count) {
    bits &= lanes_below_N(count);
#if defined(__AVX2__) && !defined(__clang__)
    typedef long long quarters __attribute__((vector_size(32)));
    return !__builtin_ia32_ptestz256((quarters)bits, (quarters)bits);
#else
    return bits[0] | bits[1] | bits[2] | bits[3] | bits[4] | bits[5] | bits[6] | bits[7];
#endif
}
"""

_INTEGER = {
    "floor_divide": """\
static inline T floor_divide_N(T a, T b) {
    if (b == 0) return 0;
    if (b == -1) return -a;
    return a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
""",
    "modulo": """\
static inline T modulo_N(T a, T b) {
    if (b == 0 || b == -1) return 0;
    T remainder = a % b;
    return remainder + ((remainder != 0) & ((remainder < 0) != (b < 0)) ? b : 0);
}
""",
    "power": """\
static T power_N(T a, T b) {
    if (b < 0) return 0;
    T result = 1;
    for (; b; b >>= 1, a *= a)
        if (b & 1) result *= a;
    return result;
}
""",
    "abs": """\
static inline T abs_N(T a) {
    return a < 0 ? -a : a;
}
""",
    "shift_left": """\
static inline T shift_left_N(T a, int64_t b) {
    return (uint64_t)b < W ? a << b : 0;
}
""",
    "shift_right": """\
static inline T shift_right_N(T a, int64_t b) {
    return a >> ((uint64_t)b < W ? b : W - 1);
}
""",
    "eight": _EIGHT,
    "gather": _GATHER,
    "any": _ANY,
    "sort": """\
static void sort_N(T *a, int64_t low, int64_t high) {
    while (high - low > 32) {
        T first = a[low], middle = a[low + (high - low) / 2], last = a[high - 1];
        T smaller = first < middle ? first : middle, larger = first < middle ? middle : first;
        T pivot = last < smaller ? smaller : last < larger ? last : larger;
        int64_t i = low, j = high - 1;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (pivot < a[j]) --j;
            if (i <= j) {
                T swapped = a[i];
                a[i++] = a[j];
                a[j--] = swapped;
            }
        }
        if (j + 1 - low < high - i) {
            sort_N(a, low, j + 1);
            low = i;
        } else {
            sort_N(a, i, high);
            high = j + 1;
        }
    }
    for (int64_t i = low + 1; i < high; ++i) {
        T value = a[i];
        int64_t j = i;
        for (; j > low && a[j - 1] > value; --j) a[j] = a[j - 1];
        a[j] = value;
    }
}
""",
}

# The algorithm of CPython's and NumPy's float division, which keeps quotient and remainder consistent.
_POWER = """\
static inline T power_N(T a, T b) {{
{small}\
    if (b == 0.5 && a == -__builtin_inf()) return -a; /* GCC takes the square root, which is NaN */
    return __builtin_powF(a, b);
}}
"""

# The library takes ten times as long, but rounds once.
_SMALL_POWERS = """\
    if (b == 3) return a * a * a;
    if (b == 4) return (a * a) * (a * a);
"""

_REAL = {
    "floor_divide": """\
static inline T floor_divide_N(T a, T b) {
    if (b == 0) return a / b;
    T remainder = __builtin_fmodF(a, b);
    T quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
    T whole = __builtin_floorF(quotient);
    return quotient - whole > (T)0.5 ? whole + 1 : whole;
}
""",
    "modulo": """\
static inline T modulo_N(T a, T b) {
    T remainder = __builtin_fmodF(a, b);
    if (remainder == 0) return __builtin_copysignF(0, b);
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}
""",
    "sigmoid": """\
static inline T sigmoid_N(T a) {
    return 1 / (1 + exp_N(-a));
}
""",
    "power": _POWER.format(small=""),
    "select": """\
static inline T select_N(_Bool condition, T a, T b) {
    union { T value; intW_t bits; } positive = {a}, negative = {b};
    intW_t mask = -(intW_t)condition;
    positive.bits = (positive.bits & mask) | (negative.bits & ~mask);
    return positive.value;
}
""",
}

_FREELY_ROUNDED = {"power": _POWER.format(small=_SMALL_POWERS)}

_OF_LIBRARY = """\
static inline T {operator}_N(T a) {{
    return __builtin_{operator}F(a);
}}
"""

_BY_DOUBLES = """\
static inline T {operator}_N(T a) {{
    return (T){operator}_float64(a);
}}
"""

_TEMPLATES = {
    "minimum": _ORDER.format(operator="minimum", comparison="<"),
    "maximum": _ORDER.format(operator="maximum", comparison=">"),
    "lesser": _ORDER_OF_NUMBERS.format(operator="lesser", comparison="<"),
    "larger": _ORDER_OF_NUMBERS.format(operator="larger", comparison=">"),
    "sign": _SIGN,
    "relu": _RELU,
}

ORDERS: Mapping[str, str] = {
    "minimum": _ORDER_AS_REDUCTION.format(operator="minimum", unit="__builtin_inf()"),
    "maximum": _ORDER_AS_REDUCTION.format(operator="maximum", unit="-__builtin_inf()"),
}
"""What declares an operator on reals as one that combines partial results, under the name of its helper."""

_CALLED = {"sigmoid": "exp", "gather": "eight", "any": "eight"}

HELPED = frozenset({*_TEMPLATES, *_INTEGER, *_REAL, *c_functions.TEXTS, *c_lane_functions.OPERATORS})


def suffix(of: ScalarType) -> str:
    """Return what ends the name of a C library function for this real type."""
    return "f" if of is ScalarType.FLOAT32 else ""


def name(operator: str, of: ScalarType) -> str:
    """Return the name of the helper for an operator.

    >>> name("modulo", ScalarType.INT32)
    'modulo_int32'
    """
    return f"{operator}_{of.value}"


def texts(helpers: Iterable[tuple[str, ScalarType]], *, is_strict: bool) -> list[str]:
    """Return the C functions that compute these operators of ``HELPED``, those first that others call.

    If it ``is_strict``, elementary functions are those of the C library, as in the interpreters.
    """
    ordered = sorted(helpers, key=lambda helper: name(*helper))
    return list(dict.fromkeys(text for helper in ordered for text in _texts(*helper, is_strict)))


def _texts(operator: str, of: ScalarType, is_strict: bool) -> Iterator[str]:
    """Yield the C functions for one operator, itself the last."""
    if operator in _CALLED:
        yield from _texts(_CALLED[operator], of, is_strict)
    if operator in c_lane_functions.OPERATORS:
        for template, kind in c_lane_functions.templates(operator, of):
            yield _filled(template, kind)
    elif operator not in c_functions.TEXTS:
        templates = {**_TEMPLATES, **(_REAL if of.is_real else _INTEGER)}
        if of.is_real and not is_strict:
            templates |= _FREELY_ROUNDED
        yield _filled(templates[operator], of)
        if operator in ORDERS and of.is_real:
            yield _filled(ORDERS[operator], of)
    elif is_strict:
        yield _filled(_OF_LIBRARY.format(operator=operator), of)
    else:
        yield from c_functions.TEXTS[operator]
        if of is not ScalarType.FLOAT64:
            yield _filled(_BY_DOUBLES.format(operator=operator), of)


def _filled(template: str, of: ScalarType) -> str:
    width = str(8 * of.itemsize)
    words = {"T": C_TYPES[of], "W": width}
    template = re.sub(r"_N\b", f"_{of.value}", template)
    template = re.sub(r"\b[TW]\b|(?<=\bint)W(?=_t\b)", lambda word: words[word[0]], template)
    return re.sub(r"(__builtin_[a-z]+)F\(", rf"\1{suffix(of)}(", template)
