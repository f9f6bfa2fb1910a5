"""Shipped formats hold what their comments draw, and give back all that fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies.packing import FORMATS, check, from_dense, matrix, resolved
from strategies.structured import ALIKE, FITTING, SQUARE

import storel
from storel.syntax.parser import parse_format

DRAWN: list[tuple[str, str, dict[str, list[int]]]] = [
    (
        "band(lower=1, upper=2)",
        "1 . 2 . / . . . . / . 3 4 . / . . 5 .",
        {"val": [0, 1, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 5, 0, 0, 0]},
    ),
    ("diagonal", "1 . . . / . . . . / . . 2 . / . . . 3", {"val": [1, 0, 2, 3]}),
    (
        "tridiagonal",
        "1 2 . . / . . 3 . / . 4 . . / . . . 5",
        {"val": [0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 5, 0]},
    ),
    (
        "upper_triangular",
        "1 . 2 . / . 3 . . / . . . 4 / . . . 5",
        {"val": [1, 0, 2, 0, 3, 0, 0, 0, 4, 5]},
    ),
    (
        "lower_triangular",
        "1 . . . / . 2 . . / 3 . . . / . . 4 5",
        {"val": [1, 0, 2, 3, 0, 0, 0, 0, 4, 5]},
    ),
    ("symmetric", "1 . 2 . / . . . 3 / 2 . 4 . / . 3 . 5", {"val": [1, 0, 0, 2, 0, 4, 0, 3, 0, 5]}),
    (
        "dia",
        "1 . 2 . / . . . . / . . 3 . / 4 . . 5",
        {"off": [-3, 0, 2], "val": [0, 0, 0, 4, 1, 0, 3, 5, 2, 0, 0, 0]},
    ),
    (
        "ell(width=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"idx": [0, 2, -1, -1, 1, -1, 0, 3], "val": [1, 2, 0, 0, 3, 0, 4, 5]},
    ),
    (
        "bcsr(r=2, c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "pos": [0, 2, 4],
            "idx": [0, 1, 0, 1],
            "val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5],
        },
    ),
    (
        "dcsc",
        "1 . 2 . / . . . . / . . 3 . / 4 . . .",
        {"col": [0, 2], "pos": [0, 2, 4], "idx": [0, 3, 0, 2], "val": [1, 4, 2, 3]},
    ),
    (
        "ragged",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"pos": [0, 3, 3, 5, 9], "val": [1, 0, 2, 0, 3, 4, 0, 0, 5]},
    ),
    (
        "skyline",
        "1 . . . / 2 . . . / . . . . / . 3 . 4",
        {"pos": [0, 1, 3, 3, 6], "val": [1, 2, 0, 3, 0, 4]},
    ),
    ("skew", ". . 2 . / . . . 3 / -2 . . -4 / . -3 4 .", {"val": [0, -2, 0, 0, -3, 4]}),
    (
        "tiled(r=2, c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5]},
    ),
    (
        "morton",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"val": [1, 0, 0, 0, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 5]},
    ),
    (
        "block_diagonal(size=2)",
        "1 2 . . / . 3 . . / . . 4 . / . . . 5",
        {"val": [1, 2, 0, 3, 4, 0, 0, 5]},
    ),
    (
        "sell(c=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"pos": [0, 2, 4], "idx": [0, -1, 2, -1, 1, 0, -1, 3], "val": [1, 0, 2, 0, 3, 4, 0, 5]},
    ),
    ("toeplitz", "1 2 . 3 / . 1 2 . / . . 1 2 / 4 . . 1", {"val": [4, 0, 0, 1, 2, 0, 3]}),
    ("permutation", ". 1 . . / . . . 1 / 1 . . . / . . 1 .", {"idx": [1, 3, 0, 2], "val": [1]}),
    ("one_hot", ". 1 . . / . . . 1 / . 1 . . / 1 . . .", {"idx": [1, 3, 1, 0], "val": [1]}),
    ("constant", "7 7 7 7 / 7 7 7 7 / 7 7 7 7 / 7 7 7 7", {"val": [7]}),
    ("identity", "1 . . . / . 1 . . / . . 1 . / . . . 1", {"val": [1]}),
    (
        "pattern",
        "1 . 1 . / . . . . / . 1 . . / 1 . . 1",
        {"pos": [0, 2, 2, 3, 5], "idx": [0, 2, 1, 0, 3], "val": [1]},
    ),
    (
        "rle",
        "1 1 . 2 / . . . . / 3 3 3 3 / . 4 4 .",
        {"pos": [0, 2, 2, 3, 4], "first": [0, 3, 0, 1], "stop": [2, 4, 4, 3], "val": [1, 2, 3, 4]},
    ),
    (
        "bitmap",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {"word": [0b1001_0010_0000_0101], "rank": [0, 5], "val": [1, 2, 3, 4, 5]},
    ),
    (
        "mask",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "mark": [1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1],
            "val": [1, 0, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 0, 5],
        },
    ),
    (
        "hash(buckets=4, inner=2)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "rows": [0, 1, 1, 2, 3],
            "row": [0, 2, 3],
            "pos": [0, 2, 2, 2, 3, 4, 5],
            "col": [0, 2, 1, 0, 3],
            "val": [1, 2, 3, 4, 5],
        },
    ),
    (
        "hyb(width=1)",
        "1 . 2 . / . . . . / . 3 . . / 4 . . 5",
        {
            "near_idx": [0, -1, 1, 0],
            "near_val": [1, 0, 3, 4],
            "rest_row": [0, 3],
            "rest_col": [2, 3],
            "rest_val": [2, 5],
        },
    ),
    (
        "bcsr_csr(r=2, c=2)",
        "1 2 . . / . 3 . . / . . . 4 / 5 . 6 .",
        {
            "blocks_pos": [0, 1, 1],
            "blocks_idx": [0],
            "blocks_val": [1, 2, 0, 3],
            "rest_pos": [0, 0, 0, 1, 3],
            "rest_idx": [3, 0, 2],
            "rest_val": [4, 5, 6],
        },
    ),
    (
        "band_coo(lower=0, upper=1)",
        "1 . 2 . / . . . . / . 3 . 4 / . . . 5",
        {
            "near_val": [1, 0, 0, 0, 0, 4, 5, 0],
            "rest_row": [0, 2],
            "rest_col": [2, 1],
            "rest_val": [2, 3],
        },
    ),
]


@pytest.mark.parametrize(("text", "drawing", "arrays"), DRAWN, ids=[text for text, _, _ in DRAWN])
def test_the_arrays_are_those_that_the_format_draws(
    text: str, drawing: str, arrays: dict[str, list[int]]
) -> None:
    dense = matrix(drawing)
    tensor = check(resolved(text), dense)
    assert {name: array.tolist() for name, array in tensor.arrays.items()} == arrays
    comment = FORMATS.files[tensor.storage.name].read_text(encoding="utf-8")
    for row in drawing.split(" / "):
        assert f"--     {row}" in comment


def test_every_format_that_is_no_nest_of_levels_has_data_that_fits() -> None:
    named = {parse_format(text).name for text in FITTING}
    nests = {"column_major", "coo", "csc", "csf", "csr", "dcsc", "dcsr", "dense"}
    given = {"low_rank", "kronecker", "star_join"}
    assert set(FORMATS.files) == named | nests | given


SHAPES = {"square": (6, 6), "oblong": (3, 7), "high": (7, 4), "single": (1, 1), "rowless": (0, 3)}


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("density", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("text", FITTING)
def test_what_fits_reads_back(text: str, density: float, shape: tuple[int, int], dtype: type) -> None:
    random = np.random.default_rng(3)
    shape = (shape[0], shape[0]) if text in SQUARE else shape
    dense = (random.integers(1, 9, shape) * (random.random(shape) < density)).astype(dtype)
    check(resolved(text), FITTING[text](dense))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_entries_that_fit_read_back(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(FITTING)))
    rows, columns = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    columns = rows if text in SQUARE else columns
    keys = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    dense = np.zeros((rows, columns), dtype=np.int64)
    for key, value in data.draw(st.dictionaries(keys, st.integers(-3, 3), max_size=20)).items():
        dense[key] = value
    check(resolved(text), FITTING[text](dense))


@pytest.mark.parametrize("text", sorted(FITTING.keys() - ALIKE))
def test_missing_places_hold_the_zero_of_the_semiring(text: str) -> None:
    dense = np.full((3, 3), np.inf)
    dense[1, 1], dense[2, 2] = 3.0, 0.0
    tensor = from_dense(resolved(text), dense, "min_plus")
    np.testing.assert_array_equal(tensor.to_numpy(), dense)


def test_nan_is_an_entry() -> None:
    dense = np.array([[np.nan, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(from_dense(resolved("lower_triangular"), dense).to_numpy(), dense)


@pytest.mark.parametrize("layout", ["csr", "coo", "dia"])
def test_foreign_matrices_are_packed(layout: str) -> None:
    foreign = sp.coo_array(np.array([[3.0, 0, 0], [1, 4, 0], [0, 2, 5]])).asformat(layout)
    tensor = storel.tensor(foreign, "band(1, 0)")
    np.testing.assert_array_equal(tensor.to_numpy(), foreign.toarray())
    assert tensor.to("dia").arrays["off"].tolist() == [-1, 0]
    assert tensor.to("csr").arrays["val"].tolist() == [3, 1, 4, 2, 5]


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_a_number_is_stored_in_any_format(value: float, tmp_path: Path) -> None:
    (tmp_path / "second.sdql").write_text("CREATE FORMAT second(T: real) USING val: real[2] AS val(1)")
    tensor = storel.tensor(np.array(value), "second", formats=tmp_path)
    assert tensor.arrays["val"].tolist() == [0.0, value]
    assert tensor.item() == value
