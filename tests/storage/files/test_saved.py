from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.errors import DataError, StorelError
from storel.host import resources
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


BY_COLUMNS = (
    "CREATE FORMAT dense(T: real[m, n]) USING val: real[m * n] "
    "AS sum(<j, _> in 0:n, <i, _> in 0:m) { (i, j) -> val(j * m + i) }"
)
PADDED = (
    "CREATE FORMAT padded(T: real[m, n]; ld: int) WHERE ld >= n USING val: real[m * ld] "
    "AS sum(<i, _> in 0:m, <j, _> in 0:n) { (i, j) -> val(i * ld + j) }"
)
SWAPPED = (
    "CREATE FORMAT coo(T: real[m, n]) USING a: int[nnz], b: int[nnz], val: real[nnz] "
    "AS sum(<p, j> in a(0:nnz)) { (b(p), j) -> val(p) }"
)
COMPOSED = (
    "CREATE FORMAT parts(T: real[m, n]) USING one: ell(1) TAKES <(i, j), v> WHERE v > 1, two: coo, "
    "three: levels(dense, compressed) AS one + two + three"
)
OWN = [
    (BY_COLUMNS, "dense"),
    (BY_COLUMNS.replace("dense", "csr"), "csr"),
    (PADDED, "padded(ld=7)"),
    (COMPOSED, "parts"),
    (f"{SWAPPED}; {COMPOSED}", "parts"),
    (f"{SWAPPED}; {COMPOSED.replace('parts', 'inner')}; "
     "CREATE FORMAT around(T: real[m, n]) USING a: inner, b: coo AS a + b", "around"),
]  # fmt: skip
NUMBERS = np.array([[0.0, 1.0, 2.0, 4.0], [3.0, 0.0, 5.0, 0.0]])


def stored_by(formats: str, storage: str) -> storel.Tensor:
    """Store numbers in a format of a script's own."""
    text = f"{formats}; CREATE TENSOR y STORED AS {storage} AS sum(<(i, j), a> in A) {{ (i, j) -> a }}"
    found = storel.run(text, A=NUMBERS)
    assert isinstance(found, storel.Tensor)
    return found


def description(path: Path) -> dict[str, Any]:
    return json.loads(str(np.load(path)["storel"]))


@pytest.mark.parametrize(("formats", "storage"), OWN)
def test_a_format_of_ones_own_is_kept_in_the_file(tmp_path: Path, formats: str, storage: str) -> None:
    stored = stored_by(formats, storage)
    for tensor in (stored, pickle.loads(pickle.dumps(stored))):
        tensor.save(tmp_path / "y.npz")
        found = storel.read(tmp_path / "y.npz")
        assert found.format == stored.format
        assert found.storage.declaration == stored.storage.declaration
        assert found.storage.takings == stored.storage.takings
        np.testing.assert_array_equal(found.to_numpy(), NUMBERS)
        found.save(tmp_path / "again.npz")
        assert description(tmp_path / "again.npz") == description(tmp_path / "y.npz")


def test_the_name_of_a_format_that_ships_suffices(tmp_path: Path) -> None:
    copy = (resources.directory("storage_formats") / "csr.sdql").read_text(encoding="utf-8")
    tensors = [storel.tensor(NUMBERS, name) for name in ("csr", "hyb", "levels(dense, fixed)")]
    for tensor in (*tensors, stored_by(copy, "csr")):
        tensor.save(tmp_path / "y.npz")
        assert description(tmp_path / "y.npz").keys() == {
            "version",
            "format",
            "shape",
            "semiring",
            "is_closed",
        }
        np.testing.assert_array_equal(storel.read(tmp_path / "y.npz").to_numpy(), NUMBERS)


def test_the_format_of_a_file_is_not_another_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "by_columns.sdql").write_text(BY_COLUMNS.replace("dense", "by_columns"))
    (tmp_path / "other").mkdir()
    by_rows = BY_COLUMNS.replace("dense", "by_columns").replace("j * m + i", "i * n + j")
    (tmp_path / "other" / "by_columns.sdql").write_text(by_rows)
    storel.tensor(NUMBERS, "by_columns", formats=tmp_path).save(tmp_path / "own.npz")
    for formats in (None, tmp_path, tmp_path / "other"):
        found = storel.read(tmp_path / "own.npz", formats=formats)
        np.testing.assert_array_equal(found.to_numpy(), NUMBERS)
    asked = storel.read(tmp_path / "own.npz", format="by_columns", formats=tmp_path / "other")
    np.testing.assert_array_equal(asked.arrays["val"], NUMBERS.reshape(-1))
    storel.tensor(NUMBERS, "dense").save(tmp_path / "shipped.npz")
    for name in ("own.npz", "shipped.npz"):
        sums = "CREATE TENSOR y AS sum(<(i, j), a> in A) { i -> a * j }"
        found = storel.run(f"{BY_COLUMNS}; LOAD TENSOR A FROM '{tmp_path / name}'; {sums}")
        assert isinstance(found, storel.Tensor)
        np.testing.assert_array_equal(found.to_numpy(), NUMBERS @ np.arange(4))


def test_parts_are_those_that_the_format_was_composed_of(tmp_path: Path) -> None:
    """Two of them may have one name: that of the script, and the shipped one in a format of a directory."""
    listed = "CREATE FORMAT listed(T: real[m, n]) USING a: ell(1), b: coo AS a + b"
    (tmp_path / "listed.sdql").write_text(listed)
    parts = "one: listed TAKES <(i, j), v> WHERE v > 2, two: coo"
    composed = f"CREATE FORMAT parts(T: real[m, n]) USING {parts} AS one + two"
    program = f"{SWAPPED}; {composed}; CREATE TENSOR y STORED AS parts AS A * 1"
    stored = storel.run(program, A=NUMBERS, formats=tmp_path)
    assert isinstance(stored, storel.Tensor)
    assert {"one_b_row", "two_a", "two_b"} <= stored.arrays.keys()
    stored.save(tmp_path / "y.npz")
    found = storel.read(tmp_path / "y.npz")
    assert found.storage.declaration == stored.storage.declaration
    np.testing.assert_array_equal(found.to_numpy(), NUMBERS)


@pytest.mark.parametrize(
    ("creation", "message"),
    [
        ({"text": "CREATE FORMAT padded(", "parts": []}, "<its format>"),
        ({"text": "CREATE TENSOR y AS 1", "parts": []}, "the text of its format creates none"),
        ({"text": BY_COLUMNS, "parts": []}, "its format 'padded' is not what was created"),
        ({"text": PADDED.replace("+ j)", "+ k)"), "parts": []}, "'k'"),
        ({"text": 1}, "the description of the tensor is not understood"),
    ],
)
def test_a_text_that_is_no_format_is_an_error(tmp_path: Path, creation: Any, message: str) -> None:
    stored = stored_by(PADDED, "padded(ld=5)")
    stored.save(tmp_path / "y.npz")
    changed = json.dumps(description(tmp_path / "y.npz") | {"creation": creation})
    arrays: dict[str, Any] = {"storel": np.array(changed), **stored.arrays}
    np.savez(tmp_path / "y.npz", **arrays)
    with pytest.raises(StorelError) as caught:
        storel.read(tmp_path / "y.npz")
    assert "y.npz: " in str(caught.value) and message in str(caught.value)
