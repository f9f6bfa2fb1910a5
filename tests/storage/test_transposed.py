"""A matrix of compressed rows by its columns: the same as if its entries were listed, sorted and packed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

import storel
from storel.storage.coordinates import SOME
from storel.storage.formats import known_formats
from storel.storage.tensor import Tensor, pack
from storel.storage.transposed import transposed_arrays
from storel.syntax.parser import parse_format

COLUMNS = "levels(dense, compressed; order=(1,0))"


def made(storage: str, dtype: str = "float64", entries: int = 2 * SOME) -> Tensor:
    random = np.random.default_rng(0)
    places = np.sort(random.choice(300 * 200, entries, replace=False))
    values = np.arange(1, entries + 1).astype(dtype)
    return storel.tensor((np.stack(np.divmod(places, 200)), values), storage, (300, 200))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize(("source", "wanted"), [("csr", "csc"), ("csc", "csr"), ("csr", COLUMNS)])
def test_the_arrays_are_those_that_packing_makes(source: str, wanted: str, dtype: str) -> None:
    tensor, storage = made(source, dtype), known_formats(None).resolve(parse_format(wanted), 2)
    found = transposed_arrays(tensor, storage)
    packed = pack(storage, *tensor.to_coo(), tensor.shape).arrays
    assert found is not None and found.keys() == packed.keys()
    for name, array in packed.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    assert tensor.to(wanted).format == storage.text


@pytest.mark.parametrize(
    ("source", "wanted"), [("csr", "csr"), ("csr", "dcsr"), ("coo", "csc"), ("csc", "dense")]
)
def test_other_formats_are_listed_and_packed(source: str, wanted: str) -> None:
    storage = known_formats(None).resolve(parse_format(wanted), 2)
    assert transposed_arrays(made(source), storage) is None


def test_few_entries_are_listed_and_packed() -> None:
    storage = known_formats(None).resolve(parse_format("csc"), 2)
    assert transposed_arrays(made("csr", entries=SOME - 1), storage) is None


def test_stored_zeros_are_left_out() -> None:
    given = sp.csr_array(made("csr").to_scipy())
    given.data[::2] = 0.0
    stored = storel.tensor(given, "csr")
    assert stored.to("csc").nnz == stored.nnz == SOME
