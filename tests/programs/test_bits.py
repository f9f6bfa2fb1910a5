"""Functions of bits: an integer has 64, whichever type holds it."""

from __future__ import annotations

import numpy as np
import pytest

import storel


def spread(number: int, bits: int) -> int:
    """Return the lowest bits of a number with a zero before each."""
    return int("0".join(f"{number % 2**bits:0{bits}b}"), 2)


NUMBERS = [0, 5, -1, -7, 2**31 - 1, -(2**31)]
FUNCTIONS = {
    "popcount(v)": [(each & 2**64 - 1).bit_count() for each in NUMBERS],
    "bits(v)": [(each & 2**64 - 1).bit_length() for each in NUMBERS],
    "bit(v, 40)": [each >> 40 & 1 for each in NUMBERS],
    "interleave(v, 0)": [2 * spread(each, 31) for each in NUMBERS],
    "interleave(0, v)": [spread(each, 32) for each in NUMBERS],
    "gather(interleave(v, 3), 0)": [each % 2**31 for each in NUMBERS],
    "gather(interleave(3, v), 1)": [each % 2**32 for each in NUMBERS],
    "v >> 33": [each >> 33 for each in NUMBERS],
}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_bits_of_negative_numbers(function: str, backend: str, dtype: type) -> None:
    program = f"CREATE TENSOR y AS sum(<i, v> in x) {{ i -> {function} }}"
    result = storel.run(program, x=np.array(NUMBERS, dtype), backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().tolist() == FUNCTIONS[function]
