"""C functions on vectors of as many numbers as there are lanes: neighbours, or what is found at some places.

some      the first ``count`` neighbours, zeros behind them
lookup_P  the elements at the first ``count`` places, zeros behind them
first     what is left of values if all but the first ``count`` are zeros
total     the sum of all lanes

There are eight lanes where the compiler is told that lookups are quick (``QUICK_GATHERS``) and reads may be
masked. Else there are four, the ``count`` of reads does not matter, and all four must exist. ``NATIVE`` and
``PLACE`` are the compiler's names for ``T`` and for the type ``P`` of places, ``LOAD`` and ``GATHER`` those
of its functions: the header that has their usual names takes as long to compile as a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from storel.scalars import ScalarType

WIDE, NARROW = 8, 4
"""How many lanes there are where lookups are quick, and elsewhere."""

_LANES = """\
#if defined(QUICK_GATHERS) && defined(__AVX512VL__) && !defined(__clang__)
#define LANES 8
static inline uint8_t mask(int64_t count) {
    return count < LANES ? (1 << count) - 1 : 255;
}
#else
#define LANES 4
#endif
"""

_SOME = """\
typedef T lanes_N __attribute__((vector_size(LANES * sizeof(T))));
typedef intW_t marks_N __attribute__((vector_size(LANES * sizeof(T))));
static inline lanes_N some_N(const T *first, int64_t count) {
#if LANES == 8
    typedef NATIVE native __attribute__((vector_size(sizeof(lanes_N))));
    return (lanes_N)__builtin_ia32_LOAD_mask((const NATIVE *)first, (native){0}, mask(count));
#else
    lanes_N values;
    __builtin_memcpy(&values, first, sizeof values);
    return values;
#endif
}
"""

# Zeros to begin with, so that no lookup waits for what was in its register before.
_LOOKUP = """\
static inline lanes_N lookup_P_N(const T *table, const P_t *places, int64_t count) {
#if LANES == 8
    typedef NATIVE native __attribute__((vector_size(sizeof(lanes_N))));
    typedef PLACE indices __attribute__((vector_size(sizeof(lanes_P))));
    const indices at = (indices)some_P(places, count);
    return (lanes_N)__builtin_ia32_GATHER((native){0}, table, at, mask(count), sizeof(T));
#else
    return (lanes_N){table[places[0]], table[places[1]], table[places[2]], table[places[3]]};
#endif
}
"""

_FIRST = """\
static inline lanes_N first_N(lanes_N values, int64_t count) {
    const intW_t end = count < LANES ? count : LANES;
#if LANES == 8
    const marks_N lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const marks_N lane = {0, 1, 2, 3};
#endif
    return (lanes_N)((marks_N)values & (lane < end));
}
"""

_TOTAL = """\
static inline T total_N(lanes_N lanes) {
#if LANES == 8
    typedef T four __attribute__((vector_size(4 * sizeof(T))));
    const union { lanes_N all; four halves[2]; } both = {lanes};
    const four sums = both.halves[0] + both.halves[1];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
#else
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
#endif
}
"""

_NATIVE = {
    ScalarType.FLOAT64: "double",
    ScalarType.FLOAT32: "float",
    ScalarType.INT64: "long long",
    ScalarType.INT32: "int",
}

_LOADS = {
    ScalarType.FLOAT64: "loadupd512",
    ScalarType.FLOAT32: "loadups256",
    ScalarType.INT64: "loaddqudi512",
    ScalarType.INT32: "loaddqusi256",
}

_GATHERS = {
    (ScalarType.FLOAT64, ScalarType.INT32): "gathersiv8df",
    (ScalarType.FLOAT64, ScalarType.INT64): "gatherdiv8df",
    (ScalarType.FLOAT32, ScalarType.INT32): "gather3siv8sf",
    (ScalarType.FLOAT32, ScalarType.INT64): "gatherdiv16sf",
    (ScalarType.INT64, ScalarType.INT32): "gathersiv8di",
    (ScalarType.INT64, ScalarType.INT64): "gatherdiv8di",
    (ScalarType.INT32, ScalarType.INT32): "gather3siv8si",
    (ScalarType.INT32, ScalarType.INT64): "gatherdiv16si",
}

_PLACES = {f"lookup_{of.value}": of for of in (ScalarType.INT32, ScalarType.INT64)}

OPERATORS = frozenset({"some", "first", "total", *_PLACES})


def templates(operator: str, of: ScalarType) -> Iterator[tuple[str, ScalarType]]:
    """Yield the texts of the function for an operator, those first that it needs, and the type of each."""
    yield _LANES, of
    yield _some(of), of
    match operator:
        case "first":
            yield _FIRST, of
        case "total":
            yield _TOTAL, of
        case _ if operator in _PLACES:
            places = _PLACES[operator]
            yield _some(places), places
            yield _lookup(of, places), of
        case _:
            pass


def _some(of: ScalarType) -> str:
    return _SOME.replace("NATIVE", _NATIVE[of]).replace("LOAD", _LOADS[of])


def _lookup(of: ScalarType, places: ScalarType) -> str:
    names = {"NATIVE": _NATIVE[of], "PLACE": _NATIVE[places], "GATHER": _GATHERS[of, places]}
    template = _LOOKUP.replace("_P", f"_{places.value}").replace("P_t", f"{places.value}_t")
    for word, name in names.items():
        template = template.replace(word, name)
    return template
