from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import storel
from storel.errors import MemoryLimitError
from storel.semiring import SEMIRINGS
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.storage.tensor import Tensor, pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

FORMATS = Formats()
SHIPPED = [
    (name, rank)
    for name in ("coo", "csc", "csf", "csr", "dcsr", "dense")
    for rank in (1, 2, 3, 4)
    if rank in FORMATS.overloads(name)
]


def from_dense(storage: Format, dense: Any) -> Tensor:
    """Pack every place, zeros included, in an order that is not sorted."""
    coordinates = np.indices(dense.shape).reshape(dense.ndim, -1)[:, ::-1]
    return pack(storage, coordinates, dense.reshape(-1)[::-1], dense.shape)


def check(tensor: Tensor, dense: Any) -> None:
    """Compare with NumPy, look at the declared properties, and at the order of the entries."""
    verify_properties(tensor.storage, tensor.arrays, tensor.sizes)
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    coordinates, values = tensor.to_coo()
    wanted = np.array(np.nonzero(dense)).reshape(dense.ndim, -1)
    np.testing.assert_array_equal(coordinates, wanted)
    np.testing.assert_array_equal(values, dense[tuple(wanted)])
    assert tensor.nnz == len(values)
    assert tensor.dtype == dense.dtype == values.dtype


EXTENTS = {
    "square": (4, 4, 4, 4),
    "single": (1, 1, 1, 1),
    "without rows": (0, 3, 2, 3),
    "without columns": (3, 0, 2, 2),
    "oblong": (2, 7, 1, 3),
}


