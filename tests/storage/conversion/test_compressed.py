"""Compressed rows with columns that come again, and in tiles of few entries and of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storel.semiring import SEMIRINGS
from storel.storage.conversion.compressed import combined, into_tiles, out_of_tiles, out_of_tiles_of_few


@pytest.mark.parametrize("name", ["plus_times", "min_plus", "or_and"])
def test_rows_that_hold_a_column_again_are_added_up(name: str) -> None:
    """The first and the last row are empty, and equal columns meet at the end of one row and of the next."""
    semiring, random = SEMIRINGS[name], np.random.default_rng(1)
    rows, columns = np.sort(random.integers(1, 9, 200)), random.integers(0, 6, 200)
    columns = columns[np.lexsort((columns, rows))]
    values = random.integers(0, 2, 200) == 1 if name == "or_and" else random.integers(1, 9, 200) / 4
    boundaries = np.searchsorted(rows, np.arange(11)).astype(np.int32)
    ends, kept, sums = combined((boundaries, columns, values), semiring)
    expected: dict[tuple[int, int], Any] = {}
    for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        expected[row, column] = semiring.plus(expected.get((row, column), semiring.zero), value)
    assert [
        (row, column) for row in range(10) for column in kept[ends[row] : ends[row + 1]].tolist()
    ] == list(expected)
    assert sums.tolist() == list(expected.values())
    assert (ends.dtype, sums.dtype) == (boundaries.dtype, values.dtype)
    rows_once = ends, kept, sums
    assert combined(rows_once, semiring) is rows_once


@pytest.mark.parametrize("tile", [(1, 3), (4, 1), (2, 3)])
@pytest.mark.parametrize("density", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize(("keys", "values"), [("int32", "float32"), ("int64", "int64"), ("int32", "bool")])
def test_tiles_of_few_entries_and_of_many_are_made_alike(
    tile: tuple[int, int], density: float, keys: str, values: str
) -> None:
    random, shape = np.random.default_rng(7), (8, 12)
    dense = np.where(random.random(shape) < density, random.integers(1, 9, shape), 0)
    boundaries = np.concatenate([[0], np.cumsum(np.count_nonzero(dense, axis=1))]).astype(keys)
    rows = boundaries, np.nonzero(dense)[1].astype(keys), dense[dense != 0].astype(values)
    height, width = tile
    tiles = dense.reshape(shape[0] // height, height, shape[1] // width, width).swapaxes(1, 2)
    is_kept = tiles.any(axis=(2, 3))
    ends, columns, made = into_tiles(*rows, shape, tile)
    np.testing.assert_array_equal(np.diff(ends), np.count_nonzero(is_kept, axis=1))
    np.testing.assert_array_equal(columns, np.nonzero(is_kept)[1])
    np.testing.assert_array_equal(made.reshape(-1, *tile), tiles[is_kept].astype(values))
    assert made.dtype == values
    stored = ends, columns, made.reshape(-1, *tile)
    for before, after in zip(rows, out_of_tiles_of_few(*stored, shape), strict=True):
        np.testing.assert_array_equal(before, after)
    _, columns, found = out_of_tiles(*stored, shape)
    assert columns[found != 0].tolist() == rows[1].tolist()
