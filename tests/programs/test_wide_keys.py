"""Keys are int64 however few bits they are stored in, beside values of int32, too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import storel

A = np.zeros((3, 4), np.int32)
A[0, 1], A[1, 3], A[2, 2] = 5, 2**31 - 1, -(2**31)
V = np.array([1, 2, 3, 4])

PROGRAMS = {
    "max(<(i, j), x> in A) j * x": 3 * (2**31 - 1),
    "min(<(i, j), x> in A) (max(<k, y> in V) j) * x": -(2**32),
    "max(<(i, j), x> in A) (sum(<k, y> in V) (if (y > 3) then j)) * x": 3 * (2**31 - 1),
}


NAMES = ("dense", "csr", "coo", "dcsr", "sell", "levels(compressed, singleton)")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("name", "backend"), [*product(NAMES, ["interpret", "c"]), ("csr", "numba")])
def test_products_of_keys_and_narrow_values_are_wide(program: str, name: str, backend: str) -> None:
    arguments = {"A": storel.tensor(A, name), "V": V}
    used = {operand: tensor for operand, tensor in arguments.items() if f"in {operand}" in program}
    found = storel.run(f"CREATE TENSOR T AS {program}", backend=backend, **used)
    assert isinstance(found, storel.Tensor) and found.to_numpy() == PROGRAMS[program]