@pytest.mark.parametrize("shape", EXTENTS.values(), ids=EXTENTS)
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_what_is_packed_reads_back(name: str, rank: int, density: float, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(3)
    dense = random.integers(1, 9, shape[:rank]) * (random.random(shape[:rank]) < density)
    check(from_dense(FORMATS.find(name, rank), dense.astype(np.float64)), dense.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_scalar_types_are_kept(name: str, rank: int, dtype: type) -> None:
    dense = (np.random.default_rng(5).integers(0, 3, (3,) * rank)).astype(dtype)
    check(from_dense(FORMATS.find(name, rank), dense), dense)


@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_empty_rows_stay_empty(name: str, rank: int) -> None:
    dense = np.zeros((5,) * rank)
    dense[(3,) * rank] = 2.0
    check(from_dense(FORMATS.find(name, rank), dense), dense)


@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_zeros_are_no_entries_and_nan_is_one(name: str, rank: int) -> None:
    storage = FORMATS.find(name, rank)
    coordinates = np.array([[0, 1, 2]] * rank)
    tensor = pack(storage, coordinates, np.array([-0.0, np.nan, 0.0]), (3,) * rank)
    assert tensor.nnz == 1
    np.testing.assert_array_equal(tensor.to_coo()[0], [[1]] * rank)
    assert np.isnan(tensor.to_coo()[1]).all()


@pytest.mark.parametrize(("semiring", "total"), [("plus_times", 6.0), ("min_plus", 1.0), ("max_times", 3.0)])
@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_duplicates_are_combined(name: str, rank: int, semiring: str, total: float) -> None:
    coordinates = np.array([[1, 0, 1, 1]] * rank)
    values = np.array([3.0, 5.0, 1.0, 2.0])
    tensor = pack(FORMATS.find(name, rank), coordinates, values, (2,) * rank, semiring)
    np.testing.assert_array_equal(tensor.to_coo()[1], [5.0, total])
    verify_properties(tensor.storage, tensor.arrays, tensor.sizes)


@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_what_cancels_is_no_entry(name: str, rank: int) -> None:
    coordinates = np.array([[1, 0, 1]] * rank)
    tensor = pack(FORMATS.find(name, rank), coordinates, np.array([3, 5, -3]), (2,) * rank)
    np.testing.assert_array_equal(tensor.to_coo()[1], [5])


@pytest.mark.parametrize(("name", "rank"), SHIPPED)
def test_missing_places_hold_the_zero_of_the_semiring(name: str, rank: int) -> None:
    tensor = pack(
        FORMATS.find(name, rank), np.array([[1, 0]] * rank), np.array([3.0, 0.0]), (2,) * rank, "min_plus"
    )
    expected = np.full((2,) * rank, SEMIRINGS["min_plus"].zero, dtype=np.float64)
    expected[(1,) * rank], expected[(0,) * rank] = 3.0, 0.0
    np.testing.assert_array_equal(tensor.to_numpy(), expected)
    assert tensor.nnz == 2


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_entries_in_any_format_read_back(data: st.DataObject) -> None:
    name, rank = data.draw(st.sampled_from(SHIPPED))
    shape = tuple(data.draw(st.integers(1, 5)) for _ in range(rank))
    keys = st.tuples(*(st.integers(0, extent - 1) for extent in shape))
    entries = data.draw(st.lists(st.tuples(keys, st.integers(-3, 3)), max_size=25))
    dense = np.zeros(shape, dtype=np.int64)
    for key, value in entries:
        dense[key] += value
    coordinates = np.array([key for key, _ in entries], dtype=np.int64).reshape(-1, rank).T
    values = np.array([value for _, value in entries], dtype=np.int64)
    check(pack(FORMATS.find(name, rank), coordinates, values, shape), dense)


def test_indices_are_as_small_as_suffices() -> None:
    csr = FORMATS.find("csr", 2)
    small = pack(csr, np.array([[0], [7]]), np.array([1.0]), (1, 2**31 - 1))
    large = pack(csr, np.array([[0], [2**31]]), np.array([1.0]), (1, 2**31 + 1))
    assert (small.arrays["idx"].dtype, small.arrays["pos"].dtype) == (np.int32, np.int32)
    assert (large.arrays["idx"].dtype, large.arrays["idx"][0]) == (np.int64, 2**31)


def test_enormous_extents_need_no_linear_key() -> None:
    coordinates = np.array([[2**40, 5, 2**40], [3, 2**40, 1]])
    tensor = pack(FORMATS.find("dcsr", 2), coordinates, np.array([1.0, 2.0, 3.0]), (2**50, 2**50))
    np.testing.assert_array_equal(tensor.to_coo()[0], [[5, 2**40, 2**40], [2**40, 1, 3]])
    np.testing.assert_array_equal(tensor.to_coo()[1], [2.0, 3.0, 1.0])


@pytest.mark.parametrize(("name", "what"), [("dense", "the values"), ("csr", "pos")])
def test_what_does_not_fit_is_refused_before_it_is_allocated(name: str, what: str) -> None:
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match=f"{what} would need [0-9,.]+ MB"):
        pack(FORMATS.find(name, 2), np.array([[1], [2]]), np.array([1.0]), (2**40, 2**20))
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


@pytest.mark.parametrize("stored", ["dense", "coo", "csr", "ell", "dia"])
def test_integers_become_real_where_missing_entries_are_infinite(stored: str) -> None:
    coordinates, values = np.array([[0, 2], [1, 2]]), np.array([5, 7])
    tensor = storel.tensor((coordinates, values), stored, shape=(3, 3), semiring="min_plus")
    wanted = np.full((3, 3), np.inf)
    wanted[0, 1], wanted[2, 2] = 5, 7
    np.testing.assert_array_equal(tensor.to_numpy(), wanted)
    np.testing.assert_array_equal(tensor.to("dense").to_numpy(), wanted)


def test_what_may_help_where_memory_does_not_suffice() -> None:
    hints = {"dense": "a sparse format", "csr": "keeps nothing for rows without entries"}
    for name, hint in hints.items():
        stored = FORMATS.find(name, 2)
        with pytest.raises(MemoryLimitError) as failure:
            pack(stored, np.zeros((2, 1), np.int64), np.ones(1), (10**6, 10), memory_limit=10_000)
        assert hint in str(failure.value.hint)


def test_a_memory_limit_is_obeyed() -> None:
    coordinates, values = np.array([[1], [2]]), np.array([1.0])
    dense = FORMATS.find("dense", 2)
    assert pack(dense, coordinates, values, (100, 100), memory_limit=80_000).nnz == 1
    with pytest.raises(MemoryLimitError):
        pack(dense, coordinates, values, (100, 100), memory_limit=79_999)


def created(text: str) -> Format:
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    return Format(statement.name, statement)


USERS_OWN = [
    # column-major
    "CREATE FORMAT f(T: real[m, n]) USING val: real[n * m] "
    "AS sum(<j, _> in 0:n) sum(<i, _> in 0:m) { (i, j) -> val(j * m + i) }",
    # the lower dimension first, both compressed
    "CREATE FORMAT f(T: real[m, n]) USING col: int[c] IN 0:n INCREASING, "
    "pos: int[c + 1] ASCENDING FROM 0 TO e, idx: int[e] IN 0:m INCREASING WITHIN pos, val: real[e] "
    "AS sum(<p, j> in col(0:c)) sum(<q, i> in idx(pos(p):pos(p + 1))) { (i, j) -> val(q) }",
    # a dense level below a compressed one
    "CREATE FORMAT f(T: real[m, n]) USING row: int[r] IN 0:m INCREASING, val: real[r * n] "
    "AS sum(<p, i> in row(0:r)) { i -> sum(<j, _> in 0:n) { j -> val(n * p + j) } }",
    # let and other names
    "CREATE FORMAT f(T: real[m, n]) USING val: real[m * n] "
    "AS sum(<a, _> in 0:m) let base = a * n in sum(<b, _> in 0:n) { (a, b) -> val(base + b) }",
]


@pytest.mark.parametrize("text", USERS_OWN)
def test_a_users_format_is_packed_by_its_mapping(text: str) -> None:
    dense = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]])
    check(from_dense(created(text), dense), dense)


@pytest.mark.parametrize("extent", [9, 2**33])
@pytest.mark.parametrize("text", ["coo", "csf", "dcsr", "levels(compressed, singleton)"])
def test_arrays_are_contiguous_whatever_the_coordinates_are(text: str, extent: int) -> None:
    transposed = np.array([(0, 3), (1, 2), (1, 4), (2, 2)]).T
    zeros = np.array([1.0, 2.0, 0.0, 3.0])
    for values in (zeros, zeros + 1):
        tensor = storel.tensor((transposed, values), format=text, shape=(extent, extent))
        assert all(array.flags.c_contiguous for array in tensor.arrays.values())
