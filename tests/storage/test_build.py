from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.arrays import Array
from storel.errors import DataError, FormatError, StorelError, TypeMismatchError
from storel.storage.build import from_arrays, from_coordinates, from_numpy
from storel.storage.formats.known import Formats
from storel.syntax.parser import parse_format

FORMATS = Formats()
NAMES = ["coo", "csc", "csf", "csr", "dcsr", "dense"]


@pytest.mark.parametrize("name", NAMES)
def test_dense_arrays_go_into_every_format(name: str) -> None:
    dense = np.array([[0.0, 1, 0], [2, 0, 3]])
    for given in (dense, np.asfortranarray(dense), dense.astype(">f8"), dense[::-1][::-1]):
        np.testing.assert_array_equal(from_numpy(given, FORMATS, FORMATS.find(name, 2)).to_numpy(), dense)


@pytest.mark.parametrize("name", NAMES)
def test_over_another_semiring_a_zero_is_a_value(name: str) -> None:
    dense = np.array([[0.0, np.inf], [1.0, 2.0]])
    tensor = from_numpy(dense, FORMATS, FORMATS.find(name, 2), "min_plus")
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    assert tensor.nnz == 3


@pytest.mark.parametrize(("order", "format_"), [("C", "dense"), ("F", "column_major")])
def test_a_dense_array_is_wrapped_without_a_copy(order: Literal["C", "F"], format_: str) -> None:
    dense = np.asarray(np.arange(6, dtype=np.float32).reshape(2, 3), order=order)
    tensor = from_numpy(dense, FORMATS)
    assert np.shares_memory(tensor.arrays["val"], dense)
    assert tensor.format == format_
    np.testing.assert_array_equal(tensor.to_numpy(), dense)
    assert tensor.to_numpy().flags.c_contiguous


@pytest.mark.parametrize(
    ("given", "kept"),
    [("int8", "int32"), ("uint8", "int32"), ("int16", "int32"), ("uint32", "int64"), ("bool", "bool")],
)
def test_narrow_integers_are_widened(given: str, kept: str) -> None:
    assert from_numpy(np.ones(2, dtype=given), FORMATS).dtype == kept


@pytest.mark.parametrize("dtype", ["float16", "complex128", "object", "uint64", "U3"])
def test_other_types_are_refused(dtype: str) -> None:
    with pytest.raises(TypeMismatchError, match="expected: bool, int32, int64, float32, float64"):
        from_numpy(np.zeros(2, dtype=dtype), FORMATS)


COORDINATE_ERRORS: list[tuple[Any, Any, str]] = [
    ([[0.0, np.nan]], None, "coordinate 0 of entry 1 is nan"),
    ([[0.0, 1.5]], None, "coordinate 0 of entry 1 is 1.5"),
    ([[0.0, 1e300]], None, r"coordinate 0 of entry 1 is 1e\+300"),
    ([["a", "b"]], None, "coordinates must be integers"),
    ([[0, -1]], None, r"coordinate 0 of entry 1 is -1\n  expected: not negative\n  found: the key \(-1,\)"),
    ([[2, 2], [0, -1]], (3, 3), r"entry 1 is -1\n  expected: not negative\n  found: the key \(2, -1\)"),
    ([[2, 2], [0, 4]], (3, 4), r"entry 1 is 4\n  expected: in 0:4\n  found: the key \(2, 4\)"),
    ([[0, 2**63]], None, "coordinate 0 of entry 1 is 9.*\n  expected: an integer below 2"),
    ([[0, 3]], (4, 4), "the shape does not fit the coordinates"),
    ([[0, 3, 1]], None, "coordinates and values do not fit together"),
    ([0, 3, 1], None, "coordinates and values do not fit together"),
    ([0.5, 3], None, "coordinates and values do not fit together"),
    ([[0, 3]], (-4,), "an extent is at least 0"),
    ([[0, 3]], (4.5,), "a shape is made of integers"),
    ([[0, 3]], {4}, "a shape has an order"),
]


