"""Functions of bits: an integer has 64, whichever type holds it."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.errors import EvaluationError

NUMBERS = [0, 5, -1, -7, 2**31 - 1, -(2**31)]
FUNCTIONS = {
    "popcount(v)": [(each & 2**64 - 1).bit_count() for each in NUMBERS],
    "bits(v)": [(each & 2**64 - 1).bit_length() for each in NUMBERS],
    "bit(v, 40)": [each >> 40 & 1 for each in NUMBERS],
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


def test_what_does_not_fit_is_shown_where_the_program_has_it() -> None:
    program = "CREATE TENSOR y AS sum(<i, v> in x) { i -> 1 + interleave(v, 3) }"
    with pytest.raises(EvaluationError, match="integer overflow") as caught:
        storel.run(program, x=np.array([-7]), backend="interpret")
    assert caught.value.span is not None and caught.value.span.text == "interleave(v, 3)"
