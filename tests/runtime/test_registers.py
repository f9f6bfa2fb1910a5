"""Kernels leave no vectors in their registers, where functions without vectors then take 30 times as long."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import storel
from storel.runtime import toolchain, workers
from storel.runtime.library import Entry, load_c

UPPER_HALVES = 0b100

REGISTERS = """\
#include <stdint.h>

/* Return which registers hold something, as the processor counts them; -1 where it does not tell. */
int64_t in_use(void) {
#if defined(__x86_64__) && defined(__AVX__)
    uint32_t a = 13, b, c = 1, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (!(a & 4)) return -1;
    c = 1;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(c));
    return a;
#else
    return -1;
#endif
}

void clear(void) {
#if defined(__x86_64__) && defined(__AVX__)
    __asm__ volatile("vzeroupper");
#endif
}
"""

PROGRAM = """\
CREATE TENSOR S AS sum(<(i, k), q> in Q, <(j, k), x> in K) {(i, j) -> q * x / 8}
CREATE TENSOR R AS sum(<(i, j), s> in S) {(i, j) -> exp(s)}
"""


@pytest.mark.skipif(toolchain.find() is None, reason="there is no C compiler")
def test_registers_are_left_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    registers = load_c(REGISTERS)
    registers.in_use.restype = ctypes.c_int64
    registers.clear()
    before = registers.in_use()
    if before < 0 or before & UPPER_HALVES:
        pytest.skip("this processor does not tell which registers are in use")
    found: list[int] = []

    def watched(entry: Entry, slots: bytes) -> workers.Outcome:
        detail = ctypes.c_int64()
        registers.clear()
        code = entry(slots, ctypes.byref(detail))
        found.append(registers.in_use() & UPPER_HALVES)
        return workers.Outcome(code, detail.value)

    monkeypatch.setattr(workers, "call", watched)
    rng = np.random.default_rng(0)
    for rows in (8, 800):
        given = {"Q": rng.random((rows, 64)), "K": rng.random((rows, 64))}
        options = {"backend": "c", "threads": 1, "floating_point": "reassociate"}
        result = storel.run(PROGRAM, **options, **given)
        assert isinstance(result, storel.Tensor)
        np.testing.assert_allclose(result.to_numpy(), np.exp(given["Q"] @ given["K"].T / 8))
    assert len(found) >= 4
    assert not any(found)
