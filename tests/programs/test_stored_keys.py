"""Keys of which no bound is proved, but that they are a stored tensor's: those are within its extents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel

Array = Any

FORMATS = {
    "gathered": """CREATE FORMAT gathered(T: real[m, n])
      USING key: int[nnz] IN 0:1 << 62 INCREASING, val: real[nnz]
      AS sum(<p, z> in key(0:nnz)) { (gather(z, 0), gather(z, 1)) -> val(p) }""",
    "undeclared": """CREATE FORMAT undeclared(T: real[m, n])
      USING row: int[nnz], col: int[nnz], val: real[nnz]
      AS sum(<p, i> in row(0:nnz)) { (i, col(p)) -> val(p) }""",
    "blocks": """CREATE FORMAT blocks(T: real[n, n])
      USING start: int[b + 1] INCREASING FROM 0 TO n, at: int[b + 1] ASCENDING FROM 0 TO places,
            val: real[places]
      AS sum(<k, _> in 0:b) sum(<i, _> in start(k):start(k + 1)) sum(<j, _> in start(k):start(k + 1))
        { (i, j) -> val(at(k) + (i - start(k)) * (start(k + 1) - start(k)) + j - start(k)) }""",
}

A = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 3.0], [0.0, 4.0, 5.0]])
BLOCKS = {"start": [0, 1, 3], "at": [0, 1, 5], "val": [1.0, 2.0, 3.0, 4.0, 5.0]}

PROGRAMS = {
    "sum(<i, r> in A) { i -> max(<_, a> in r) a }": np.array([1.0, 3.0, 5.0]),
    "max(<(_, _), a> in A) a": 5.0,
    "sum(<_, r> in A, <j, a> in r, <k, b> in r) { (j, k) -> a * b }": A.T @ A,
    "sum(<i, r> in A + A) { i -> max(<_, a> in r) a }": np.array([2.0, 6.0, 10.0]),
}


def stored(name: str, directory: Path) -> storel.Tensor:
    (directory / f"{name}.sdql").write_text(FORMATS[name])
    if name == "blocks":
        return storel.tensor(BLOCKS, name, shape=A.shape, formats=directory)
    return storel.tensor(A, name, formats=directory)


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_stored_tensors_are_stored_again(
    tmp_path: Path, name: str, program: str, backend: str
) -> None:
    found = storel.run(f"CREATE TENSOR y AS {program}", A=stored(name, tmp_path), backend=backend)
    np.testing.assert_allclose(np.asarray(found), PROGRAMS[program])


def test_zeros_beyond_the_extents_are_no_entries(tmp_path: Path) -> None:
    (tmp_path / "undeclared.sdql").write_text(FORMATS["undeclared"])
    given = {"row": [0, 2**40, 1, 1], "col": [2, 7, 2**50, 1], "val": [4.0, 0.0, 0.0, -3.0]}
    operand = storel.tensor(given, "undeclared", shape=(2, 3), formats=tmp_path)
    program = "CREATE TENSOR y AS sum(<i, r> in A) { i -> min(<_, a> in r) a }"
    for backend in ("c", "interpret"):
        found = storel.run(program, A=operand, backend=backend)
        np.testing.assert_array_equal(np.asarray(found), [4.0, -3.0])


@pytest.mark.parametrize("key", ["i + 5", "7 * j", "i + j"])
def test_what_is_made_of_stored_keys_is_not_within_the_extents(tmp_path: Path, key: str) -> None:
    entries = f"sum(<(i, j), a> in A) {{ ({key}, {key}) -> a }}"
    program = f"let t = {entries} in sum(<_, r> in t) max(<_, a> in r) a"
    operand = stored("gathered", tmp_path)
    assert np.asarray(storel.run(f"CREATE TENSOR y AS {program}", A=operand, backend="interpret")) > 0
    with pytest.raises(storel.StorelError, match=r"exceed 64 bits|no bound that could be proved"):
        storel.run(f"CREATE TENSOR y AS {program}", A=operand, backend="c")


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
def test_padding_beyond_the_extents_is_a_key_where_a_program_reads_it_itself(
    tmp_path: Path, backend: str
) -> None:
    """Of one key that is not bounded no extent is taken: any number may be the key of an entry."""
    (tmp_path / "listed.sdql").write_text(
        "CREATE FORMAT listed(T: real[n]) USING key: int[nnz], val: real[nnz] "
        "AS sum(<p, i> in key(0:nnz)) { i -> val(p) }"
    )
    given = {"key": [0, 2, 7, 2**40], "val": [1.0, 2.0, 0.0, 0.0]}
    operand = storel.tensor(given, "listed", shape=(4,), formats=tmp_path)
    keys = "let t = sum(<_, k> in A_key(0:4)) { k -> 1 } in sum(<_, v> in t) v"
    found = storel.run(f"CREATE TENSOR y AS (sum(<_, a> in A) a) + ({keys})", A=operand, backend=backend)
    assert np.asarray(found) == 3.0 + 4
