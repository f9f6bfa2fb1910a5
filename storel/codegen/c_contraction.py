"""A matrix product of blocks that are packed straight from tensors, as C.

Rows, columns and summands are numbered, and addresses are sums of two offsets: that of a row and of a summand
in the left operand, and so on. So dimensions may be in any order, and nothing is transposed first (GETT; the
offsets are the "scatter vectors" of Matthews, "High-performance tensor contraction without transposition",
SISC 40(1), 2018). Around the kernel, which keeps a tile of the result in registers, the blocks are those of
Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 34(3), 2008.
"""

from __future__ import annotations

from storel.codegen.c_helpers import C_TYPES
from storel.loops.blocks import BLOCK_COLUMNS, BLOCK_ROWS, DEPTH, TILE_ROWS, TILE_VECTORS
from storel.scalars import ScalarType


def render(scalar_type: ScalarType) -> str:
    """Return the C source of ``storel_contract`` for values of a real type.

    Its slots are the addresses of both operands and of the result; those of the offsets of rows and summands
    in the left operand, of summands and columns in the right one, of rows and columns in the result, and of
    room for two packed blocks; then the numbers of rows, columns and summands, a factor (a double), and
    whether the product is added to what the result holds.
    """
    widths = range(1, TILE_VECTORS + 1)
    many, few = ("\n".join(_tile(rows, width) for width in widths) for rows in (TILE_ROWS, TILE_ROWS // 2))
    return _filled(
        _TEMPLATE,
        {
            "type": C_TYPES[scalar_type],
            "lane": f"int{8 * scalar_type.itemsize}_t",
            "many_rows": str(TILE_ROWS),
            "few_rows": str(TILE_ROWS // 2),
            "tile_vectors": str(TILE_VECTORS),
            "depth": str(DEPTH),
            "block_rows": str(TILE_ROWS * BLOCK_ROWS),
            "block_columns": str(BLOCK_COLUMNS),
            "many": many,
            "few": few,
            "tile_names": ", ".join(f"multiply_{width}" for width in widths),
        },
    )


def _tile(rows: int, width: int) -> str:
    """Return the function that computes a tile of so many rows, of ``width`` vectors each."""
    vectors = range(width)
    names = [[f"c{row}_{vector}" for vector in vectors] for row in range(rows)]
    sums = [f"    V {', '.join(f'{name} = {{0}}' for name in row)};" for row in names]
    loads = [f"        V b{vector} = ((const V *)right)[{vector}]; HOLD(b{vector});" for vector in vectors]
    return _filled(
        _TILE,
        {
            "width": str(width),
            "sums": "\n".join(sums),
            "fetches": _lines(
                names, "__builtin_prefetch(result + rows[{row}] + columns[{vector} * LANES], 1);"
            ),
            "loads": "\n".join(loads),
            "steps": _lines(names, "{name} += b{vector} * left[{row}];"),
            "puts": _lines(names, "*(V *)(result + rows[{row}] + columns[{vector} * LANES]) = {name};"),
            "adds": _lines(names, "{name} += *(V *)(result + rows[{row}] + columns[{vector} * LANES]);"),
        },
    )


def _filled(template: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def _lines(names: list[list[str]], template: str) -> str:
    """Return a line for each vector of a tile."""
    return "\n".join(
        "        " + template.format(row=row, vector=vector, name=name)
        for row, line in enumerate(names)
        for vector, name in enumerate(line)
    )


_TEMPLATE = """\
#include <stdint.h>

typedef @type@ T;
#if defined(__AVX512F__)
#define LANES (64 / (int)sizeof(T))
#elif defined(__AVX__)
#define LANES (32 / (int)sizeof(T))
#else
#define LANES (16 / (int)sizeof(T))
#endif
typedef T V __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T))));
typedef T H __attribute__((vector_size(LANES / 2 * sizeof(T)), aligned(sizeof(T))));
typedef @lane@ M __attribute__((vector_size(LANES * sizeof(T))));

/* A tile is as large as there are registers for it: 32 or 16. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define ROWS @many_rows@
#else
#define ROWS @few_rows@
#endif
#define MOST @tile_vectors@
#define DEPTH @depth@
#define BLOCK_ROWS @block_rows@
#define BLOCK_COLUMNS (@block_columns@ * MOST * LANES)

/* Compilers would read a vector again for each row, and so more than the processor can in a step. */
#if defined(__x86_64__)
#define HOLD(vector) __asm__("" : "+v"(vector))
#else
#define HOLD(vector)
#endif

typedef const int64_t *restrict Offsets;

static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }

static inline int are_consecutive(Offsets offsets) { return offsets[LANES - 1] - offsets[0] == LANES - 1; }

static inline int are_vectors(Offsets offsets, int64_t count)
{
    if (count % LANES != 0) return 0;
    for (int64_t n = 0; n < count; n += LANES)
        if (!are_consecutive(offsets + n)) return 0;
    return 1;
}

/* The vectors of the next tile of so many columns: the most, unless that leaves a single one. */
static inline int64_t vectors_of(int64_t columns)
{
    const int64_t vectors = (columns + LANES - 1) / LANES;
    return vectors == MOST + 1 ? (vectors + 1) / 2 : least(MOST, vectors);
}

/* How many columns from each one on lie next to each other in the result. */
static void find_runs(Offsets columns, int64_t count, int64_t *restrict runs)
{
    for (int64_t n = count - 1, run = 1; n >= 0; --n, ++run) {
        runs[n] = run;
        if (n > 0 && columns[n] - columns[n - 1] != 1) run = 0;
    }
}

/* Copy a run by vectors, the last of which may repeat some of the one before; calls of memcpy are slower. */
static inline void copy(const T *restrict from, T *restrict to, int64_t count)
{
    if (count >= LANES) {
        for (int64_t n = 0; n < count - LANES; n += LANES) {
            *(V *)(to + n) = *(const V *)(from + n);
            __asm__("" ::: "memory");
        }
        *(V *)(to + count - LANES) = *(const V *)(from + count - LANES);
    } else if (count >= LANES / 2) {
        *(H *)to = *(const H *)from;
        *(H *)(to + count - LANES / 2) = *(const H *)(from + count - LANES / 2);
    } else
        for (int64_t n = 0; n < count; ++n) {
            to[n] = from[n];
            __asm__("" ::: "memory");
        }
}

/* Bring what there is of a tile, which is complete and by itself, to its place. */
static __attribute__((noinline)) void put(const T *restrict tile, T *restrict result, Offsets rows,
    Offsets columns, const int64_t *restrict runs, int64_t row_count, int64_t column_count, int adds)
{
    for (int64_t m = 0; m < row_count; ++m, tile += MOST * LANES)
        for (int64_t n = 0; n < column_count; n += runs[n]) {
            T *to = result + rows[m] + columns[n];
            if (adds)
                for (int64_t k = 0; k < runs[n]; ++k) to[k] += tile[n + k];
            else
                copy(tile + n, to, runs[n]);
        }
}

#if ROWS == @many_rows@
@many@
#else
@few@
#endif
typedef __typeof__(multiply_1) Multiply;
static Multiply *const TILES[] = {@tile_names@};

/* Make rows columns: at each step, swap blocks of twice the size. */
static inline __attribute__((always_inline)) void transpose(V *rows)
{
#if defined(__has_builtin) && __has_builtin(__builtin_shuffle)
    M lanes;
    for (int64_t n = 0; n < LANES; ++n) lanes[n] = n;
#pragma GCC unroll 4
    for (@lane@ size = 1; size < LANES; size *= 2) {
        const M low = lanes + (((lanes & size) != 0) & (LANES - size)), high = low + size;
#pragma GCC unroll 16
        for (int64_t m = 0; m < LANES; ++m) {
            if (m & size) continue;
            const V one = rows[m], other = rows[m + size];
            rows[m] = __builtin_shuffle(one, other, low);
            rows[m + size] = __builtin_shuffle(one, other, high);
        }
    }
#else
    V made[LANES];
    for (int64_t m = 0; m < LANES; ++m)
        for (int64_t n = 0; n < LANES; ++n) made[n][m] = rows[m][n];
    for (int64_t m = 0; m < LANES; ++m) rows[m] = made[m];
#endif
}

/* Pack as many lines as a vector has lanes, whose elements follow each other. */
static __attribute__((noinline)) void turn(const T *restrict from, Offsets lines, Offsets along,
    int64_t depth, int64_t width, T factor, T *restrict packed)
{
    for (int64_t k = 0; k < depth; k += LANES) {
        V rows[LANES];
#pragma GCC unroll 16
        for (int64_t m = 0; m < LANES; ++m) rows[m] = *(const V *)(from + along[k] + lines[m]) * factor;
        transpose(rows);
#pragma GCC unroll 16
        for (int64_t m = 0; m < LANES; ++m, packed += width) *(V *)packed = rows[m];
    }
}

/* Pack lines in panels of so many; where too few are left, there are zeros. */
static __attribute__((noinline)) void pack(const T *restrict from, Offsets lines, Offsets along,
    int64_t count, int64_t depth, int64_t width, T factor, T *restrict packed)
{
    const int64_t whole = width % LANES == 0 ? depth / LANES * LANES : 0;
    const int64_t deep = are_vectors(along, whole) ? whole : 0;
    for (; count > 0; count -= width, lines += width) {
        const int64_t used = least(count, width);
        int64_t k = 0;
        if (used == width && are_vectors(lines, width))
            for (; k < depth; ++k, packed += width)
                for (int64_t n = 0; n < width; n += LANES)
                    *(V *)(packed + n) = *(const V *)(from + along[k] + lines[n]) * factor;
        else if (used == width && deep > 0) {
            for (int64_t n = 0; n < width; n += LANES)
                turn(from, lines + n, along, deep, width, factor, packed + n);
            k = deep;
            packed += deep * width;
        }
        for (; k < depth; ++k) {
            for (int64_t n = 0; n < used; ++n) {
                *packed++ = from[along[k] + lines[n]] * factor;
                __asm__("" ::: "memory"); /* gathers are slower */
            }
            for (int64_t n = used; n < width; ++n) *packed++ = 0;
        }
    }
}

static void pack_columns(const T *restrict from, Offsets lines, Offsets along, int64_t count, int64_t depth,
    T factor, T *restrict packed)
{
    while (count > 0) {
        const int64_t width = vectors_of(count) * LANES, used = least(count, width);
        pack(from, lines, along, used, depth, width, factor, packed);
        packed += depth * width;
        lines += used;
        count -= used;
    }
}

int64_t storel_contract(const int64_t *slots, int64_t *detail)
{
    const T *left = (const T *)slots[0], *right = (const T *)slots[1];
    T *result = (T *)slots[2];
    Offsets left_rows = (Offsets)slots[3], left_depth = (Offsets)slots[4];
    Offsets right_depth = (Offsets)slots[5], right_columns = (Offsets)slots[6];
    Offsets result_rows = (Offsets)slots[7], result_columns = (Offsets)slots[8];
    T *packed_left = (T *)slots[9], *packed_right = (T *)slots[10];
    const int64_t rows = slots[11], columns = slots[12], depth = slots[13];
    const T factor = (T)*(const double *)(slots + 14);
    const int continues = slots[15] != 0;
    int64_t tile_rows[ROWS], tile_columns[MOST * LANES], runs[MOST * LANES];
    for (int64_t m = 0; m < ROWS; ++m) tile_rows[m] = m * MOST * LANES;
    for (int64_t n = 0; n < MOST * LANES; ++n) tile_columns[n] = n;
    for (int64_t n = 0; n < columns; n += BLOCK_COLUMNS) {
        const int64_t width = least(BLOCK_COLUMNS, columns - n);
        for (int64_t k = 0; k < depth; k += DEPTH) {
            const int64_t deep = least(DEPTH, depth - k);
            const int adds = continues || k > 0;
            pack_columns(right, right_columns + n, right_depth + k, width, deep, factor, packed_right);
            for (int64_t m = 0; m < rows; m += BLOCK_ROWS) {
                const int64_t high = least(BLOCK_ROWS, rows - m);
                pack(left, left_rows + m, left_depth + k, high, deep, ROWS, 1, packed_left);
                const T *columns_packed = packed_right;
                for (int64_t j = 0; j < width;) {
                    Offsets places = result_columns + n + j;
                    const int64_t vectors = vectors_of(width - j), used = least(width - j, vectors * LANES);
                    Multiply *const multiply = TILES[vectors - 1];
                    const int is_whole = used == vectors * LANES && are_vectors(places, used);
                    find_runs(places, used, runs);
                    for (int64_t i = 0; i < high; i += ROWS) {
                        Offsets lines = result_rows + m + i;
                        const T *rows_packed = packed_left + i * deep;
                        if (is_whole && high - i >= ROWS) {
                            multiply(deep, rows_packed, columns_packed, result, lines, places, adds);
                            continue;
                        }
                        T tile[ROWS * MOST * LANES];
                        multiply(deep, rows_packed, columns_packed, tile, tile_rows, tile_columns, 0);
                        put(tile, result, lines, places, runs, least(ROWS, high - i), used, adds);
                    }
                    columns_packed += deep * vectors * LANES;
                    j += used;
                }
            }
        }
    }
    return 0;
}
"""

_TILE = """\
/* The tile's place is asked for first: until the sums are complete it has come. */
static __attribute__((noinline)) void multiply_@width@(int64_t depth, const T *restrict left,
    const T *restrict right, T *restrict result, Offsets rows, Offsets columns, int adds)
{
@sums@
@fetches@
    for (int64_t k = 0; k < depth; ++k) {
@loads@
@steps@
        left += ROWS;
        right += @width@ * LANES;
    }
    if (adds) {
@adds@
    }
@puts@
}
"""
