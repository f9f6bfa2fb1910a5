from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.errors import DataError
from storel.storage.files.contents import DenseContents, MatrixContents, NamedArrays
from storel.storage.files.kinds import read_tensor


def test_a_plain_array_is_dense(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", whatever=array)
    contents = read_tensor(tmp_path / "a.npy")
    assert isinstance(contents, DenseContents)
    np.testing.assert_array_equal(contents.values, array)
    assert contents.values.dtype == np.float32
    for name in ("a.npy", "a.npz"):
        tensor = storel.read(tmp_path / name)
        assert (tensor.format, tensor.dtype) == ("dense", np.float32)
        np.testing.assert_array_equal(tensor.to_numpy(), array)


def test_other_arrays_keep_their_names(tmp_path: Path) -> None:
    several(tmp_path / "a.npz")
    contents = read_tensor(tmp_path / "a.npz")
    assert isinstance(contents, NamedArrays)
    assert {name: array.tolist() for name, array in contents.arrays.items()} == {"a": [1], "b": [2]}


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.bool_])
def test_a_matrix_of_scipy_stays_one(tmp_path: Path, layout: str, dtype: type) -> None:
    matrix = sp.random(6, 8, 0.3, format=layout, rng=1).astype(dtype)
    sp.save_npz(tmp_path / "m.npz", matrix)
    contents = read_tensor(tmp_path / "m.npz")
    assert isinstance(contents, MatrixContents)
    np.testing.assert_array_equal(contents.matrix.toarray(), matrix.toarray())
    np.testing.assert_array_equal(storel.read(tmp_path / "m.npz").to_numpy(), matrix.toarray())


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 4), (4, 0), (2, 3, 4), (2, 1, 2, 3)])
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_an_array_of_scipy_has_any_rank(tmp_path: Path, shape: tuple[int, ...], layout: str) -> None:
    dense = np.arange(float(np.prod(shape))).reshape(shape) % 3
    array = sp.coo_array(dense)
    if layout == "csr" and len(shape) < 3:
        array = array.tocsr()
    sp.save_npz(tmp_path / "a.npz", array)
    found = storel.read(tmp_path / "a.npz")
    assert (found.shape, found.is_closed) == (shape, True)
    np.testing.assert_array_equal(found.to_numpy(), dense)


def test_duplicates_and_zeros_of_scipy_are_no_entries_of_their_own(tmp_path: Path) -> None:
    parts = (np.array([1.0, 2.0, 0.0, np.nan]), ([0, 0, 1, 1], [1, 1, 0, 2]))
    sp.save_npz(tmp_path / "m.npz", sp.coo_matrix(parts, shape=(2, 3)))
    found = storel.read(tmp_path / "m.npz")
    assert found.nnz == 2
    np.testing.assert_array_equal(found.to_numpy(), [[0, 3, 0], [0, 0, np.nan]])


PYDATA: list[tuple[tuple[int, ...], dict[str, Any], list[Any]]] = [
    ((3,), {"coords": [[2, 0]], "data": [1.5, 2.5]}, [2.5, 0, 1.5]),
    ((2, 2), {"coords": [[1, 1, 0], [0, 0, 0]], "data": [1, 2, 0]}, [[0, 0], [3, 0]]),
    ((2, 0), {"coords": np.zeros((2, 0), np.int64), "data": []}, [[], []]),
    ((3,), {"indptr": [0, 2], "indices": [0, 2], "compressed_axes": [], "data": [1.0, 2.0]}, [1, 0, 2]),
    (
        (2, 3),  # columns 0, 1 and 2 of the rows 0; 1; 0 and 1
        {"indptr": [0, 1, 2, 4], "indices": [0, 1, 0, 1], "compressed_axes": [1], "data": [1, 2, 3, 4]},
        [[1, 0, 3], [0, 2, 4]],
    ),
    (
        (2, 2, 2),  # axes 0 and 2 are rows
        {"indptr": [0, 1, 1, 2, 3], "indices": [1, 0, 1], "compressed_axes": [0, 2], "data": [1, 2, 3]},
        [[[0, 0], [1, 0]], [[2, 0], [0, 3]]],
    ),
]


@pytest.mark.parametrize(("shape", "arrays", "dense"), PYDATA)
def test_a_tensor_of_pydata_sparse(
    tmp_path: Path, shape: tuple[int, ...], arrays: dict[str, Any], dense: list[Any]
) -> None:
    integers: dict[str, Any] = {
        name: np.asarray(each, None if name == "data" else np.int64) for name, each in arrays.items()
    }
    layout = "coo" if "coords" in arrays else "gcxs"
    np.savez(tmp_path / "t.npz", format=layout, shape=shape, fill_value=0.0, **integers)
    found = storel.read(tmp_path / "t.npz")
    assert (found.shape, found.is_closed) == (shape, True)
    assert found.to_numpy().tolist() == dense


def broken_matrix(path: Path) -> None:
    np.savez(path, format=b"csr", shape=(2, 2), data=[1.0], indices=[5], indptr=[0, 1, 1])


def rounded_matrix(path: Path) -> None:
    np.savez(path, format=b"csr", shape=(2, 2), data=[1.0], indices=[0.5], indptr=[0, 1, 1])


def unknown_matrix(path: Path) -> None:
    np.savez(path, format=b"dok", shape=(2, 2), data=[1.0])


def lacking_matrix(path: Path) -> None:
    np.savez(path, format="csr", shape=(2, 2), data=[1.0])


def filled(path: Path) -> None:
    np.savez(path, format="coo", shape=(2,), coords=[[0]], data=[1.0], fill_value=1.0)


def lacking_tensor(path: Path) -> None:
    np.savez(path, format="gcxs", shape=(2,), data=[1.0], fill_value=0.0)


def wrong_axes(path: Path) -> None:
    arrays: dict[str, Any] = {"data": [1.0], "indices": [0], "indptr": [0, 1], "compressed_axes": [0, 0]}
    np.savez(path, format="gcxs", shape=(1, 2), fill_value=0.0, **arrays)


def outside(path: Path) -> None:
    arrays: dict[str, Any] = {"data": [1.0], "indices": [2], "indptr": [0, 1], "compressed_axes": [0]}
    np.savez(path, format="gcxs", shape=(1, 2), fill_value=0.0, **arrays)


def fractions(path: Path) -> None:
    np.savez(path, format="coo", shape=(2,), coords=[[0.5]], data=[1.0], fill_value=0.0)


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
    (rounded_matrix, "array indices holds float64 numbers\n  expected: integers"),
    (unknown_matrix, "holds a broken matrix: .*dok"),
    (lacking_matrix, "holds a broken matrix: .*indices"),
    (filled, r"what is no entry is 1.0\n  expected: a tensor whose fill value is 0"),
    (lacking_tensor, "holds a broken tensor: .*compressed_axes"),
    (wrong_axes, r"holds a broken tensor: compressed_axes \[0, 0\] of 2"),
    (outside, "holds a broken tensor: .*2"),
    (fractions, "array coords holds float64 numbers"),
    (objects, "is not a usable .npz file: it holds Python objects"),
    (another_version, "the description of the tensor is not understood"),
    (no_description, "the description of the tensor is not understood"),
    (no_archive, "is not a usable .npz file: File is not a zip file"),
]


@pytest.mark.parametrize(("make", "message"), ARCHIVE_ERRORS)
def test_a_bad_archive_is_an_error(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "a.npz")
    with pytest.raises(DataError, match=message):
        read_tensor(tmp_path / "a.npz")
