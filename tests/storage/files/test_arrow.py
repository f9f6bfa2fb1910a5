"""Tables of entries: what is written comes back, and what is no tensor is refused with its place."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import storel
from storel.errors import DataError, MemoryLimitError, TypeMismatchError
from storel.storage.build import from_coordinates
from storel.storage.files.arrow import read_stream
from storel.storage.files.contents import SparseContents
from storel.storage.files.kinds import read_tensor, save_tensor
from storel.storage.formats.known import Formats

FORMATS = Formats()
ENDINGS = [".parquet", ".arrow", ".feather"]


def write(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, str(path))


def listed(contents: SparseContents) -> list[tuple[Any, ...]]:
    return list(zip(*contents.coordinates.tolist(), map(repr, contents.values.tolist()), strict=True))


@st.composite
def tensors(draw: st.DrawFn) -> storel.Tensor:
    shape = tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    dtype = draw(st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.bool_]))
    count = draw(st.integers(0, 8)) if min(shape) else 0
    keys = [draw(hnp.arrays(np.int64, count, elements=st.integers(0, max(n - 1, 0)))) for n in shape]
    values = draw(hnp.arrays(dtype, count))
    ring = draw(st.sampled_from(["plus_times", "min_plus"])) if dtype == np.float64 else "plus_times"
    with np.errstate(all="ignore"):
        return from_coordinates(
            np.array(keys), values, shape, FORMATS, FORMATS.default(len(shape), is_dense=False), ring,
            is_closed=draw(st.booleans()),
        )  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
@given(tensor=tensors())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tensors_come_back(tmp_path: Path, ending: str, tensor: storel.Tensor) -> None:
    save_tensor(tensor, tmp_path / f"t{ending}")
    again = storel.read(tmp_path / f"t{ending}")
    assert (again.shape, again.type, again.is_closed) == (tensor.shape, tensor.type, tensor.is_closed)
    assert again.semiring == tensor.semiring
    for one, two in zip(again.to_coo(), tensor.to_coo(), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_foreign_table_has_open_extents(tmp_path: Path, ending: str) -> None:
    write(pa.table({"who": [3, 0, 3], "what": [1, 1, 1], "stars": [0.5, 0.0, 2.0]}), tmp_path / f"t{ending}")
    contents = read_tensor(tmp_path / f"t{ending}")
    assert isinstance(contents, SparseContents)
    assert (contents.shape, contents.is_closed, contents.semiring) == ((4, 2), False, None)
    assert listed(contents) == [(3, 1, "0.5"), (0, 1, "0.0"), (3, 1, "2.0")]
    assert storel.read(tmp_path / f"t{ending}").to_numpy().tolist() == [[0, 0], [0, 0], [0, 0], [0, 2.5]]


@pytest.mark.parametrize("kind", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_keys_and_values_are_integers_of_any_width(kind: str) -> None:
    column = pa.array([2, 0], getattr(pa, kind)())
    contents = read_stream(pa.table({"i": column, "v": column}))
    assert contents.coordinates.tolist() == [[2, 0]]
    assert storel.tensor(pa.table({"i": column, "v": column})).to_numpy().tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array([1.5, np.nan], pa.float64()), "float64"),
        (pa.array([1.5, np.inf], pa.float32()), "float32"),
        (pa.array(np.array([1.5, -1], np.float16)), "float32"),
        (pa.array([True, False]), "bool"),
        (pa.chunked_array([[1.5], [], [2.5]]), "float64"),
        (pa.array([9.0, 1.5, 2.5])[1:], "float64"),
    ],
)
def test_values_keep_their_type(values: Any, dtype: str) -> None:
    contents = read_stream(pa.table({"i": [0, 1], "v": values}))
    assert contents.values.dtype == dtype
    np.testing.assert_array_equal(contents.values, np.array(values.to_pylist(), dtype))


def test_an_empty_table_has_a_rank_and_a_type() -> None:
    schema = pa.schema([("i", pa.int32()), ("j", pa.int64()), ("v", pa.float32())])
    for table in (schema.empty_table(), pa.Table.from_batches([], schema)):
        found = storel.tensor(table)
        assert (found.shape, found.type.value, found.nnz, found.is_closed) == ((0, 0), "float32", 0, False)


def test_the_last_column_is_the_value_even_if_it_could_be_a_key() -> None:
    assert storel.tensor(pa.table({"i": [0, 1], "j": [5, 7]})).to_numpy().tolist() == [5, 7]


def test_a_column_of_values_is_not_copied() -> None:
    table = pa.table({"i": np.arange(10), "v": np.arange(10.0)})
    owner = np.asarray(table.column(1).chunk(0))
    assert np.shares_memory(read_stream(table).values, owner)


class Stream:
    """What another library's table looks like."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class SparseStream(Stream):
    """What a data frame of sparse columns looks like, which no table is made of."""

    sparse = None


