"""Files against what is declared of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel
from storel.compilation.environment import Environment
from storel.errors import (
    DataError,
    ExtentError,
    FormatError,
    StorelError,
    TypeMismatchError,
    UnknownNameError,
)
from storel.execution.script import Runner
from storel.plan.printer import render
from storel.source import Source

COORDINATES = "1 1 2\n3 2 4.0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.tns").write_text(COORDINATES)
    (tmp_path / "i.tns").write_text(COORDINATES.replace("4.0", "4"))
    np.save(tmp_path / "d.npy", np.array([[0.0, 0.5], [2.0, 0.0]]))
    np.save(tmp_path / "i.npy", np.array([[1, 0], [2, 3]], np.int32))
    storel.tensor(np.eye(3), "csr").save(tmp_path / "s.npz")
    return tmp_path


def load(folder: Path, statement: str) -> storel.Tensor:
    runner = Runner(Environment(), directory=folder, runs=False)
    runner.run(Source("test", f"{statement}\nCREATE TENSOR r OVER plus_times AS A"))
    return runner.environment.tensors["A"]


@pytest.mark.parametrize(
    ("statement", "shape", "dtype", "storage"),
    [
        ("LOAD TENSOR A FROM 'a.tns'", (3, 2), "float64", "csr"),
        ("LOAD TENSOR A: real[5, 4] FROM 'a.tns'", (5, 4), "float64", "csr"),
        ("LOAD TENSOR A: int[m, n] FROM 'a.tns'", (3, 2), "int64", "csr"),
        ("LOAD TENSOR A FROM 'i.tns'", (3, 2), "int64", "csr"),
        ("LOAD TENSOR A: real[m, n] FROM 'i.tns'", (3, 2), "float64", "csr"),
        ("LOAD TENSOR A FROM 'a.tns' STORED AS coo", (3, 2), "float64", "coo"),
        ("LOAD TENSOR A FROM 'd.npy'", (2, 2), "float64", "dense"),
        ("LOAD TENSOR A FROM 'd.npy' STORED AS csc", (2, 2), "float64", "csc"),
        ("LOAD TENSOR A FROM 'i.npy'", (2, 2), "int32", "dense"),
        ("LOAD TENSOR A FROM 's.npz'", (3, 3), "float64", "csr"),
        ("LOAD TENSOR A FROM 's.npz' STORED AS coo", (3, 3), "float64", "coo"),
    ],
)
def test_what_is_loaded(
    folder: Path, statement: str, shape: tuple[int, ...], dtype: str, storage: str
) -> None:
    found = load(folder, statement)
    assert (found.shape, found.type.value, found.format) == (shape, dtype, storage)


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("LOAD TENSOR A: real[2, 2] FROM 'a.tns'", ExtentError, "declared extents"),
        ("LOAD TENSOR A: real[3, 2] FROM 'd.npy'", ExtentError, "declared extents"),
        ("LOAD TENSOR A: real[3] FROM 'a.tns'", TypeMismatchError, "rank 2"),
        ("LOAD TENSOR A: int[m, n] FROM 'd.npy'", TypeMismatchError, "declared type"),
        ("LOAD TENSOR A FROM 'none.tns'", DataError, "none.tns"),
        ("LOAD TENSOR A FROM 'a.tns' STORED AS crs", FormatError, "crs"),
    ],
)
def test_what_contradicts_the_declaration(
    folder: Path, statement: str, error: type[StorelError], message: str
) -> None:
    with pytest.raises(error, match=message):
        load(folder, statement)


def test_a_semiring_is_one_that_is_known() -> None:
    with pytest.raises(UnknownNameError, match="unknown semiring 'min_plu'"):
        storel.tensor(np.eye(2), semiring="min_plu")


def test_what_is_stored_may_stay_open(folder: Path) -> None:
    load(folder, "LOAD TENSOR A FROM 'a.tns'").save(folder / "open.npz")
    assert not load(folder, "LOAD TENSOR A FROM 'open.npz'").is_closed
    assert not load(folder, "LOAD TENSOR A FROM 'open.npz' STORED AS coo").is_closed
    assert load(folder, "LOAD TENSOR A: real[3, 2] FROM 'open.npz'").is_closed
    assert load(folder, "LOAD TENSOR A FROM 's.npz'").is_closed


def test_what_is_stored_has_the_declared_type_and_semiring(folder: Path) -> None:
    whole = load(folder, "LOAD TENSOR A: int[3, 3] FROM 's.npz'")
    assert (whole.type.value, whole.format, whole.nnz) == ("int64", "csr", 3)
    lengths = load(folder, "LOAD TENSOR A: real[3, 3] OVER min_plus FROM 's.npz'")
    assert (lengths.semiring, lengths.to_numpy()[0, 1]) == ("min_plus", np.inf)


@pytest.mark.parametrize(
    ("declared", "data", "found"),
    [
        ("real", np.array([3, 0]), "float64"),
        ("real", np.ones(2, np.float32), "float32"),
        ("int", np.array([True]), "int64"),
        ("int", np.array([2.0]), "int64"),
    ],
)
def test_an_array_has_its_declared_type(folder: Path, declared: str, data: NDArray[Any], found: str) -> None:
    np.save(folder / "x.npy", data)
    runner = Runner(Environment(), directory=folder, runs=False)
    runner.run(Source("test", f"LOAD ARRAY x: {declared}[n] FROM 'x.npy'\nCREATE TENSOR r AS x(0)"))
    assert runner.environment.arrays["x"].dtype == found


EXACT = 2**53
"""The last of the integers from 0 that are all float64; of float32 it is 2^24."""

KEPT = [
    ("real", np.array([EXACT, -EXACT, 0])),
    ("int", np.array([-(2.0**63), -0.0, 2.0**53])),
    ("float32", np.array([0.5, np.nan, -np.inf, -0.0])),
    ("float32", np.array([2**24, 2**62])),
    ("float64", np.array([True, False])),
    ("int32", np.array([2.0**31 - 1, -(2.0**31)])),
    ("int64", np.array([1, 2], np.int32)),
    ("bool", np.array([1, 0])),
    ("bool", np.array([1.0, 0.0])),
]
LOST = [
    ("real", np.array([1, EXACT + 1]), "int64, such as 9007199254740993"),
    ("real", np.array([1, 2**63 - 1]), "int64, such as 9223372036854775807"),
    ("int", np.array([1, 2.0**63]), r"float64, such as 9.223372036854776e\+18"),
    ("int", np.array([1, np.nan]), "float64, such as nan"),
    ("int", np.array([1, -np.inf]), "float64, such as -inf"),
    ("float32", np.array([1, 0.1]), "float64, such as 0.1"),
    ("float32", np.array([1, 1e39]), r"float64, such as 1e\+39"),
    ("float32", np.array([1, 2**24 + 1]), "int64, such as 16777217"),
    ("float32", np.array([1, 2**31 - 1], np.int32), "int32, such as 2147483647"),
    ("int32", np.array([1, 2**31]), "int64, such as 2147483648"),
    ("int32", np.array([1, 2.0**31], np.float32), "float32, such as 2147483648.0"),
    ("bool", np.array([1, 2]), "int64, such as 2"),
    ("bool", np.array([1, np.nan]), "float64, such as nan"),
]


@pytest.mark.parametrize(("declared", "data"), KEPT)
def test_data_becomes_what_is_declared(folder: Path, declared: str, data: NDArray[Any]) -> None:
    np.save(folder / "x.npy", data)
    runner = Runner(Environment(), directory=folder, runs=False)
    load = f"LOAD TENSOR t: {declared}[n] FROM 'x.npy' LOAD ARRAY a: {declared}[n] FROM 'x.npy'"
    runner.run(Source("test", f"{load} CREATE TENSOR r AS a(0)"))
    dtype = {"real": "float64", "int": "int64"}.get(declared, declared)
    for found in (runner.environment.tensors["t"].to_numpy(), runner.environment.arrays["a"]):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype(data.dtype), data)


@pytest.mark.parametrize(("declared", "data", "found"), LOST)
def test_data_that_would_change_is_refused(
    folder: Path, declared: str, data: NDArray[Any], found: str
) -> None:
    np.save(folder / "x.npy", data)
    storel.tensor(data, "coo").save(folder / "x.npz")
    for what in (
        "TENSOR A: {}[n] FROM 'x.npy'",
        "TENSOR A: {}[n] FROM 'x.npz'",
        "ARRAY A: {}[n] FROM 'x.npy'",
    ):
        with pytest.raises(TypeMismatchError, match=rf"found: {found} at \(1\)\n.*holds all values"):
            load(folder, f"LOAD {what.format(declared)}")


@pytest.mark.parametrize("kind", ["mtx", "tns", "tns.gz", "npz"])
@pytest.mark.parametrize("declared", ["bool", "int32", "float32"])
def test_a_declared_type_brings_back_what_a_file_widened(folder: Path, declared: str, kind: str) -> None:
    given = storel.tensor(np.array([[0, 0.1, 0], [1, 0, 3]], np.float32).astype(declared))
    given.save(folder / f"x.{kind}")
    found = load(folder, f"LOAD TENSOR A: {declared}[2, 3] FROM 'x.{kind}'")
    assert found.dtype == declared
    np.testing.assert_array_equal(found.to_numpy(), given.to_numpy())


@pytest.mark.parametrize(
    ("declared", "values", "found"),
    [
        ("int", "0.5 1.5", 2),
        ("bool", "2 -1", True),
        ("bool", "1 1", r"2 at \(0, 1\)"),
        ("int32", f"{2**30} {2**30}", "2147483648 at"),
    ],
)
def test_entries_of_a_key_are_added_up_before_they_are_of_a_type(
    folder: Path, declared: str, values: str, found: Any
) -> None:
    first, second = values.split()
    (folder / "x.tns").write_text(f"1 2 {first}\n1 2 {second}\n")
    statement = f"LOAD TENSOR A: {declared}[1, 2] FROM 'x.tns'"
    if isinstance(found, str):
        with pytest.raises(TypeMismatchError, match=found):
            load(folder, statement)
    else:
        assert load(folder, statement).to_numpy()[0, 1] == found


def test_every_number_is_a_truth_over_truths(folder: Path) -> None:
    np.savez(folder / "x.npz", pos=[0, 1, 2], idx=[1, 0], val=[5, 0])
    for statement in (
        "LOAD TENSOR A: bool[2, 2] OVER or_and FROM 'i.npy'",
        "LOAD TENSOR A: bool[3, 2] OVER or_and FROM 'i.tns'",
        "LOAD TENSOR A: bool[2, 2] OVER or_and FROM 'x.npz' STORED AS csr",
    ):
        assert load(folder, statement).dtype == bool


@pytest.mark.parametrize(
    ("name", "statement", "message"),
    [
        ("x.npy", "LOAD TENSOR x FROM 'x.npy'", "x.npy: the data holds complex128 values"),
        ("x.npy", "LOAD TENSOR x: real[n] FROM 'x.npy'", "x.npy: the data holds complex128 values"),
        ("x.npy", "LOAD ARRAY x: real[n] FROM 'x.npy'", "x.npy holds complex128 values"),
        ("x.npz", "LOAD TENSOR x FROM 'x.npz'", "x.npz: the data holds complex128 values"),
        ("x.npz", "LOAD ARRAYS FROM 'x.npz'", "x.npz: array x holds complex128 values"),
    ],
)
def test_a_file_of_other_numbers_is_named(folder: Path, name: str, statement: str, message: str) -> None:
    with (folder / name).open("wb") as file:
        np.savez(file, x=np.array([1j])) if name.endswith("z") else np.save(file, np.array([1j]))
    with pytest.raises(TypeMismatchError, match=message):
        load(folder, f"{statement} CREATE TENSOR A AS sum(<i, v> in x) v")


@pytest.mark.parametrize("rank", [5, 6])
def test_a_file_of_many_dimensions_has_a_default_and_a_choice(folder: Path, rank: int) -> None:
    (folder / "many.tns").write_text(f"{'1 ' * rank} 2.5\n{'2 3 ' * (rank // 2)}{'2 ' * (rank % 2)} 0.5\n")
    usual = storel.read(folder / "many.tns")
    chosen = storel.read(folder / "many.tns", "auto")
    np.testing.assert_array_equal(chosen.to_numpy(), usual.to_numpy())
    assert usual.nnz == 2 and usual.to_numpy().sum() == 3.0


@pytest.mark.parametrize("declared", ["", "IN 0:9", "UNIQUE"])
def test_the_bounds_of_a_declared_array_are_those_of_its_elements(folder: Path, declared: str) -> None:
    np.save(folder / "p.npy", [2, 0, 3])
    matrix = np.array([[1.0, 0, 2], [0, 3, 4], [5, 0, 0]])
    rows = "sum(<i, row> in A) { p(i) -> row }"
    script = f"""
        LOAD ARRAY p: int[n] {declared} FROM 'p.npy'
        CREATE TENSOR B AS {rows}
        CREATE TENSOR r AS count(<i, row> in {rows})
        SAVE B TO 'b.npz' SAVE r TO 'r.npz'
    """
    environment = Environment(tensors={"A": storel.tensor(matrix, "csr")})
    outcome = Runner(environment, directory=folder).run(Source("test", script))
    np.testing.assert_array_equal(outcome.results["B"].to_numpy(), [*matrix[[1]], [0] * 3, *matrix[[0, 2]]])
    assert outcome.results["r"].item() == 3


def test_rows_of_declared_arrays_are_merged_where_they_increase(folder: Path) -> None:
    np.savez(folder / "a.npz", pos=[0, 2, 3], idx=[0, 2, 1], val=[1.0, 2, 3])
    arrays = """
        LOAD ARRAY pos: int[m] ASCENDING FROM 'a.npz'
        LOAD ARRAY idx: int[n] IN 0:3 INCREASING WITHIN pos FROM 'a.npz'
        LOAD ARRAY val: real[n] FROM 'a.npz'
    """
    first, second = "<p, j> in idx(pos(0):pos(1))", "<q, j> in idx(pos(1):pos(2))"
    body = f"sum({first}) {{ j -> val(p) }} + sum({second}) {{ j -> val(q) }}"
    runner = Runner(Environment(), directory=folder)
    outcome = runner.run(Source("test", f"{arrays} CREATE TENSOR r: real[3] STORED AS coo AS {body}"))
    np.testing.assert_array_equal(outcome.results["r"].to_numpy(), [1, 3, 2])
    assert "unite" in render(outcome.compilations["r"].plan)


def test_what_no_coordinate_reaches_has_extent_0(folder: Path) -> None:
    np.savez(folder / "c.npz", i=np.zeros(0, np.int64), v=np.zeros(0))
    runner = Runner(Environment(), directory=folder)
    script = "LOAD ARRAYS FROM 'c.npz' CREATE TENSOR r AS sum(<p, k> in i) { (k, p) -> v(p) }"
    runner.run(Source("test", script))
    assert runner.environment.tensors["r"].shape == (0, 0)


def test_a_mistake_in_what_a_file_stores_names_the_file_and_the_statement(tmp_path: Path) -> None:
    storel.tensor(np.eye(3), "csr").save(tmp_path / "sound.npz")
    arrays: dict[str, Any] = dict(np.load(tmp_path / "sound.npz")) | {"idx": np.array([0, 1, 7])}
    np.savez(tmp_path / "broken.npz", **arrays)
    (tmp_path / "script.sdql").write_text("LOAD TENSOR A FROM 'broken.npz'\nCREATE TENSOR y AS A")
    with pytest.raises(DataError) as raised:
        storel.run(tmp_path / "script.sdql")
    assert raised.value.message.endswith("broken.npz: idx(2) = 7 is outside 0:3")
    assert raised.value.span is not None
    assert raised.value.span.text == "LOAD TENSOR A FROM 'broken.npz'"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("LOAD ARRAY c: int[n] FROM 'three.npz'", "three.npz holds no array c"),
        ("LOAD ARRAY c: int[n] FROM 'none.npz'", "none.npz holds no array c"),
        ("LOAD ARRAY c: int[n] IN 0:2 FROM 'one.npz'", r"c\(1\) = 2 is outside 0:2"),
        ("LOAD ARRAY c: int[n] FROM 'gone.npy'", "there is no file"),
        ("LOAD ARRAYS FROM 'large.npz'", "array i holds uint64 values"),
    ],
)
def test_arrays_that_are_not_loaded_show_the_statement(tmp_path: Path, statement: str, message: str) -> None:
    np.savez(tmp_path / "three.npz", a=np.arange(3), b=np.arange(3), d=np.arange(3))
    np.savez(tmp_path / "none.npz")
    np.savez(tmp_path / "one.npz", anything=np.array([0, 2]))
    np.savez(tmp_path / "large.npz", i=np.arange(3, dtype=np.uint64))
    with pytest.raises(StorelError, match=message) as raised:
        load(tmp_path, f"{statement} CREATE TENSOR r AS 1")
    assert raised.value.span is not None and raised.value.span.text == statement


def test_arrays_that_no_program_can_name_are_told(tmp_path: Path) -> None:
    given = {"x": np.ones(3), "my-array": np.ones(2), "sum": np.array(b"csr")}
    np.savez(tmp_path / "c.npz", **given)  # pyright: ignore[reportArgumentType]
    np.save(tmp_path / "2d.npy", np.ones(2))
    script = "LOAD ARRAYS FROM 'c.npz' LOAD ARRAYS FROM '2d.npy' CREATE TENSOR r AS x(0)"
    outcome = Runner(Environment(), directory=tmp_path).run(Source("test", script))
    assert outcome.results["r"].item() == 1.0
    messages = [each.partition("\n")[0] for each in outcome.warnings]
    why = "is left out, since no program can write its name; save it under another one, such as"
    assert messages == [
        f"c.npz: array 'my-array' {why} my_array",
        f"c.npz: array 'sum' {why} sum_1",
        f"2d.npy: array '2d' {why} _2d",
    ]
    assert "LOAD ARRAYS FROM 'c.npz'" in outcome.warnings[0]


def test_arrays_of_a_tensor_that_storel_saved_can_be_loaded(tmp_path: Path) -> None:
    storel.tensor(np.eye(3), "csr").save(tmp_path / "saved.npz")
    runner = Runner(Environment(), directory=tmp_path)
    runner.run(Source("test", "LOAD ARRAYS FROM 'saved.npz' CREATE TENSOR r AS sum(<p, v> in val) v"))
    assert sorted(runner.environment.arrays) == ["idx", "pos", "val"]
    assert runner.environment.tensors["r"].item() == 3.0


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.mtx"])
def test_a_file_that_does_not_fit_a_format_is_named(folder: Path, name: str) -> None:
    storel.tensor(np.array([[0.0, 1.0], [2.0, 3.0]])).save(folder / name)
    with pytest.raises(FormatError, match=rf"{name}: upper_triangular: 1 of 3 entries"):
        storel.read(folder / name, "upper_triangular")


def test_arrays_of_a_format_are_a_tensor_of_the_declared_extents(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", pos=[0, 1, 3], idx=[1, 0, 2], val=[5, 6, 7])
    np.savez(tmp_path / "factors.npz", u=[1.0, 2.0, 0.0], v=[3.0, 4.0])
    np.savez(tmp_path / "corner.npz", val=[1.0, 2.0, 3.0])
    rows = load(tmp_path, "LOAD TENSOR A: real[2, 3] FROM 'rows.npz' STORED AS csr")
    assert (rows.format, rows.dtype.name) == ("csr", "float64")
    np.testing.assert_array_equal(rows.to_numpy(), [[0, 5, 0], [6, 0, 7]])
    ring = load(tmp_path, "LOAD TENSOR A: int[2, 3] OVER min_plus FROM 'rows.npz' STORED AS csr")
    assert ring.semiring == "min_plus" and ring.nnz == 3
    product = load(tmp_path, "LOAD TENSOR A: real[3, 2] FROM 'factors.npz' STORED AS low_rank(k=1)")
    np.testing.assert_array_equal(product.to_numpy(), [[3, 4], [6, 8], [0, 0]])
    half = load(tmp_path, "LOAD TENSOR A: real[2, 2] FROM 'corner.npz' STORED AS upper_triangular")
    np.testing.assert_array_equal(half.to_numpy(), [[1, 2], [0, 3]])
    line = load(tmp_path, "LOAD TENSOR A: real[3] FROM 'corner.npz' STORED AS coo")
    np.testing.assert_array_equal(line.to_numpy(), [1, 2, 3])


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "LOAD TENSOR A: real[2, 3] FROM 'rows.npz'",
            "(?s)holds arrays, not a tensor.*found: idx, pos, val",
        ),
        (
            "LOAD TENSOR A FROM 'rows.npz' STORED AS csr",
            r"hint: LOAD TENSOR A: real\[4, 3\] FROM .* LOAD ARRAYS",
        ),
        ("LOAD TENSOR A: real[m, 3] FROM 'rows.npz' STORED AS csr", "holds arrays, not a tensor"),
        ("LOAD TENSOR A: real[2, 2] FROM 'rows.npz' STORED AS csr", r"rows.npz: idx\(2\) = 2 is outside 0:2"),
        ("LOAD TENSOR A: real[2, 3] FROM 'rows.npz' STORED AS coo", "rows.npz: format coo has no array idx"),
        ("LOAD TENSOR A: int[2, 3] FROM 'rows.npz' STORED AS csr", "not of the declared type"),
    ],
)
def test_arrays_that_are_no_tensor_name_the_file(tmp_path: Path, statement: str, message: str) -> None:
    np.savez(tmp_path / "rows.npz", pos=[0, 1, 3], idx=[1, 0, 2], val=[5.5, 6, 7])
    with pytest.raises(StorelError, match=message) as raised:
        load(tmp_path, statement)
    assert raised.value.span is not None
