"""Keys that a format puts together must be integers of 64 bits: none is lost, none becomes negative."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel

FLAT = """\
CREATE FORMAT flat(T: real[m, n])
  USING key: int[nnz], val: real[nnz]
  AS sum(<p, k> in key(0:nnz)) { (k // n, k % n) -> val(p) }
"""


def test_keys_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "flat.sdql").write_text(FLAT)
    shape = (2**40, 2**32)
    held = storel.tensor({(0, 1): 1.0, (2**30, 5): 2.0}, "flat", shape=shape, formats=tmp_path)
    np.testing.assert_array_equal(held.to_coo()[0], [[0, 2**30], [1, 5]])
    for row in (2**31, 2**32, 2**39):
        with pytest.raises(storel.StorelError, match="flat cannot hold the entries") as refused:
            storel.tensor({(0, 0): 1.0, (row, 0): 2.0}, "flat", shape=shape, formats=tmp_path)
        assert "64 bits" in str(refused.value)
