"""An entry whose value is zero is no entry, whatever its key is."""

from __future__ import annotations

import numpy as np
import pytest

import storel

BACKENDS = ["interpret", "numba", "c"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("value", ["x(i)", "i", "x(i) * i", "if (i > 0) then 1"])
def test_zeros_at_negative_keys_are_no_entries(value: str, backend: str) -> None:
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:3) {{ i - 1 -> {value} }}"
    given = {"x": np.array([0.0, 1.0, 2.0])} if "x" in value else {}
    result = storel.run(program, backend=backend, **given)
    assert isinstance(result, storel.Tensor)
    assert result.nnz == result.shape[0] == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_entries_at_negative_keys_are_errors(backend: str) -> None:
    with pytest.raises(storel.StorelError, match="-1"):
        storel.run("CREATE TENSOR y AS sum(<i, _> in 0:3) { i - 1 -> i + 1 }", backend=backend)


BEFORE = "sum(<i, a> in x) { i - 1 -> a }"
"""The entries of x, one key lower: a zero of x at 0 would be at -1."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [
        f"CREATE TENSOR y AS sum(<i, b> in ({BEFORE})) {{ i -> b * w(i) }}",
        f"CREATE TENSOR B AS {BEFORE} CREATE TENSOR y AS sum(<i, b> in B) {{ i -> b * w(i) }}",
        f"CREATE TENSOR y AS let B = {BEFORE} in sum(<i, b> in B) {{ i -> b * w(i) }}",
        f"CREATE TENSOR y AS ({BEFORE}) * w",
        f"CREATE TENSOR y AS 1 * (({BEFORE}) * w)",
        "CREATE TENSOR y AS sum(<(i, _), b> in (sum(<i, a> in x) { (i - 1, i) -> a })) { i -> b * w(i) }",
        "CREATE TENSOR y AS sum(<i, a> in x) if (i > 0) then { i - 1 -> a * w(i - 1) }",
    ],
)
def test_zeros_at_negative_keys_of_what_is_read_are_no_entries(program: str, backend: str) -> None:
    given = {"x": np.array([0.0, 1.0, 2.0]), "w": np.array([1.0, 2.0, 3.0])}
    assert np.array_equal(np.asarray(storel.run(program, backend=backend, **given))[:2], [1.0, 4.0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [f"2 * ({BEFORE})", f"({BEFORE}) + ({BEFORE})", f"-({BEFORE})"])
def test_entries_at_negative_keys_of_operands_are_errors(program: str, backend: str) -> None:
    with pytest.raises(storel.StorelError, match="-1"):
        storel.run(f"CREATE TENSOR y AS {program}", x=np.array([3.0, 1.0, 2.0]), backend=backend)
