"""Values along diagonals: by rows they are what the mapping says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import storel
from storel.arrays import Array
from storel.source import Source
from storel.storage.build import from_arrays
from storel.storage.conversion.diagonals import rows_of_diagonals
from storel.storage.conversion.rows import rows_of
from storel.storage.coordinates import SOME
from storel.storage.formats.format import Format
from storel.storage.tensor import Tensor
from storel.storage.unpacking.interpreted import interpreted_entries
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

BY_ROWS = """
CREATE FORMAT made(T: real[m, n])
  USING off: int[d], val: real[z]
  AS sum(<k, o> in off(0:d)) sum(<i, _> in max(0, -o):min(m, n - o)) { (i, i + o) -> val(k * m + i) }
"""
BY_COLUMNS = """
CREATE FORMAT made(T: real[m, n])
  USING off: int[d], val: real[z]
  AS sum(<k, o> in off(0:d)) sum(<j, _> in max(0, o):min(n, m + o)) { (j - o, j) -> val(j + k * n) }
"""
UPWARD = """
CREATE FORMAT made(T: real[m, n])
  USING off: int[d], val: real[z]
  AS sum(<k, o> in off(0:d)) sum(<j, _> in max(0, o):min(n, m + o)) { (j - o, j) -> val(k * m + j - o) }
"""
CUT = """
CREATE FORMAT made(T: real[m, n])
  USING off: int[d], val: real[z]
  AS sum(<k, o> in off(0:d)) sum(<i, _> in max(1, -o):min(m, n - o) - 1) { (i, i + o) -> val(k * m + i) }
"""
NUMBERED = """
CREATE FORMAT made(T: real[m, n])
  USING off: int[d], val: real[z]
  AS sum(<k, _> in 0:d) sum(<i, _> in max(0, 1 - k):min(m, n + 1 - k)) { (i, i + k - 1) -> val(k * m + i) }
