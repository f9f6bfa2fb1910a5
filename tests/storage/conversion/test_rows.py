"""A matrix row by row: the same as if its entries were listed, sorted and packed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse as sp

import storel
from storel.source import Source
from storel.storage.build import from_arrays
from storel.storage.conversion.rows import rows_of
from storel.storage.coordinates import SOME
from storel.storage.formats.format import Format
from storel.storage.formats.known import known_formats
from storel.storage.tensor import Tensor, pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

COLUMNS = "levels(dense, compressed; order=(1,0))"


def made(storage: str, dtype: str = "float64", entries: int = 2 * SOME) -> Tensor:
    random = np.random.default_rng(0)
    places = np.sort(random.choice(300 * 200, entries, replace=False))
    values = np.arange(1, entries + 1).astype(dtype)
    return storel.tensor((np.stack(np.divmod(places, 200)), values), storage, (300, 200))


LISTED = ("csr", "csc", "coo", "dcsr", "ell", "bcsr", "bcsr(3, 7)", "bcsr(5, 1)", "band", "sell", "rle")
"""Formats whose mapping makes the entries row by row, or that are turned."""

GATHERED = ("hash", "hyb", "dia", "bucketed_ell")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize(("source", "wanted"), [("csr", "csc"), ("csc", "csr"), ("csr", COLUMNS)])
def test_the_arrays_are_those_that_packing_makes(source: str, wanted: str, dtype: str) -> None:
    tensor, storage = made(source, dtype), known_formats(None).resolve(parse_format(wanted), 2)
    rows = rows_of(tensor)
    assert rows is not None
    found, packed = rows.arrays(storage, "plus_times"), pack(storage, *tensor.to_coo(), tensor.shape).arrays
    assert found is not None and found.keys() == packed.keys()
    for name, array in packed.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
    assert tensor.to(wanted).format == storage.text


@pytest.mark.parametrize("source", (*LISTED, *GATHERED))
def test_rows_are_the_entries(source: str) -> None:
    tensor = made(source)
    rows = rows_of(tensor)
    assert rows is not None
    coordinates, values = tensor.to_coo()
    np.testing.assert_array_equal(rows.coordinates(), coordinates)
    np.testing.assert_array_equal(rows.values, values)
    turned = rows.turned()
    assert turned.shape == (200, 300) and (np.diff(turned.turned().boundaries) >= 0).all()
    np.testing.assert_array_equal(turned.turned().columns, rows.columns)


@pytest.mark.parametrize("wanted", ["csr", "csc", "coo", "dcsr", "bcsr(3, 7)", "dia"])
@pytest.mark.parametrize("source", ["bcsr(3, 7)", "dia", "coo", "ell", "hash", "hyb"])
def test_any_format_is_stored_as_any_other(source: str, wanted: str) -> None:
    tensor = made(source)
    packed = storel.tensor((tensor.to_coo()[0], tensor.to_coo()[1]), wanted, tensor.shape)
    found = tensor.to(wanted)
    assert found.arrays.keys() == packed.arrays.keys()
    for name, array in packed.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def test_few_entries_are_listed_and_packed() -> None:
    assert rows_of(made("csr", entries=SOME - 1)) is None


def test_stored_zeros_are_left_out() -> None:
    given = sp.csr_array(made("csr").to_scipy()).copy()
    given.data[::2] = 0.0
    stored = storel.tensor(given, "csr")
    rows = rows_of(stored)
    assert rows is not None and len(rows.values) == SOME
    assert stored.to("csc").nnz == stored.nnz == SOME


def test_columns_that_do_not_increase_are_sorted() -> None:
    arrays = {"idx1": np.array([1, 0] * SOME, dtype=np.int32), "val": np.ones(2 * SOME)}
    arrays |= {"pos": np.arange(0, 2 * SOME + 1, 2, dtype=np.int32)}
    text = """
        CREATE FORMAT unsorted(T: real[m, n])
          USING pos: int[m + 1] ASCENDING FROM 0 TO nnz, idx1: int[nnz] IN 0:n, val: real[nnz]
          AS sum(<i, _> in 0:m) sum(<p, j> in idx1(pos(i):pos(i + 1))) { (i, j) -> val(p) }
    """
    (created,) = parse(Source("", text)).statements
    assert isinstance(created, CreateFormat)
    tensor = from_arrays(Format("unsorted", created), arrays, (SOME, 2))
    assert (tensor.to("csr").arrays["idx"] == np.array([0, 1] * SOME)).all()


@pytest.mark.parametrize("wanted", ["csr", "csc", "coo", "csf", "bcsr(3, 7)", "bcsr(1, 4)"])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus"])
def test_entries_in_any_order_are_packed_alike(wanted: str, semiring: str) -> None:
    coordinates, values = made("csr").to_coo()
    storage = known_formats(None).resolve(parse_format(wanted), 2)
    expected = pack(storage, coordinates, values, (300, 200), semiring, memory_limit=2**30)
    order = np.random.default_rng(3).permutation(len(values))
    for number in (order, np.argsort(coordinates[1], kind="stable"), slice(None)):
        found = pack(storage, coordinates[:, number], values[number], (300, 200), semiring)
        assert found.sizes == expected.sizes and found.arrays.keys() == expected.arrays.keys()
        for name, array in expected.arrays.items():
            np.testing.assert_array_equal(found.arrays[name], array, strict=True)


@pytest.mark.parametrize("wanted", ["csr", "csc", "coo", "bcsr(3, 7)"])
def test_entries_of_the_same_key_are_added(wanted: str) -> None:
    coordinates, values = made("csr").to_coo()
    found = storel.tensor((np.tile(coordinates, 2), np.append(values, 2 * values)), wanted, (300, 200))
    np.testing.assert_array_equal(found.to_coo()[1], 3 * values)
    cancelled = storel.tensor((np.tile(coordinates, 2), np.append(values, -values)), wanted, (300, 200))
    assert cancelled.nnz == 0 and not cancelled.arrays["val"].any()


def test_keys_outside_of_the_matrix_that_a_guard_keeps_away_are_no_rows() -> None:
    text = """
        CREATE FORMAT guarded(T: real[m, n])
          USING row: int[z], col: int[z], val: real[z]
          AS sum(<p, i> in row(0:z)) if (i < m) then { (i, col(p)) -> val(p) }
    """
    (created,) = parse(Source("", text)).statements
    assert isinstance(created, CreateFormat)
    row = np.sort(np.arange(2 * SOME) % (SOME + SOME // 2))
    arrays = {"row": row, "col": np.arange(2 * SOME), "val": np.ones(2 * SOME)}
    tensor = from_arrays(Format("guarded", created), arrays, (SOME, 2 * SOME))
    rows = rows_of(tensor)
    assert rows is not None and rows.boundaries[-1] == np.count_nonzero(row < SOME)
    np.testing.assert_array_equal(rows.coordinates()[0], row[row < SOME])