def test_any_table_of_another_library_is_a_tensor() -> None:
    stream = Stream(pa.table({"i": [0, 2], "v": [1.0, 2.0]}))
    assert storel.tensor(stream).shape == (3,)
    fixed = storel.tensor(stream, "coo", shape=(5,), semiring="min_plus")
    assert (fixed.shape, fixed.is_closed, fixed.format, fixed.semiring) == ((5,), True, "coo", "min_plus")
    result = storel.run("CREATE TENSOR s AS sum(<_, x> in v) x", v=stream)
    assert isinstance(result, storel.Tensor)
    assert float(result) == 3.0


def test_scripts_load_tables_and_results_are_saved_in_them(tmp_path: Path) -> None:
    write(pa.table({"i": [0, 2], "j": [1, 1], "v": [3, 4]}), tmp_path / "a.parquet")
    script = tmp_path / "s.sdql"
    script.write_text(
        "LOAD TENSOR A: real[4, 2] FROM 'a.parquet' STORED AS csc\n"
        "CREATE TENSOR r AS sum(<(i, j), a> in A) { i -> a * a }\n"
    )
    result = storel.run(script)
    assert isinstance(result, storel.Tensor)
    result.save(tmp_path / "r.feather")
    found = storel.read(tmp_path / "r.feather")
    assert found.to_numpy().tolist() == [9, 0, 16, 0]


ERRORS: list[tuple[dict[str, Any], str]] = [
    ({}, "has no columns\n  expected: columns of integer keys, then one of values"),
    ({"v": [1.0]}, "holds values without keys"),
    ({"i": [0, None], "v": [1, 2]}, r"column 'i', row 1 \(from 0\): null"),
    ({"i": [0, 1], "v": [1.0, None]}, r"column 'v', row 1 \(from 0\): null"),
    ({"i": [0, 1], "v": [None, None]}, "column 'v' holds null values"),
    ({"i": [0.0, 1.0], "v": [1, 2]}, "column 'i' holds double keys\n(?s:.*)dense matrix, make a NumPy array"),
    ({"i": ["a"], "v": [1]}, "column 'i' holds string keys\n.*\n  hint: cast it to integers, or select"),
    ({"i": [0], "v": ["a"]}, "column 'v' holds string values"),
    ({"i": [True], "v": [1]}, "column 'i' holds bool keys"),
    ({"i": [3, -1, -2], "v": [1, 2, 3]}, r"column 'i', row 1 \(from 0\): key -1 is outside 0:"),
    (
        {"i": [2**63 - 1], "v": [1]},
        r"column 'i', row 0 .*: key 9223372036854775807 is outside 0:9223372036854775807",
    ),
    (
        {"i": pa.array([0, 2**64 - 1], pa.uint64()), "v": [1, 2]},
        "column 'i', row 1 .*: key 18446744073709551615 is",
    ),
    (
        {"i": [0, 1], "v": pa.array([0, 2**63], pa.uint64())},
        "column 'v', row 1 .*: 9223372036854775808 does not fit",
    ),
    ({"i": pa.array(["a"]).dictionary_encode(), "v": [1]}, "column 'i' holds dictionary<.*> keys"),
    (
        {"i": [0], "v": [1.0], "__index_level_0__": [5]},
        "'.*' is pandas' index\n.*\n  hint: call .reset_index",
    ),
]


def indexed(columns: dict[str, list[Any]], index: list[Any]) -> Any:
    """Return a table with what pandas says of its index in the schema."""
    metadata = {"pandas": json.dumps({"index_columns": index})}
    return pa.table(columns).replace_schema_metadata(metadata)


def test_an_index_of_pandas_is_refused_unless_it_only_numbers_the_rows() -> None:
    for columns, index in [
        ({"j": [0, 1], "v": [2, 3], "i": [4, 5]}, ["i"]),
        ({"v": [2, 3], "j": [0, 1], "i": [4, 5]}, ["j", "i"]),
        ({"j": [0, 1], "v": [2, 3]}, [{"kind": "range", "name": "i", "start": 0, "stop": 2, "step": 1}]),
    ]:
        with pytest.raises(
            DataError, match=r"the Table: 'i' is pandas' index\n.*\n  hint: call .reset_index"
        ):
            storel.tensor(indexed(columns, index))


