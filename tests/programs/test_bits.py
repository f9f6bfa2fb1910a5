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


SHIFTS = {
    ("<<", 7, 64): 0,
    ("<<", -7, 100): 0,
    ("<<", 7, 63): -(2**63),
    ("<<", -7, 62): 2**62,
    ("<<", -1, 63): -(2**63),
    ("<<", 0, 64): 0,
    ("<<", 7, -1): 0,
    (">>", 7, 64): 0,
    (">>", -7, 64): -1,
    (">>", 7, -1): 0,
    (">>", -7, -1): -1,
}


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("written", ["{0} {2} {1}", "{0} {2} n(0)", "v(0) {2} {1}", "v(0) {2} n(0)"])
def test_bits_are_shifted_out(written: str, backend: str) -> None:
    for (operator, number, count), expected in SHIFTS.items():
        text = written.format(number, count, operator)
        names = {"v": np.array([number]), "n": np.array([count])}
        given = {name: value for name, value in names.items() if name in text}
        program = f"CREATE TENSOR y AS {text}"
        if backend == "interpret" and operator == "<<" and count >= 0 and number << count != expected:
            with pytest.raises(storel.StorelError, match="overflow"):
                storel.run(program, backend=backend, **given)
        else:
            result = storel.run(program, backend=backend, **given)
            assert isinstance(result, storel.Tensor) and result.item() == expected, text


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize(("shift", "expected"), [("<< 64", 0), ("<< 40", 0), (">> 64", -1), (">> -1", -1)])
def test_bits_of_short_numbers_are_shifted_out(shift: str, expected: int, backend: str) -> None:
    program, given = f"CREATE TENSOR y AS v(0) {shift[:2]} n(0)", np.array([int(shift[2:])], np.int32)
    if backend == "interpret" and shift.startswith("<<"):
        with pytest.raises(storel.StorelError, match="overflow"):
            storel.run(program, v=np.array([-7], np.int32), n=given, backend=backend)
    else:
        result = storel.run(program, v=np.array([-7], np.int32), n=given, backend=backend)
        assert isinstance(result, storel.Tensor) and result.item() == expected
