"""Formats that keep all keys of an entry as one number, which may be larger than every extent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import storel
from storel.errors import FormatError

FORMATS = """
CREATE FORMAT pairs(T: real[m, n]) USING key: int[nnz] UNIQUE, val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k // n, k % n) -> val(p) }

CREATE FORMAT sorted_pairs(T: real[m, n]) USING key: int[nnz] INCREASING IN 0:m * n, val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k // n, k % n) -> val(p) }

CREATE FORMAT curve(T: real[m, n]) USING key: int[nnz], val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (gather(k, 0), gather(k, 1)) -> val(p) }

CREATE FORMAT shifted(T: real[m, n]) USING row: int[nnz], idx: int[nnz], val: real[nnz]
AS sum(<p, i> in row(0:nnz)) { (i, idx(p) - 3000000000) -> val(p) }

CREATE FORMAT padded(T: real[m, n]) USING idx: int[m * 2] IN 0:n PAD 3000000000, val: real[m * 2]
AS sum(<i, _> in 0:m) sum(<p, j> in idx(i * 2:(i + 1) * 2)) if (j < n) then { (i, j) -> val(p) }

CREATE FORMAT triples(T: real[m, n, o]) USING key: int[nnz], val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k // (n * o), k // o % n, k % o) -> val(p) }

CREATE FORMAT quadruples(T: real[m, n, o, q]) USING key: int[nnz], val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k // (n * o * q), k // (o * q) % n, k // q % o, k % q) -> val(p) }

CREATE FORMAT by_columns(T: real[m, n, o]) USING key: int[nnz], val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k % m, k // m % n, k // (m * n)) -> val(p) }

CREATE FORMAT lost(T: real[m, n]) USING key: int[nnz], val: real[nnz]
AS sum(<p, k> in key(0:nnz)) { (k // n % m, k % n) -> val(p) }
"""

SUMS = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a }"


@pytest.fixture
def formats(tmp_path: Path) -> Path:
    for text in FORMATS.strip().split("\n\n"):
        name = text.split("(")[0].split()[-1]
        (tmp_path / f"{name}.sdql").write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", ["pairs", "sorted_pairs", "curve", "shifted", "padded"])
def test_numbers_beyond_32_bits_are_kept(name: str, formats: Path) -> None:
    entries = {(3, 4): 2.0, (60_000, 0): 1.0, (69_999, 79_999): 3.0}
    shape = (70_000, 80_000)
    packed = storel.tensor(entries, name, shape=shape, formats=formats)
    (key, *_) = (each for each in packed.arrays.values() if each.dtype == np.int64)
    assert int(key.max()) > 2**31
    given = storel.tensor(entries, "csr", shape=shape)
    computed = storel.run("CREATE TENSOR B AS 2 * A", A=given, format=name, formats=formats)
    assert isinstance(computed, storel.Tensor)
    for tensor, factor in ((packed, 1.0), (computed, 2.0)):
        coordinates, values = tensor.to_coo()
        found = dict(zip(zip(*coordinates.tolist(), strict=True), values.tolist(), strict=True))
        assert found == {key: factor * value for key, value in entries.items()}
    for backend in ("c", "numba", "interpret"):
        sums = storel.run(SUMS, A=packed, backend=backend)
        assert isinstance(sums, storel.Tensor)
        assert np.flatnonzero(sums.to_numpy()).tolist() == [3, 60_000, 69_999]


def test_numbers_that_fit_take_32_bits(formats: Path) -> None:
    packed = storel.tensor(np.eye(5), "pairs", formats=formats)
    assert packed.arrays["key"].dtype == np.int32


@pytest.mark.parametrize("name", ["triples", "quadruples", "by_columns"])
def test_numbers_of_several_keys(name: str, formats: Path) -> None:
    """A quotient by a product is taken apart where its factors divide in other keys."""
    shape = (2, 3, 4, 5) if name == "quadruples" else (2, 3, 4)
    dense = np.random.default_rng(0).random(shape)
    dense[0, 1] = 0.0
    np.testing.assert_array_equal(storel.tensor(dense, name, formats=formats).to_numpy(), dense)


def test_keys_that_lose_a_part_of_the_number_are_named(formats: Path) -> None:
    with pytest.raises(FormatError, match="lost cannot be packed: nothing determines 'p' of 0:nnz"):
        storel.tensor(np.eye(3), "lost", formats=formats)
