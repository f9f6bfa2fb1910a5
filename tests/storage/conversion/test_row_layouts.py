"""Arrays that are a matrix by rows or by columns already: read and written in one pass."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

import storel
from storel.storage.build import from_arrays
from storel.storage.conversion.row_layouts import CompressedRows, ListedRows, row_layout
from storel.storage.coordinates import SOME
from storel.storage.formats.known import known_formats
from storel.storage.tensor import Tensor, pack
from storel.syntax.parser import parse_format

SHAPE = (301, 203)
LAYOUTS = {
    "csr": CompressedRows((0, 1), "pos", "idx", "val"),
    "csc": CompressedRows((1, 0), "pos", "idx", "val"),
    "csf": CompressedRows((0, 1), "pos2", "idx2", "val", present="idx1"),
    "coo": ListedRows((0, 1), "row", "col", "val"),
    "bcsr(3, 7)": CompressedRows((0, 1), "pos", "idx", "val", (3, 7)),
    "bcsr(1, 4)": CompressedRows((0, 1), "pos", "idx", "val", (1, 4)),
}


def matrix(dtype: str = "float64", *, is_blocked: bool = False) -> sp.csr_array:
    random = np.random.default_rng(0)
    places = np.sort(random.choice(SHAPE[0] * SHAPE[1] // 2, 2 * SOME, replace=False))
    rows, columns = np.divmod(places, SHAPE[1])
    if is_blocked:
        rows, columns = np.nonzero(np.kron(np.random.default_rng(1).random((20, 25)) < 0.3, np.ones((9, 7))))
    values = np.arange(1, len(rows) + 1).astype(dtype)
    return sp.csr_array((values, (2 * rows if not is_blocked else rows, columns)), shape=SHAPE)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_is_told_by_the_mapping(name: str) -> None:
    assert row_layout(known_formats(None).resolve(parse_format(name), 2), SHAPE) == LAYOUTS[name]


@pytest.mark.parametrize("name", ["dense", "ell", "dia", "hash", "hyb", "bcsr_csr", "sell"])
def test_other_mappings_have_none(name: str) -> None:
    assert row_layout(known_formats(None).resolve(parse_format(name), 2), SHAPE) is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_arrays_are_those_that_packing_makes(name: str, is_blocked: bool, dtype: str) -> None:
    entries = storel.tensor(matrix(dtype, is_blocked=is_blocked)).to_coo()
    given = pack(known_formats(None).resolve(parse_format("csr"), 2), *entries, SHAPE)
    packed = pack(known_formats(None).resolve(parse_format(name), 2), *entries, SHAPE)
    found = given.to(name)
    assert_same(found, packed)
    assert_same(found.to("csr"), given)
    assert found.sizes == packed.sizes and found.makes_keys_once


@pytest.mark.parametrize("name", ["bcsr(3, 7)", "coo", "csf"])
def test_zeros_of_other_semirings_fill_places(name: str) -> None:
    coordinates, values = storel.tensor(matrix()).to_coo()
    resolve = known_formats(None).resolve
    given = pack(resolve(parse_format("csr"), 2), coordinates, values, SHAPE, "min_plus")
    found = given.to(name)
    assert_same(found, pack(resolve(parse_format(name), 2), coordinates, values, SHAPE, "min_plus"))
    assert_same(found.to("csr"), given)


def test_what_lies_in_tiles_outside_of_the_matrix_is_no_entry() -> None:
    tensor = storel.tensor(matrix(), format="csr").to("bcsr(4, 4)")
    filled = {**tensor.arrays, "val": np.where(tensor.arrays["val"] == 0, 5.0, tensor.arrays["val"])}
    given = from_arrays(tensor.storage, filled, SHAPE)
    coordinates, values = given.to_coo()
    expected = sp.csr_array((values, tuple(coordinates)), shape=SHAPE)
    assert (given.to("csr").to_scipy() != expected).nnz == 0


@pytest.mark.parametrize("name", ["csr", "coo", "csf", "bcsr(3, 7)"])
def test_stored_zeros_are_left_out(name: str) -> None:
    tensor = storel.tensor(matrix(), format="csr").to(name)
    values = tensor.arrays["val"].copy()
    values[::2] = 0
    given = from_arrays(tensor.storage, {**tensor.arrays, "val": values}, SHAPE)
    found = given.to("csr")
    assert found.nnz == len(found.arrays["val"]) == np.count_nonzero(values)
    np.testing.assert_array_equal(found.to_coo()[0], given.to_coo()[0])


def assert_same(found: Tensor, expected: Tensor) -> None:
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)
