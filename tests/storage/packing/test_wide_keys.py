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


CURVE = """\
CREATE FORMAT curve(T: real[m, n])
  USING key: int[nnz] INCREASING, val: real[nnz]
  AS sum(<p, z> in key(0:nnz)) { (gather(z, 0), gather(z, 1)) -> val(p) }
"""


def test_keys_with_more_bits_than_are_interleaved_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "curve.sdql").write_text(CURVE)
    shape, last = (2**40, 2**40), (2**31 - 1, 2**32 - 1)
    held = storel.tensor({(0, 0): 1.0, last: 2.0}, "curve", shape=shape, formats=tmp_path)
    np.testing.assert_array_equal(held.to_coo()[0], np.transpose([(0, 0), last]))
    for row, column, part in ((2**31, 3, 0), (2**32, 0, 0), (5, 2**32, 1)):
        entries = {(0, 0): 1.0, (row, column): 2.0}
        with pytest.raises(storel.StorelError, match="1 of 2 entries does not fit") as refused:
            storel.tensor(entries, "curve", shape=shape, formats=tmp_path)
        never = f"gather(z, {part}) is never {(row, column)[part]}"
        assert str(refused.value).endswith(f"the first is ({row}, {column}) = 2.0: {never}")


@pytest.mark.parametrize("backend", ["c", "numba", "interpret"])
@pytest.mark.parametrize("extent", [2**31, 2**32, 2**40])
def test_extents_whose_product_exceeds_64_bits(extent: int, backend: str, tmp_path: Path) -> None:
    """What a format declares of its keys is true of numbers that no integer of 64 bits can be."""
    declared = FLAT.replace("int[nnz],", "int[nnz] IN 0:m * n INCREASING UNIQUE,")
    (tmp_path / "flat.sdql").write_text(declared)
    entries = {(0, 3): 1.0, (5, 7): 2.0, (5, 9): 4.0}
    held = storel.tensor(entries, "flat", shape=(extent, extent), formats=tmp_path)
    sums = "CREATE TENSOR y STORED AS coo AS sum(<(i, j), a> in A) { j -> a * i }"
    found = storel.run(sums, A=held, backend=backend, formats=tmp_path)
    assert isinstance(found, storel.Tensor)
    keys, values = found.to_coo()
    np.testing.assert_array_equal(keys[0], [7, 9])
    np.testing.assert_array_equal(values, [10.0, 20.0])
