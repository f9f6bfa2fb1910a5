from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from storel.errors import DataError
from storel.storage.files.contents import DenseContents, MatrixContents
from storel.storage.files.kinds import read_arrays, read_tensor


def test_a_plain_array_is_dense(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", whatever=array)
    for name in ("a.npy", "a.npz"):
        contents = read_tensor(tmp_path / name)
        assert isinstance(contents, DenseContents)
        np.testing.assert_array_equal(contents.values, array)
        assert contents.values.dtype == np.float32


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
def test_a_matrix_of_scipy_stays_one(tmp_path: Path, layout: str) -> None:
    matrix = sp.random(5, 7, 0.3, format=layout, rng=1)
    sp.save_npz(tmp_path / "m.npz", matrix)
    contents = read_tensor(tmp_path / "m.npz")
    assert isinstance(contents, MatrixContents)
    np.testing.assert_array_equal(contents.matrix.toarray(), matrix.toarray())


def test_raw_arrays_are_read_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", C_len1=3, C_pos2=[0, 3, 3, 5])
    arrays = read_arrays(tmp_path / "c.npz")
    assert sorted(arrays) == ["C_len1", "C_pos2"]
    assert arrays["C_len1"].ndim == 0
    np.save(tmp_path / "x.npy", np.arange(3))
    assert list(read_arrays(tmp_path / "x.npy")) == ["x"]


def broken_matrix(path: Path) -> None:
    np.savez(path, format=b"csr", shape=(2, 2), data=[1.0], indices=[5], indptr=[0, 1, 1])


def objects(path: Path) -> None:
    np.savez(path, a=np.array([{}, 3], dtype=object))


def several(path: Path) -> None:
    np.savez(path, a=[1], b=[2])


def another_version(path: Path) -> None:
    np.savez(path, val=[1.0], storel=np.array('{"version": 99}'))


def no_description(path: Path) -> None:
    np.savez(path, val=[1.0], storel=np.array("hello"))


def no_archive(path: Path) -> None:
    path.write_bytes(b"hello")


ARCHIVE_ERRORS: list[tuple[Any, str]] = [
    (broken_matrix, "holds a broken matrix"),
    (objects, "is not a usable .npz file: it holds Python objects"),
    (several, "holds arrays, not a tensor\n.*\n  found: a, b\n  hint: LOAD ARRAYS"),
    (another_version, "the description of the tensor is not understood"),
    (no_description, "the description of the tensor is not understood"),
    (no_archive, "is not a usable .npz file: File is not a zip file"),
]


@pytest.mark.parametrize(("make", "message"), ARCHIVE_ERRORS)
def test_a_bad_archive_is_an_error(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "a.npz")
    with pytest.raises(DataError, match=message):
        read_tensor(tmp_path / "a.npz")


@pytest.mark.parametrize("kept", [0, 5, 60, 130])
def test_a_truncated_array_is_an_error(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(10))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"is not a usable \.npy file"):
        read_tensor(path)
