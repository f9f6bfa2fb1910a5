from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from storel.errors import DataError
from storel.storage.formats.known import Formats
from storel.storage.matrices import from_scipy

FORMATS = Formats()
NAMES = ["coo", "csc", "csf", "csr", "dcsr", "dense"]


def matrix(layout: str) -> Any:
    return sp.random(3, 4, 0.5, format=layout, rng=1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_layout_of_scipy_goes_into_every_format(layout: str, name: str) -> None:
    tensor = from_scipy(matrix(layout), FORMATS, FORMATS.find(name, 2))
    np.testing.assert_array_equal(tensor.to_numpy(), matrix(layout).toarray())
    np.testing.assert_array_equal(tensor.to_scipy().toarray(), matrix(layout).toarray())
    assert tensor.format == name


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_compressed_matrices_are_wrapped_without_a_copy(layout: str, index: type) -> None:
    given = matrix(layout)
    given.indices, given.indptr = given.indices.astype(index), given.indptr.astype(index)
    tensor = from_scipy(given, FORMATS)
    assert tensor.format == layout
    for name, array in (("pos", given.indptr), ("idx", given.indices), ("val", given.data)):
        assert np.shares_memory(tensor.arrays[name], array)
    assert np.shares_memory(tensor.to_scipy().data, given.data)


def test_zeros_that_a_matrix_stores_are_no_entries() -> None:
    given = sp.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    tensor = from_scipy(given, FORMATS)
    assert (len(tensor.arrays["val"]), tensor.nnz) == (2, 1)
    np.testing.assert_array_equal(tensor.to_coo()[0], [[0], [1]])


@pytest.mark.parametrize(("semiring", "expected"), [("plus_times", [5.0, 1.0]), ("min_plus", [2.0, 1.0])])
def test_unsorted_rows_with_duplicates_are_mended_in_a_copy(semiring: str, expected: list[float]) -> None:
    given = sp.csr_array((np.array([1.0, 2, 3]), np.array([2, 0, 0]), np.array([0, 3, 3])), shape=(2, 3))
    tensor = from_scipy(given, FORMATS, semiring=semiring)
    np.testing.assert_array_equal(tensor.arrays["idx"], [0, 2])
    np.testing.assert_array_equal(tensor.arrays["val"], expected)
    np.testing.assert_array_equal(given.indices, [2, 0, 0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("part", "position", "value", "message"),
    [
        ("indices", 1, 77, r"indices\(1\) = 77 is outside 0:3"),
        ("indices", 0, -1, r"indices\(0\) = -1 is outside 0:3"),
        ("indptr", 1, -5, "indptr ascending from 0 to at most 3"),
        ("indptr", 1, 10**6, "indptr ascending from 0 to at most 3"),
        ("indptr", 2, 10**6, "indptr ascending from 0 to at most 3"),
    ],
)
def test_broken_matrices_are_refused(name: str, part: str, position: int, value: int, message: str) -> None:
    given = sp.csr_array((np.array([1.0, 2, 3]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    getattr(given, part)[position] = value
    with pytest.raises(DataError, match=message):
        from_scipy(given, FORMATS, FORMATS.find(name, 2))


@pytest.mark.parametrize(
    ("kind", "part", "array", "message"),
    [
        ("csr", "indptr", np.zeros(0, np.int32), "indptr of 3 elements"),
        ("csc", "indptr", np.array([0, 1, 2, 3, 3]), "indptr of 4 elements"),
        ("csr", "indices", np.array([0.0, 1.0, 2.0]), "indices holds float64 values"),
        ("coo", "coords", (np.array([0, 0, -1]), np.array([0, 1, 2])), "coordinate 0 of entry 2 is -1"),
        ("coo", "coords", (np.array([0, 0, 1]), np.array([0, 1, 3])), "coordinate 1 of entry 2 is 3"),
        ("coo", "data", np.array([1.0, 2.0]), "cannot be listed"),
        ("lil", "rows", np.array([[0, 7], [2]], dtype=object), "cannot be listed"),
    ],
)
def test_broken_arrays_of_matrices_are_refused(kind: str, part: str, array: Any, message: str) -> None:
    given = sp.csr_array((np.array([1.0, 2, 3]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    broken = given.asformat(kind)
    setattr(broken, part, array)
    for name in (None, *NAMES):
        with pytest.raises(DataError, match=message):
            from_scipy(broken, FORMATS, None if name is None else FORMATS.find(name, 2))


def test_compressed_vectors_of_scipy_are_checked() -> None:
    vector = sp.csr_array(np.array([1.0, 0.0, 2.0]))
    assert from_scipy(vector, FORMATS).to_numpy().tolist() == [1, 0, 2]
    vector.indices[1] = 3
    with pytest.raises(DataError, match=r"indices\(1\) = 3 is outside 0:3"):
        from_scipy(vector, FORMATS)
