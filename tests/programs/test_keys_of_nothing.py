"""An entry whose value is zero is no entry, whatever its key is."""

from __future__ import annotations

from pathlib import Path

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


HALO = """
CREATE FORMAT halo(T: real[m, n])
  USING val: real[(m + 2) * (n + 2)]
  AS sum(<i, _> in 0:m + 2) sum(<j, _> in 0:n + 2) { (i - 1, j - 1) -> val(i * (n + 2) + j) }
"""
"""A border of zeros around a matrix, whose keys begin at -1."""

OPEN = """
CREATE FORMAT open(T: real[m, n]; width: int = max(<_, row> in T) count(<_, _> in row))
  USING idx: int[m * width] IN 0:n PAD -1, val: real[m * width]
  AS sum(<i, _> in 0:m) sum(<p, j> in idx(i * width:(i + 1) * width)) { (i, j) -> val(p) }
"""
"""Rows of one width, without a condition that leaves out what they are filled up with."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("declaration", [HALO, OPEN])
@pytest.mark.parametrize("key", ["B(j, i)", "x(j)", "C(i, j)"])
def test_zeros_that_a_format_stores_at_negative_keys_are_no_entries(
    declaration: str, key: str, backend: str, tmp_path: Path
) -> None:
    name = declaration.split()[2].partition("(")[0]
    (tmp_path / f"{name}.sdql").write_text(declaration)
    dense = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
    stored = storel.tensor(dense, name, formats=tmp_path)
    other = np.array([[1.0, 2.0, np.inf], [3.0, 4.0, 5.0], [np.inf, 7.0, 8.0]])
    given = {"B": storel.tensor(other, "csr"), "C": other, "x": np.array([1.0, 2.0, 3.0])}
    program = f"CREATE TENSOR y AS sum(<(i, j), a> in A) {{ i -> a * {key} }}"
    operand = {key[0]: given[key[0]]}
    wanted = storel.run(program, A=dense, backend="interpret", **operand)
    found = storel.run(program, A=stored, backend=backend, **operand)
    assert np.array_equal(np.asarray(found), np.asarray(wanted))


def test_a_kernel_for_natural_keys_is_not_used_for_others(tmp_path: Path) -> None:
    (tmp_path / "shifted.sdql").write_text(
        "CREATE FORMAT shifted(T: real[m, n]) USING off: int[d] INCREASING, val: real[d * m] "
        "AS sum(<k, o> in off(0:d)) sum(<i, _> in 0:m) { (i, i + o) -> val(k * m + i) }"
    )
    values = {"val": np.array([0.0, 1.0, 2.0])}
    above, below = (
        storel.tensor({"off": np.array([offset]), **values}, "shifted", shape=(3, 5), formats=tmp_path)
        for offset in (1, -1)
    )
    kernel = storel.compile(
        "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * x(j) }", A=above, x=np.arange(1.0, 6.0)
    )
    assert np.asarray(kernel(A=above, x=np.arange(1.0, 6.0))).tolist() == [0.0, 3.0, 8.0]
    assert np.asarray(kernel(A=below, x=np.arange(1.0, 6.0))).tolist() == [0.0, 1.0, 4.0]