"""
TEXTS = (BY_ROWS, BY_COLUMNS, UPWARD, CUT, NUMBERED)


def stored(text: str, offsets: Array, values: Array, shape: tuple[int, int]) -> Tensor:
    (created,) = parse(Source("", text)).statements
    assert isinstance(created, CreateFormat)
    return from_arrays(Format("made", created), {"off": offsets, "val": values}, shape)


def interpreted(tensor: Tensor) -> tuple[Array, Array]:
    """Return coordinates and values as the reference interpreter finds them."""
    coordinates, values = interpreted_entries(
        tensor.storage.mapping, tensor.arrays, tensor.sizes, tensor.shape, "plus_times", np.dtype(np.int64)
    )
    return coordinates, values.astype(tensor.dtype)


@given(st.data())
def test_they_are_what_the_interpreter_makes_of_the_mapping(data: st.DataObject) -> None:
    shape = (data.draw(st.integers(1, 9), "rows"), data.draw(st.integers(1, 9), "columns"))
    inside = st.integers(1 - shape[0], shape[1] - 1)
    offsets = data.draw(st.lists(inside, min_size=1, max_size=5, unique=True), "offsets")
    dtype = data.draw(st.sampled_from(["float64", "float32", "int64", "int32", "bool"]), "dtype")
    random = np.random.default_rng(data.draw(st.integers(0, 99), "seed"))
    values = random.choice([0, 0, 1, 2, 3], len(offsets) * max(shape)).astype(dtype)
    if values.dtype.kind == "f":
        values[::3] = random.choice([np.nan, np.inf, -0.0, -1], len(values[::3]))
    index_type = data.draw(st.sampled_from([np.int32, np.int64]), "indices")
    text = data.draw(st.sampled_from([BY_ROWS, BY_COLUMNS, UPWARD, CUT]), "text")
    tensor = stored(text, np.array(offsets, dtype=index_type), values, shape)
    found = rows_of_diagonals(tensor.storage.chains[0], tensor.arrays, tensor.sizes, shape)
    assume(found is not None)
    assert found is not None
    boundaries, columns, kept = found
    coordinates, expected = interpreted(tensor)
    np.testing.assert_array_equal(np.repeat(np.arange(shape[0]), np.diff(boundaries)), coordinates[0])
    np.testing.assert_array_equal(columns, coordinates[1])
    np.testing.assert_array_equal(kept, expected, strict=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool"])
@pytest.mark.parametrize("shape", [(1200, 1000), (1000, 1200), (1200, 1200)])
@pytest.mark.parametrize("text", TEXTS)
def test_every_mapping_along_diagonals_is_read_so(text: str, shape: tuple[int, int], dtype: str) -> None:
    random = np.random.default_rng(0)
    offsets = np.array([0, 1, -1, 7, -20], dtype=np.int32)
    tensor = stored(text, offsets, random.integers(0, 3, 5 * max(shape)).astype(dtype), shape)
    assert rows_of_diagonals(tensor.storage.chains[0], tensor.arrays, tensor.sizes, shape) is not None
    rows = rows_of(tensor)
    assert rows is not None
    coordinates, values = interpreted(tensor)
    np.testing.assert_array_equal(rows.coordinates(), coordinates)
    np.testing.assert_array_equal(rows.values, values, strict=True)
    for wanted in ("csr", "csc", "coo"):
        made = tensor.to(wanted).to_coo()
        np.testing.assert_array_equal(made[0], coordinates)
        np.testing.assert_array_equal(made[1], values)


def is_read_so(text: str, offsets: list[int], shape: tuple[int, int] = (400, 400)) -> bool:
    tensor = stored(text, np.array(offsets), np.ones(2 * len(offsets) * max(shape)), shape)
    return rows_of_diagonals(tensor.storage.chains[0], tensor.arrays, tensor.sizes, shape) is not None


def test_two_parts_of_one_diagonal_are_added() -> None:
    assert is_read_so(BY_ROWS, [1, 0]) and not is_read_so(BY_ROWS, [1, 0, 1])
    tensor = stored(BY_ROWS, np.array([1, 0, 1]), np.ones(1200), (400, 400))
    assert (tensor.to("csr").arrays["val"].reshape(-1)[:2] == [1, 2]).all()


@pytest.mark.parametrize(
    "others",
    [
        ("(i, i + o)", "(i, i + 2 * o - i)"),
        ("(i, i + o)", "(m - 1 - i, i)"),
        ("val(k * m + i)", "val(k * m + 2 * i)"),
        ("val(k * m + i)", "val(k + d * i)"),
        ("val(k * m + i)", "-val(k * m + i)"),
    ],
)
def test_what_does_not_go_on_by_one_is_something_else(others: tuple[str, str]) -> None:
    assert is_read_so(BY_ROWS, [0, 1]) and not is_read_so(BY_ROWS.replace(*others), [0, 1])


def test_short_diagonals_are_not_laid_side_by_side() -> None:
    assert is_read_so(BY_ROWS, [0, 5], (400, 600)) and not is_read_so(BY_ROWS, [0, 5], (400, 4000))
    assert is_read_so(BY_ROWS, [0, 5], (600, 400)) and not is_read_so(BY_ROWS, [0, 5], (4000, 400))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (BY_ROWS.replace("min(m, n - o)", "m"), 800),
        (BY_ROWS.replace("max(0, -o)", "-1"), 800),
        (BY_ROWS, 799),
    ],
)
def test_a_diagonal_that_leaves_the_matrix_or_its_values_is_left_to_others(text: str, count: int) -> None:
    (created,) = parse(Source("", text)).statements
    assert isinstance(created, CreateFormat)
    arrays, sizes = {"off": np.array([1, 0]), "val": np.ones(count)}, {"m": 400, "n": 400, "d": 2}
    (chain,) = Format("made", created).chains
    assert rows_of_diagonals(chain, arrays, sizes, (400, 400)) is None


def test_zero_of_another_semiring_is_kept() -> None:
    count = 2 * SOME
    coordinates, values = np.tile(np.arange(count), (2, 1)), np.arange(count) % 2.0
    tensor = storel.tensor((coordinates, values), "dia", (count, count), semiring="min_plus")
    assert tensor.to("csr").nnz == count