@pytest.mark.parametrize(("coordinates", "shape", "message"), COORDINATE_ERRORS)
def test_bad_coordinates_are_refused(coordinates: Any, shape: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_coordinates(np.array(coordinates), np.ones(2), shape, FORMATS)


def test_coordinates_of_a_vector_may_be_a_vector() -> None:
    found = from_coordinates(np.array([4, 1]), np.array([2.0, 3.0]), (6,), FORMATS)
    np.testing.assert_array_equal(found.to_numpy(), [0, 3, 0, 0, 2, 0])


def test_without_a_shape_the_extents_are_open() -> None:
    tensor = from_coordinates(np.array([[0, 4], [2, 1]]), np.ones(2), None, FORMATS)
    assert (tensor.shape, tensor.is_closed) == ((5, 3), False)
    assert from_coordinates(np.array([[0], [2]]), np.ones(1), (5, 3), FORMATS).is_closed


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_every_format_converts_into_every_other(source: str, target: str) -> None:
    dense = np.array([[0, 1, 0], [2, 0, 3]], dtype=np.float32)
    tensor = from_numpy(dense, FORMATS, FORMATS.find(source, 2))
    converted = tensor.stored_as(FORMATS.find(target, 2))
    np.testing.assert_array_equal(converted.to_numpy(), dense)
    assert (converted.format, converted.dtype) == (target, np.float32)


def test_extents_become_plain_integers() -> None:
    shape: Any = np.array([3])
    assert repr(from_coordinates(np.array([[1]]), np.ones(1), shape, FORMATS).shape) == "(3,)"


def test_raw_arrays_are_wrapped_once_verified() -> None:
    csr = FORMATS.find("csr", 2)
    given = {"pos": np.array([0, 2, 2]), "idx": np.array([0, 3]), "val": np.array([1.0, 0.0])}
    tensor = from_arrays(csr, given, (2, 4))
    assert all(np.shares_memory(tensor.arrays[name], array) for name, array in given.items())
    assert tensor.nnz == 1


RAW_ERRORS: list[tuple[dict[str, Any], tuple[int, ...], type[StorelError], str]] = [
    ({"pos": [0, 1], "idx": [3], "val": [1.0]}, (2, 4), DataError, "array pos has the wrong length"),
    ({"pos": [0, 1, 1], "idx": [3], "vals": [1.0]}, (2, 4), FormatError, "format csr has no array vals"),
    ({"pos": [0, 1, 1], "idx": [3.0], "val": [1.0]}, (2, 4), DataError, "array idx holds float64 numbers"),
    ({"pos": [0, 1, 1], "idx": [4], "val": [1.0]}, (2, 4), DataError, r"idx\(0\) = 4 is outside 0:4"),
    ({"pos": [0, 1, 1], "idx": [3], "val": [1j]}, (2, 4), TypeMismatchError, "array val holds complex128"),
    ({"pos": [0, 1, 1], "idx": [3], "val": [1.0]}, (2,), FormatError, "does not store tensors of rank 1"),
]


@pytest.mark.parametrize(("arrays", "shape", "error", "message"), RAW_ERRORS)
def test_bad_raw_arrays_are_refused(
    arrays: dict[str, Any], shape: tuple[int, ...], error: type[StorelError], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_arrays(FORMATS.find("csr", 2), arrays, shape)


def test_empty_lists_are_arrays_of_any_type(tmp_path: Path) -> None:
    empty = storel.tensor({"row": [], "col": [], "val": []}, "coo", shape=(2, 3))
    assert (empty.nnz, empty.arrays["row"].dtype, empty.dtype) == (0, np.int64, np.float64)
    marked = storel.tensor({"mark": [], "val": []}, "mask", shape=(0, 3))
    assert marked.arrays["mark"].dtype == np.bool_
    with pytest.raises(DataError, match="array row holds float64 numbers"):
        storel.tensor({"row": [0.0], "col": [0], "val": [1.0]}, "coo", shape=(2, 3))


def test_keys_beyond_64_bits_are_no_reals() -> None:
    given = {"row": np.array([2**63], np.uint64), "col": [0], "val": [1.0]}
    with pytest.raises(DataError, match=r"array row holds 9223372036854775808\n  expected: positions"):
        storel.tensor(given, "coo", shape=(2, 3))
    small = {"row": np.array([1], np.uint64), "col": [0], "val": [1.0]}
    with pytest.raises(TypeMismatchError, match=r"hint: .*\.astype\('int64'\)"):
        storel.tensor(small, "coo", shape=(2, 3))


PADDED = """CREATE FORMAT padded(T: real[m, n]; step: int = {step}, ld: int = (n + step - 1) // step * step)
  WHERE ld >= n
  USING val: real[m * ld]
  AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) {{ (i, j) -> val(i * ld + j) }}"""


def test_defaults_are_computed_from_extents_where_arrays_are_given(tmp_path: Path) -> None:
    (tmp_path / "padded.sdql").write_text(PADDED.format(step=8))
    given = {"val": np.arange(16.0)}
    tensor = storel.tensor(given, "padded", shape=(2, 3), formats=tmp_path)
    assert tensor.format == "padded(step=8, ld=8)"
    np.testing.assert_array_equal(tensor.to_numpy(), np.arange(16.0).reshape(2, 8)[:, :3])
    given = {"val": np.arange(8.0)}
    assert storel.tensor(given, "padded(4)", shape=(2, 3), formats=tmp_path).format == "padded(step=4, ld=4)"
    with pytest.raises(DataError, match="array val has the wrong length"):
        storel.tensor(given, "padded", shape=(2, 3), formats=tmp_path)


def test_defaults_that_are_computed_from_the_data_are_given_with_arrays(tmp_path: Path) -> None:
    (tmp_path / "padded.sdql").write_text(PADDED.format(step="max(<(_, j), _> in T) j"))
    given = {"val": np.arange(8.0)}
    with pytest.raises(FormatError, match="needs a value of step"):
        storel.tensor(given, "padded", shape=(2, 3), formats=tmp_path)
    assert storel.tensor(given, "padded(4)", shape=(2, 3), formats=tmp_path).format == "padded(step=4, ld=4)"


def test_numbers_that_are_not_aligned_are_copied() -> None:
    shifted = np.frombuffer(b"\0" + np.arange(5.0).tobytes(), np.float64, offset=1)
    assert not shifted.flags.aligned
    tensor = from_numpy(shifted, FORMATS)
    assert all(array.flags.aligned for array in tensor.arrays.values())
    np.testing.assert_array_equal(tensor.to_numpy(), np.arange(5.0))


def test_a_memory_map_is_wrapped_without_a_copy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    (values,) = from_numpy(mapped, FORMATS).arrays.values()
    assert np.shares_memory(values, mapped)


def test_entries_that_are_computed_are_no_truth_values() -> None:
    storage = Formats().resolve(parse_format("low_rank(1)"), 2)
    arrays = {"u": np.array([True, False]), "v": np.array([True, True])}
    with pytest.raises(FormatError, match="computes its entries, which truth values are not"):
        from_arrays(storage, arrays, (2, 2))


def test_a_format_without_an_array_of_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "marks.sdql").write_text(
        "CREATE FORMAT marks(T: real[n]) USING mark: bool[n] AS sum(<i, _> in 0:n) { i -> mark(i) }"
    )
    storage = Formats((tmp_path,)).find("marks", 1)
    with pytest.raises(FormatError, match="declares no array of values"):
        from_arrays(storage, {"mark": np.array([True, False])}, (2,))


def test_arrays_of_values_of_different_types_have_a_common_one() -> None:
    factors = {"u": np.array([0.5, 1.0]), "v": np.array([1, 3], dtype=np.int32)}
    product = storel.tensor(factors, "low_rank(k=1)", shape=(2, 2))
    assert product.dtype == np.float64
    np.testing.assert_array_equal(product.to_numpy(), [[0.5, 1.5], [1.0, 3.0]])
    whole = storel.tensor(np.array([[1.5, 2.5], [0.0, 3.5]]), "hyb(1)")
    mixed = dict(whole.arrays) | {"rest_val": np.array([2], dtype=np.int64)}
    np.testing.assert_array_equal(
        storel.tensor(mixed, "hyb(1)", shape=(2, 2)).to_numpy(), [[1.5, 2.0], [0.0, 3.5]]
    )
    truths = storel.tensor(mixed, "hyb(1)", shape=(2, 2), semiring="or_and")
    assert {truths.arrays[name].dtype for name in ("near_val", "rest_val")} == {np.dtype(bool)}


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (np.array([5], np.uint64), r"\.astype\('int64'\)"),
        (np.zeros(0, np.uint64), r"\.astype\('int64'\)"),
        (np.array([5, 2**63], np.uint64), r"int64 does not hold 9223372036854775808: \.astype\('float64'\)"),
        (np.zeros(2, [("a", "i4"), ("b", "f8")]), r"its fields as arrays of their own: x\['a'\], x\['b'\]"),
        (np.zeros(2, np.float16), r"\.astype\('float64'\)"),
    ],
)
def test_hints_for_other_types_lose_nothing_silently(values: Array, hint: str) -> None:
    with pytest.raises(TypeMismatchError, match=f"hint: .*{hint}"):
        storel.tensor(values)
    if values.dtype.kind == "u":
        with pytest.raises(TypeMismatchError, match=f"hint: .*{hint}"):
            storel.tensor(sp.coo_array(values[np.newaxis]))


@pytest.mark.parametrize("extent", [10**400, 2**63])
def test_an_extent_beyond_64_bits_is_refused_in_few_words(extent: int) -> None:
    with pytest.raises(DataError, match="does not fit into 64 bits") as raised:
        storel.tensor({(0, 1): 1.0}, shape=(extent, 3))
    assert len(str(raised.value)) < 120
