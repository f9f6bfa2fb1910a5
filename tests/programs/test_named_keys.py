"""Mappings with ``let``: over every semiring, on every backend."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import storel

BY_NAME = """
CREATE FORMAT by_name(T: real[m, n])
  USING pos: int[m + 1] ASCENDING FROM 0 TO nnz,
        idx: int[nnz] IN 0:n INCREASING WITHIN pos,
        val: real[nnz]
  AS sum(<i, _> in 0:m)
       { i -> sum(<p, j> in idx(pos(i):pos(i + 1))) let k = (j + 2) - 2 in let v = val(p) in { k -> v } }
"""

IN_TWO = """
CREATE FORMAT in_two(T: real[m, n])
  USING near: by_name TAKES <(i, j), _> WHERE rank(j WITHIN i) < 1, rest: by_name
  AS near + rest
"""


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "max_plus", "max_times", "or_and"])
@pytest.mark.parametrize("stored", ["by_name", "in_two"])
def test_a_format_may_name_its_keys(
    stored: str, semiring: str, backend: Literal["c", "numba", "interpret"], tmp_path: Path
) -> None:
    """A ``let`` of keys is ordinary arithmetic in a mapping, too, whatever the tensor is over."""
    (tmp_path / "by_name.sdql").write_text(BY_NAME)
    (tmp_path / "in_two.sdql").write_text(IN_TWO)
    entries = {(0, 1): 2.0, (0, 4): 3.0, (2, 0): 5.0, (3, 2): 1.0, (3, 3): 4.0}
    values = dict.fromkeys(entries, True) if semiring == "or_and" else entries
    script = f"CREATE TENSOR y OVER {semiring} AS sum(<(i, j), a> in A) {{ i -> a }}"
    made = [
        storel.run(
            script,
            A=storel.tensor(values, each, (4, 5), semiring=semiring, formats=tmp_path),
            backend=backend,
            formats=tmp_path,
        )
        for each in (stored, "csr")
    ]
    found, expected = map(np.asarray, made)
    np.testing.assert_array_equal(found, expected)