@pytest.mark.parametrize(
    "index", [[], ["i"], ["k"], [{"kind": "range", "name": None, "start": 5, "stop": 7, "step": 1}], 3]
)
def test_columns_in_their_order_are_entries_whatever_was_an_index(index: Any) -> None:
    tensor = storel.tensor(indexed({"i": [0, 1], "j": [1, 0], "v": [2, 3]}, index))
    assert tensor.to_numpy().tolist() == [[0, 2], [3, 0]]


@pytest.mark.parametrize(("columns", "message"), ERRORS)
def test_what_is_no_table_of_entries_is_an_error(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    write(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=f"t.parquet:? {message}"):
        read_tensor(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=f"the Table:? {message}"):
        storel.tensor(pa.table(columns))


def test_a_description_must_fit_the_columns() -> None:
    tensor = storel.tensor({(0, 1): 1.0}, shape=(2, 2))
    coordinates, values = tensor.to_coo()
    described = {"storel": '{"version": 1, "format": "coo", "shape": [2, 2], '
                 '"semiring": "plus_times", "is_closed": true}'}  # fmt: skip
    cases = [
        (
            {"i": coordinates[0], "v": values},
            described,
            "describes a tensor of rank 2\n  expected: 2 columns",
        ),
        ({"i": [0], "j": [2], "v": [1.0]}, described, r"column 'j', row 0 \(from 0\): key 2 is outside 0:2"),
        ({"i": [0], "v": [1.0]}, {"storel": "{}"}, "the description of the tensor is not understood"),
        ({"i": [0], "v": [1.0]}, {"storel": b"\xff"}, "the description of the tensor is not understood"),
    ]
    for columns, metadata, message in cases:
        with pytest.raises(DataError, match=message):
            storel.tensor(pa.table(columns).replace_schema_metadata(metadata))


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_columns_are_called_does_not_matter(tmp_path: Path, ending: str) -> None:
    table = pa.Table.from_arrays([pa.array([1, 0]), pa.array([0, 1]), pa.array([2.0, 3.0])], ["i", "i", "i"])
    if ending == ".parquet":
        pyarrow.parquet.write_table(table, tmp_path / f"t{ending}")
    else:  # Feather refuses such names where it writes
        with (
            pa.OSFile(str(tmp_path / f"t{ending}"), "wb") as stream,
            pa.ipc.new_file(stream, table.schema) as to,
        ):
            to.write_table(table)
    assert storel.read(tmp_path / f"t{ending}").to_numpy().tolist() == [[0, 3], [2, 0]]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kept", [0, 7, 60, -8])
def test_a_truncated_table_is_an_error(tmp_path: Path, ending: str, kept: int) -> None:
    path = tmp_path / f"t{ending}"
    save_tensor(storel.tensor(np.eye(3), "csr"), path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=rf"is not a usable {ending} file|cannot read"):
        read_tensor(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_missing_table_is_an_error_and_a_scalar_is_none(tmp_path: Path, ending: str) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_tensor(tmp_path / f"t{ending}")
    with pytest.raises(TypeMismatchError, match="holds tensors of rank 1 or more"):
        save_tensor(storel.tensor(2.0), tmp_path / f"t{ending}")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_table_is_an_error() -> None:
    with pytest.raises(DataError, match="the Stream is not a table"):
        storel.tensor(Stream(pa.chunked_array([[1, 2]])))
    with pytest.raises(DataError, match="the ChunkedArray is not a table") as raised:
        storel.tensor(pa.chunked_array([[1, 2]]))
    assert raised.value.hint == "make a NumPy array of it, as numpy.asarray does"
    with pytest.raises(DataError, match="the SparseStream is not a table") as raised:
        storel.tensor(SparseStream(pa.chunked_array([[1, 2]])))
    assert raised.value.hint == "make a SciPy matrix of it, as its .sparse does"


def test_huge_keys_are_refused_for_lack_of_memory_only() -> None:
    table = pa.table({"i": [2**60], "j": [0], "v": [1.0]})
    assert storel.tensor(table, "coo").shape == (2**60 + 1, 1)
    with pytest.raises(MemoryLimitError):
        storel.tensor(table, "csr")


@pytest.mark.parametrize("ending", ENDINGS)
def test_without_pyarrow_there_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (
        lambda: read_tensor(tmp_path / f"t{ending}"),
        lambda: save_tensor(storel.tensor(np.eye(2)), tmp_path / f"t{ending}"),
        lambda: storel.tensor(Stream(None)),
    ):
        with pytest.raises(DataError, match="pyarrow, which is not installed") as raised:
            act()
        assert raised.value.hint == 'pip install "storel[arrow]"'
