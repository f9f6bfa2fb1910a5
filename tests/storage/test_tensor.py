from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import scipy.sparse

from storel.errors import MemoryLimitError, TypeMismatchError
from storel.source import Source
from storel.storage.build import from_arrays, from_coordinates, from_numpy
from storel.storage.formats.known import Formats
from storel.storage.matrices import from_scipy
from storel.storage.tensor import Tensor
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

FORMATS = Formats()


def test_it_says_what_it_is() -> None:
    tensor = from_numpy(np.array([[0, 1.0], [2.0, 3.0]]), FORMATS, FORMATS.find("csr", 2))
    assert repr(tensor) == "<storel.Tensor float64[2, 2] in csr, 3 entries>"
    assert (tensor.shape, tensor.dtype, tensor.format, tensor.nnz) == ((2, 2), np.float64, "csr", 3)


def test_room_at_the_end_is_no_entry() -> None:
    text = (
        "CREATE FORMAT padded(T: real[m, n]; k: int) USING val: real[m * n + k] "
        "AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }"
    )
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    known = Formats()
    known.create(statement)
    padded = known.resolve(parse_format("padded(2)"), 2)
    given = from_arrays(padded, {"val": np.arange(8.0)}, (2, 3))
    assert given.nnz == 5
    np.testing.assert_array_equal(given.to_numpy(), [[0, 1, 2], [3, 4, 5]])
    packed = from_numpy(np.arange(6.0).reshape(2, 3), known, padded)
    assert packed.arrays["val"].tolist() == [0, 1, 2, 3, 4, 5, 0, 0]


def test_a_scalar_converts_to_a_number() -> None:
    assert float(from_numpy(np.array(2.5), FORMATS)) == 2.5
    assert int(from_numpy(np.array(3), FORMATS)) == 3
    assert from_numpy(np.array(True), FORMATS).item() is True
    with pytest.raises(TypeMismatchError, match="only a tensor of rank 0 converts to a number"):
        float(from_numpy(np.zeros(1), FORMATS))


def test_the_dense_form_is_refused_where_it_does_not_fit() -> None:
    tensor = from_coordinates(
        np.array([[0], [0]]), np.ones(1), (2**40, 2**40), FORMATS, FORMATS.find("coo", 2)
    )
    with pytest.raises(MemoryLimitError, match=r"a dense array of shape \(1099511627776, 1099511627776\)"):
        tensor.to_numpy()
    small = from_coordinates(np.array([[0], [0]]), np.ones(1), (10, 10), FORMATS)
    with pytest.raises(MemoryLimitError):
        small.to_numpy(memory_limit=799)


def test_changing_the_dense_form_leaves_the_tensor() -> None:
    tensor = from_numpy(np.ones((2, 2)), FORMATS)
    tensor.to_numpy()[:] = 7
    np.testing.assert_array_equal(tensor.to_numpy(), np.ones((2, 2)))


def test_scipy_holds_vectors_and_matrices() -> None:
    vector = from_coordinates(np.array([[3, 1]]), np.array([1.0, 2.0]), (5,), FORMATS)
    np.testing.assert_array_equal(vector.to_scipy().toarray(), [0, 2, 0, 1, 0])
    with pytest.raises(TypeMismatchError, match=r"scipy\.sparse holds vectors and matrices"):
        from_numpy(np.ones((1, 1, 1)), FORMATS).to_scipy()


