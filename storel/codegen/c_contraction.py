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
    room for two packed blocks; then the numbers of rows, columns and summands, and a factor (a double).
    """
    widths = range(1, TILE_VECTORS + 1)
    packs = [f"        case {width}: PACK({width} * LANES); break;" for width in widths]
    return _filled(
        _TEMPLATE,
        {
            "type": C_TYPES[scalar_type],
            "lane": f"int{8 * scalar_type.itemsize}_t",
            "tile_rows": str(TILE_ROWS),
            "tile_vectors": str(TILE_VECTORS),
            "depth": str(DEPTH),
            "block_rows": str(TILE_ROWS * BLOCK_ROWS),
            "block_columns": str(BLOCK_COLUMNS),
            "tiles": "\n".join(map(_tile, widths)),
            "tile_names": ", ".join(f"multiply_{width}" for width in widths),
            "packs": "\n".join(packs),
        },
    )


def _tile(width: int) -> str:
    """Return the function that computes a tile of ``width`` vectors in each row."""
    rows, vectors = range(TILE_ROWS), range(width)
    names = [[f"c{row}_{vector}" for vector in vectors] for row in rows]
    sums = [f"    V {', '.join(f'{name} = {{0}}' for name in row)};" for row in names]
    loads = [f"        const V b{vector} = ((const V *)right)[{vector}];" for vector in vectors]
    return _filled(
        _TILE,
        {
            "width": str(width),
            "sums": "\n".join(sums),
            "loads": "\n".join(loads),
            "steps": _lines(names, "{name} += b{vector} * left[{row}];"),
            "puts": _lines(names, "*(V *)(result + rows[{row}] + columns[{vector} * LANES]) = {name};"),
            "adds": _lines(names, "*(V *)(result + rows[{row}] + columns[{vector} * LANES]) += {name};"),
            "stores": _lines(names, f"((V *)tile)[{{row}} * {width} + {{vector}}] = {{name}};"),
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
#define LANES (64 / (int64_t)sizeof(T))
#elif defined(__AVX__)
#define LANES (32 / (int64_t)sizeof(T))
#else
#define LANES (16 / (int64_t)sizeof(T))
#endif
typedef T V __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T))));
typedef @lane@ M __attribute__((vector_size(LANES * sizeof(T))));

#define ROWS @tile_rows@
#define MOST @tile_vectors@
#define DEPTH @depth@
#define BLOCK_ROWS @block_rows@
#define BLOCK_COLUMNS (@block_columns@ * MOST * LANES)

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

static void put(const T *restrict tile, T *restrict result, Offsets rows, Offsets columns, int64_t row_count,
    int64_t column_count, int64_t width, int adds)
{
    for (int64_t m = 0; m < row_count; ++m, tile += width)
        for (int64_t n = 0; n < column_count; ++n) {
            T *place = result + rows[m] + columns[n];
            *place = adds ? *place + tile[n] : tile[n];
        }
}

@tiles@
static __typeof__(multiply_1) *const TILES[] = {@tile_names@};

/* Make rows columns: at each step, swap blocks of twice the size. */
static __attribute__((noinline)) void transpose(V *rows)
{
#if defined(__has_builtin) && __has_builtin(__builtin_shuffle)
    for (int64_t size = 1; size < LANES; size *= 2)
        for (int64_t m = 0; m < LANES; ++m) {
            if (m & size) continue;
            const V one = rows[m], other = rows[m + size];
            M low, high;
            for (int64_t n = 0; n < LANES; ++n) {
                low[n] = n & size ? LANES + n - size : n;
                high[n] = n & size ? LANES + n : n + size;
            }
            rows[m] = __builtin_shuffle(one, other, low);
            rows[m + size] = __builtin_shuffle(one, other, high);
        }
#else
    V made[LANES];
    for (int64_t m = 0; m < LANES; ++m)
        for (int64_t n = 0; n < LANES; ++n) made[n][m] = rows[m][n];
    for (int64_t m = 0; m < LANES; ++m) rows[m] = made[m];
#endif
}

static inline __attribute__((always_inline)) void pack(const T *restrict from, Offsets lines, Offsets along,
    int64_t count, int64_t depth, const int64_t width, T factor, T *restrict packed)
{
    const int is_deep = width % LANES == 0 && depth >= LANES && are_vectors(along, depth / LANES * LANES);
    for (; count >= width; count -= width, lines += width) {
        int64_t k = 0;
        if (are_vectors(lines, width))
            for (; k < depth; ++k, packed += width)
                for (int64_t n = 0; n < width; n += LANES)
                    *(V *)(packed + n) = *(const V *)(from + along[k] + lines[n]) * factor;
        if (is_deep)
            for (; k + LANES <= depth; k += LANES, packed += LANES * width)
                for (int64_t n = 0; n < width; n += LANES) {
                    V rows[LANES];
                    for (int64_t m = 0; m < LANES; ++m)
                        rows[m] = *(const V *)(from + along[k] + lines[n + m]) * factor;
                    transpose(rows);
                    for (int64_t m = 0; m < LANES; ++m) *(V *)(packed + m * width + n) = rows[m];
                }
        for (; k < depth; ++k, packed += width)
            for (int64_t n = 0; n < width; ++n) {
                packed[n] = from[along[k] + lines[n]] * factor;
                __asm__("" ::: "memory"); /* gathers are slower */
            }
    }
    if (count > 0)
        for (int64_t k = 0; k < depth; ++k)
            for (int64_t n = 0; n < width; ++n)
                *packed++ = n < count ? from[along[k] + lines[n]] * factor : 0;
}

static void pack_columns(const T *restrict from, Offsets lines, Offsets along, int64_t count, int64_t depth,
    T factor, T *restrict packed)
{
    while (count > 0) {
        const int64_t vectors = vectors_of(count), used = least(count, vectors * LANES);
#define PACK(width) pack(from, lines, along, used, depth, width, factor, packed)
        switch (vectors) {
@packs@
        }
        packed += depth * vectors * LANES;
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
    for (int64_t n = 0; n < columns; n += BLOCK_COLUMNS) {
        const int64_t width = least(BLOCK_COLUMNS, columns - n);
        for (int64_t k = 0; k < depth; k += DEPTH) {
            const int64_t deep = least(DEPTH, depth - k);
            pack_columns(right, right_columns + n, right_depth + k, width, deep, factor, packed_right);
            for (int64_t m = 0; m < rows; m += BLOCK_ROWS) {
                const int64_t high = least(BLOCK_ROWS, rows - m);
                pack(left, left_rows + m, left_depth + k, high, deep, ROWS, 1, packed_left);
                const T *columns_packed = packed_right;
                for (int64_t j = 0; j < width;) {
                    Offsets places = result_columns + n + j;
                    const int64_t vectors = vectors_of(width - j), used = least(width - j, vectors * LANES);
                    const int is_whole = used == vectors * LANES && are_vectors(places, used);
                    for (int64_t i = 0; i < high; i += ROWS)
                        TILES[vectors - 1](deep, packed_left + i * deep, columns_packed, result,
                            result_rows + m + i, places, least(ROWS, high - i), used, is_whole, k > 0);
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
static __attribute__((noinline)) void multiply_@width@(int64_t depth, const T *restrict left,
    const T *restrict right, T *restrict result, Offsets rows, Offsets columns, int64_t row_count,
    int64_t column_count, int is_whole, int adds)
{
@sums@
    for (int64_t k = 0; k < depth; ++k) {
@loads@
@steps@
        left += ROWS;
        right += @width@ * LANES;
    }
    if (is_whole && row_count == ROWS && adds) {
@adds@
    } else if (is_whole && row_count == ROWS) {
@puts@
    } else {
        T tile[ROWS * @width@ * LANES];
@stores@
        put(tile, result, rows, columns, row_count, column_count, @width@ * LANES, adds);
    }
}
"""
