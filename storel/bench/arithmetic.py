"""The peak of arithmetic: vectors in registers are multiplied and added to, and nothing is read.

Without a C compiler it is what NumPy's product of matrices does, which may be half of that.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from storel.runtime import toolchain, workers
from storel.runtime.library import Entry, load_entries

SIDE = 512
"""The rows of the matrices whose product NumPy computes."""

STEPS = 1 << 20
"""How often each vector is added to."""

_VECTORS = 12
"""Vectors in registers: more than the additions in flight at a time, and no more than the registers."""

_SOURCE = """\
#include <stdint.h>

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
typedef double V __attribute__((vector_size(LANES * sizeof(double))));

/* Slots: the number of steps, and the address of two numbers: some sum, and the operations of a step. */
int64_t storel_add(const int64_t *slots, int64_t *detail)
{
    V factor = {0};
    factor += 0.5;
    @declared@
    for (int64_t n = slots[0]; n > 0; --n) {
        @added@
    }
    V total = @total@;
    ((double *)slots[1])[0] = total[0];
    ((double *)slots[1])[1] = 2.0 * LANES * @vectors@;
    return 0;
}
"""


def peak(threads: int) -> tuple[Callable[[], object], int]:
    """Return what does arithmetic with so many threads, and how many operations it does."""
    if toolchain.find() is None:
        factor = np.ones((SIDE, SIDE))
        return partial(np.matmul, factor, factor, out=np.empty_like(factor)), 2 * SIDE**3
    add = _kernel()
    made = np.zeros((threads, 2))
    slots = [struct.pack("=qQ", STEPS, row.ctypes.data) for row in made]

    def run() -> object:
        return workers.call_all(add, slots)

    run()
    return run, int(STEPS * made[:, 1].sum())


@cache
def _kernel() -> Entry:
    names = [f"c{number}" for number in range(_VECTORS)]
    starts = (f"{name} = factor + {number}.0" for number, name in enumerate(names))
    texts = {
        "declared": f"V {', '.join(starts)};",
        "added": "\n        ".join(f"{name} = {name} * factor + factor;" for name in names),
        "total": " + ".join(names),
        "vectors": str(_VECTORS),
    }
    source = _SOURCE
    for name, text in texts.items():
        source = source.replace(f"@{name}@", text)
    return load_entries(source, ["add"], "c")[0]