def test_entries_are_sorted_whatever_the_format() -> None:
    tensor = from_numpy(np.array([[0, 1], [2, 3]]), FORMATS, FORMATS.find("csc", 2))
    coordinates, values = tensor.to_coo()
    np.testing.assert_array_equal(coordinates, [[0, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(values, [1, 2, 3])


def test_missing_integers_are_infinite_where_the_zero_is() -> None:
    keys, values = np.array([[0], [1]]), np.array([3])
    tensor = from_coordinates(keys, values, (2, 2), FORMATS, FORMATS.find("csr", 2), "min_plus")
    np.testing.assert_array_equal(tensor.to_numpy(), [[np.inf, 3], [np.inf, np.inf]])
    assert from_numpy(np.array(3), FORMATS, None, "min_plus").to_numpy().dtype == np.int64


@pytest.mark.parametrize("stored", ["dense", "column_major", "csr", "coo"])
def test_numpy_takes_a_tensor_as_a_dense_array(stored: str) -> None:
    dense = np.array([[0, 1, 3], [2, 0, 4]])
    tensor = from_numpy(dense, FORMATS).to(stored)
    np.testing.assert_array_equal(np.asarray(tensor), dense)
    assert np.asarray(tensor, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(dense + np.asarray(tensor), 2 * dense)
    copied = np.array(tensor)
    assert copied.flags.writeable
    assert not np.shares_memory(copied, tensor.arrays["val"])


def test_numpy_reads_a_dense_tensor_where_it_lies() -> None:
    stored = from_numpy(np.array([[0, 1, 3], [2, 0, 4]]), FORMATS)
    for tensor in (stored, stored.to("column_major")):
        for taken in (np.asarray(tensor), np.asarray(tensor, copy=False), np.asarray(tensor, dtype=int)):
            assert np.shares_memory(taken, tensor.arrays["val"])
            assert not taken.flags.writeable
        with pytest.raises(ValueError, match="becomes this array only by a copy"):
            np.asarray(tensor, dtype=np.float32, copy=False)
    with pytest.raises(ValueError, match="a tensor in csr becomes this array only by a copy"):
        np.asarray(stored.to("csr"), copy=False)


def _pickled(tensor: Tensor) -> Tensor:
    return pickle.loads(pickle.dumps(tensor))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, _pickled])
def test_neither_arrays_nor_sizes_of_a_tensor_can_be_written_to(again: Callable[[Tensor], Tensor]) -> None:
    given = np.array([[0.0, 1.0], [2.0, 3.0]])
    for tensor in (from_numpy(given, FORMATS), from_scipy(scipy.sparse.csr_array(given), FORMATS)):
        kept = again(tensor)
        with pytest.raises(TypeError, match="does not support item assignment"):
            cast(Any, kept.arrays)["val"] = np.zeros(4)
        with pytest.raises(TypeError, match="does not support item assignment"):
            cast(Any, kept.sizes)["m"] = 1
        for array in kept.arrays.values():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        np.testing.assert_array_equal(kept.to_numpy(), given)
    assert np.shares_memory(from_numpy(given, FORMATS).arrays["val"], given)
    assert given.flags.writeable


@pytest.mark.parametrize("stored", ["csr", "csc", "coo"])
def test_what_is_handed_out_cannot_change_a_tensor(stored: str) -> None:
    given = scipy.sparse.csr_array([[0.0, 1.0], [2.0, 3.0]])
    tensor = from_scipy(given, FORMATS, FORMATS.find(stored, 2))
    matrix = tensor.to_scipy()
    with pytest.raises(ValueError, match="read-only"):
        matrix.data[:] = 0
    for part in tensor.to_coo():
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 7
    changed = matrix.copy()
    changed.data[:1] = 0
    np.testing.assert_array_equal(matrix @ np.ones(2), [1, 5])
    np.testing.assert_array_equal(tensor.to_numpy(), given.toarray())


SHIFTED = np.roll(np.eye(40), 1, axis=1)


@pytest.mark.parametrize(
    "stored", ["csr", "coo", "dense", "hash", "bitmap", "mask", "one_hot", "permutation", "identity", "ell"]
)
def test_entries_that_are_stored_are_listed(stored: str) -> None:
    dense = np.eye(40) if stored == "identity" else SHIFTED
    assert from_numpy(dense, FORMATS, FORMATS.find(stored, 2)).lists_entries


@pytest.mark.parametrize(
    ("stored", "arrays"),
    [
        ("low_rank(1)", {"u": np.ones(1000), "v": np.ones(1000)}),
        ("kronecker(30, 30)", {"a": np.ones(900), "b": np.ones(900)}),
        ("constant", {"val": np.ones(1)}),
        ("toeplitz", {"val": np.ones(1999)}),
    ],
)
def test_entries_of_which_there_are_many_more_than_is_stored_are_not_listed(
    stored: str, arrays: dict[str, Any]
) -> None:
    size = 900 if "kron" in stored else 1000
    tensor = from_arrays(FORMATS.resolve(parse_format(stored), 2), arrays, (size, size))
    assert not tensor.lists_entries
