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
    rows, vectors = range(TILE_ROWS), range(TILE_VECTORS)
    names = [[f"c{row}_{vector}" for vector in vectors] for row in rows]
    lines = {
        "sums": [f"    V {', '.join(f'{name} = {{0}}' for name in row)};" for row in names],
        "loads": [f"        const V b{vector} = ((const V *)right)[{vector}];" for vector in vectors],
        "steps": [
            f"        {names[row][vector]} += b{vector} * left[{row}];" for row in rows for vector in vectors
        ],
        "stores": [
            f"    ((V *)tile)[{row * TILE_VECTORS + vector}] = {names[row][vector]};"
            for row in rows
            for vector in vectors
        ],
    }
    text = _TEMPLATE
    for name, made in lines.items():
        text = text.replace(f"@{name}@", "\n".join(made))
    numbers = {
        "type": C_TYPES[scalar_type],
        "tile_rows": TILE_ROWS,
        "tile_vectors": TILE_VECTORS,
        "depth": DEPTH,
        "block_rows": TILE_ROWS * BLOCK_ROWS,
        "block_columns": BLOCK_COLUMNS,
    }
    for name, number in numbers.items():
        text = text.replace(f"@{name}@", str(number))
    return text


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

#define ROWS @tile_rows@
#define COLUMNS (@tile_vectors@ * LANES)
#define DEPTH @depth@
#define BLOCK_ROWS @block_rows@
#define BLOCK_COLUMNS (@block_columns@ * COLUMNS)

static inline int64_t least(int64_t one, int64_t other) { return one < other ? one : other; }

static __attribute__((noinline)) void multiply(
    int64_t depth, const T *restrict left, const T *restrict right, T *restrict tile)
{
@sums@
    for (int64_t k = 0; k < depth; ++k) {
@loads@
@steps@
        left += ROWS;
        right += COLUMNS;
    }
@stores@
}

static void pack(
    const T *restrict from, const int64_t *restrict lines, const int64_t *restrict along, int64_t count,
    int64_t depth, int64_t width, T factor, T *restrict packed)
{
    for (int64_t line = 0; line < count; line += width, lines += width) {
        const int64_t used = least(width, count - line);
        const int is_consecutive = lines[used - 1] - lines[0] == used - 1;
        for (int64_t k = 0; k < depth; ++k, packed += width) {
            const T *place = from + along[k];
            if (is_consecutive)
                for (int64_t n = 0; n < used; ++n) packed[n] = place[lines[0] + n] * factor;
            else
                for (int64_t n = 0; n < used; ++n) packed[n] = place[lines[n]] * factor;
            for (int64_t n = used; n < width; ++n) packed[n] = 0;
        }
    }
}

static void put(
    const T *restrict tile, T *restrict result, const int64_t *restrict rows, const int64_t *restrict columns,
    int64_t row_count, int64_t column_count, int adds)
{
    const int is_full = column_count == COLUMNS && columns[COLUMNS - 1] - columns[0] == COLUMNS - 1;
    for (int64_t m = 0; m < row_count; ++m, tile += COLUMNS) {
        T *place = result + rows[m];
        if (is_full && adds)
            for (int64_t n = 0; n < COLUMNS; ++n) place[columns[0] + n] += tile[n];
        else if (is_full)
            for (int64_t n = 0; n < COLUMNS; ++n) place[columns[0] + n] = tile[n];
        else
            for (int64_t n = 0; n < column_count; ++n)
                place[columns[n]] = adds ? place[columns[n]] + tile[n] : tile[n];
    }
}

int64_t storel_contract(const int64_t *slots, int64_t *detail)
{
    const T *left = (const T *)slots[0], *right = (const T *)slots[1];
    T *result = (T *)slots[2];
    const int64_t *left_rows = (const int64_t *)slots[3], *left_depth = (const int64_t *)slots[4];
    const int64_t *right_depth = (const int64_t *)slots[5], *right_columns = (const int64_t *)slots[6];
    const int64_t *result_rows = (const int64_t *)slots[7], *result_columns = (const int64_t *)slots[8];
    T *packed_left = (T *)slots[9], *packed_right = (T *)slots[10];
    const int64_t rows = slots[11], columns = slots[12], depth = slots[13];
    const T factor = (T)*(const double *)(slots + 14);
    for (int64_t n = 0; n < columns; n += BLOCK_COLUMNS) {
        const int64_t width = least(BLOCK_COLUMNS, columns - n);
        for (int64_t k = 0; k < depth; k += DEPTH) {
            const int64_t deep = least(DEPTH, depth - k);
            pack(right, right_columns + n, right_depth + k, width, deep, COLUMNS, factor, packed_right);
            for (int64_t m = 0; m < rows; m += BLOCK_ROWS) {
                const int64_t high = least(BLOCK_ROWS, rows - m);
                pack(left, left_rows + m, left_depth + k, high, deep, ROWS, 1, packed_left);
                for (int64_t j = 0; j < width; j += COLUMNS)
                    for (int64_t i = 0; i < high; i += ROWS) {
                        T tile[ROWS * COLUMNS];
                        multiply(deep, packed_left + i * deep, packed_right + j * deep, tile);
                        put(tile, result, result_rows + m + i, result_columns + n + j, least(ROWS, high - i),
                            least(COLUMNS, width - j), k > 0);
                    }
            }
        }
    }
    return 0;
}
"""
