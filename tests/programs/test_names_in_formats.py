"""Binders of formats that are called like what is put beside them: sizes, arrays, arguments of parts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import storel

ROWS = """
CREATE FORMAT {format}(T: real[m, n])
  USING pos: int[m + 1] ASCENDING FROM 0 TO nnz,
        idx: int[nnz] IN 0:n INCREASING WITHIN pos,
        val: real[nnz]
  AS sum(<{i}, _> in 0:m) {{ {i} -> sum(<{p}, {j}> in idx(pos({i}):pos({i} + 1))) {{ {j} -> val({p}) }} }}
"""

PLACES = """
CREATE FORMAT places(T: real[m, n])
  USING val: real[m * n]
  AS sum(<A_n, _> in 0:m) sum(<A_val, _> in 0:n) { (A_n, A_val) -> val(A_n * n + A_val) }
"""

SHIFTED = """
CREATE FORMAT shifted(T: real[m, n]; below: int, above: int)
  USING val: real[m * (below + above + 1)]
  AS sum(<i, _> in 0:m)
       { i -> sum(<j, _> in max(0, i - below):min(n, i + above + 1))
                { j -> val(i * (below + above + 1) + j - i + below) } }
"""

IN_TWO = """
CREATE FORMAT in_two(T: real[m, n]; i: int, j: int)
  USING near: shifted(i, j), rest: rows
  AS near + rest
"""

PROGRAM = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("shape", [(4, 5), (5, 4), (4, 4)])
@pytest.mark.parametrize(
    ("texts", "stored"),
    [
        ([ROWS.format(format="rows", i="A_val", p="A_idx", j="A_nnz")], "rows"),
        ([PLACES], "places"),
        (
            [ROWS.format(format="rows", i="i", p="rest_val", j="rest_pos"), SHIFTED, IN_TWO],
            "in_two(i=1, j=1)",
        ),
    ],
)
def test_no_binder_of_a_format_captures_a_name(
    texts: list[str],
    stored: str,
    shape: tuple[int, int],
    backend: Literal["c", "numba", "interpret"],
    tmp_path: Path,
) -> None:
    for text in texts:
        name = text.split("CREATE FORMAT ")[1].split("(")[0]
        (tmp_path / f"{name}.sdql").write_text(text)
    matrix = np.arange(float(shape[0] * shape[1])).reshape(shape) % 3
    x = np.arange(1.0, shape[1] + 1)
    stored_matrix = storel.tensor(matrix, stored, formats=tmp_path)
    np.testing.assert_array_equal(stored_matrix.to_numpy(), matrix)
    found = storel.run(PROGRAM, A=stored_matrix, x=x, backend=backend, formats=tmp_path)
    np.testing.assert_array_equal(np.asarray(found), matrix @ x)
