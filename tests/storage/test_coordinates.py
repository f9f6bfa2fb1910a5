from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.semiring import SEMIRINGS
from storel.storage import blocks
from storel.storage import coordinates as coordinates_module
from storel.storage.coordinates import combine, in_rows, is_sorted, sorted_entries

SHAPES = [(7,), (300, 300), (2**20, 2**20, 2**20), (2**40, 2**40), (3, 2**62)]
"""With linear keys of one digit and of several, and beyond 64 bits."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [0, 1, 2, 500])
@pytest.mark.parametrize("many", [0, 2**16], ids=["in buckets", "by comparisons"])
def test_entries_are_sorted_and_equal_ones_keep_their_order(
    shape: tuple[int, ...], count: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinates_module, "MANY", many)
    monkeypatch.setattr(coordinates_module, "SOME", many)
    random = np.random.default_rng(7)
    pool = np.array([random.integers(0, extent, 40) for extent in shape])
    coordinates = pool[:, random.integers(0, 40, count)]
    ordered, numbers, is_unique = sorted_entries(coordinates, np.arange(count), shape)
    expected = sorted(zip(*coordinates.tolist(), range(count), strict=True))
    assert list(zip(*ordered.tolist(), numbers.tolist(), strict=True)) == expected
    assert is_unique == (len({entry[:-1] for entry in expected}) == count)


@pytest.mark.parametrize(("values", "total"), [((np.inf, -np.inf), np.nan), ((1e308, 1e308), np.inf)])
def test_sums_without_a_finite_value_are_no_matter_of_warnings(
    values: tuple[float, float], total: float
) -> None:
    with np.errstate(all="raise"):
        _, combined = combine(np.zeros((1, 2), np.int64), np.array(values), (3,))
    np.testing.assert_array_equal(combined, [total])


@pytest.mark.parametrize("last", ["ascends in groups", "descends in one group"])
@pytest.mark.parametrize("groups", [(40,), (6, 7)])
@pytest.mark.parametrize("many", [0, 2**16], ids=["in buckets", "by comparisons"])
def test_entries_whose_last_key_ascends_almost_everywhere_are_sorted(
    last: str, groups: tuple[int, ...], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("MANY", many), ("SOME", many), ("GROUP", 2), ("RUN", 2)):
        monkeypatch.setattr(coordinates_module, name, value)
    random = np.random.default_rng(7)
    places = np.stack(np.unravel_index(random.permutation(np.prod(groups)), groups))
    coordinates = np.concatenate([np.repeat(places, 5, axis=1), [np.tile(np.arange(5), places.shape[1])]])
    if last == "descends in one group":
        coordinates[-1, :2] = 4, 3
    numbers = np.arange(coordinates.shape[1])
    ordered, numbers, is_unique = sorted_entries(coordinates, numbers, (*groups, 5))
    expected = sorted(zip(*coordinates.tolist(), range(len(numbers)), strict=True))
    assert list(zip(*ordered.tolist(), numbers.tolist(), strict=True)) == expected
    assert is_unique == (last == "ascends in groups")


@pytest.mark.parametrize("many", [0, 2**16])
@pytest.mark.parametrize("keys", [np.int32, np.int64])
@pytest.mark.parametrize("values", [np.bool_, np.int32, np.int64, np.float32, np.float64])
def test_sorting_keeps_types(keys: type, values: type, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinates_module, "MANY", many)
    monkeypatch.setattr(coordinates_module, "SOME", many)
    for shape in ((4,), (3, 4), (3, 4, 5)):
        coordinates = np.ones((len(shape), 3), dtype=keys)
        coordinates[0] = [2, 0, 1]
        ordered, numbers, is_unique = sorted_entries(coordinates, np.array([3, 1, 2], dtype=values), shape)
        assert (ordered.dtype, numbers.dtype, is_unique) == (keys, values, True)
        assert ordered[0].tolist() == [0, 1, 2]
        assert numbers.tolist() == np.array([1, 2, 3], dtype=values).tolist()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4))
def test_sortedness_is_that_of_tuples(entries: list[tuple[int, int]]) -> None:
    coordinates = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    assert is_sorted(coordinates, strictly=False) == (entries == sorted(entries))
    assert is_sorted(coordinates, strictly=True) == (entries == sorted(set(entries)))


def test_sortedness_is_that_of_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEW_ELEMENTS", 2)
    for length in (4, 5):
        for broken in range(length - 1):
            coordinates = np.arange(length)[None]
            assert is_sorted(coordinates, strictly=True)
            coordinates[0, broken] = length
            assert not is_sorted(coordinates, strictly=False)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-2, 2)), max_size=12))
def test_combining_is_adding_up_in_a_dictionary(entries: list[tuple[int, int, int]]) -> None:
    sums: dict[tuple[int, int], int] = {}
    for row, column, value in entries:
        sums[row, column] = sums.get((row, column), 0) + value
    coordinates = np.array([entry[:2] for entry in entries], dtype=np.int64).reshape(-1, 2).T
    values = np.array([entry[2] for entry in entries], dtype=np.int64)
    keys, totals = combine(coordinates, values, (4, 4))
    found = dict(zip(map(tuple, keys.T.tolist()), totals.tolist(), strict=True))
    assert list(found.items()) == sorted((key, total) for key, total in sums.items() if total)


@pytest.mark.parametrize(
    ("semiring", "values", "expected"),
    [
        ("plus_times", np.array([1.5, 2.5]), 4.0),
        ("min_plus", np.array([1.5, 2.5]), 1.5),
        ("max_plus", np.array([1.5, 2.5]), 2.5),
        ("max_times", np.array([3, 2], dtype=np.int32), 3),
        ("or_and", np.array([False, True]), True),
        ("plus_times", np.array([True, True]), True),
        ("plus_times", np.array([1, 2], dtype=np.int32), 3),
        ("plus_times", np.array([1, 2], dtype=np.float32), 3),
    ],
)
def test_duplicates_meet_in_the_semiring_and_keep_their_type(
    semiring: str, values: Any, expected: float
) -> None:
    _, combined = combine(np.array([[1, 1]]), values, (2,), SEMIRINGS[semiring])
    np.testing.assert_array_equal(combined, [expected])
    assert combined.dtype == values.dtype


def test_what_is_in_order_is_not_copied() -> None:
    coordinates, values = np.array([[0, 1], [1, 0]]), np.array([1.0, np.nan])
    found = combine(coordinates, values, (2, 2))
    assert found[0] is coordinates
    assert found[1] is values


@pytest.mark.parametrize(
    "order",
    ["rows", "columns", "rows in any order", "columns descend", "rows again and again", "random"],
)
def test_rows_hold_their_columns_ascending(order: str) -> None:
    random = np.random.default_rng(1)
    columns, rows = np.divmod(np.sort(random.choice(100 * 90, 6000, replace=False)), 100)
    keys: dict[str, Any] = {
        "rows": (columns, rows),
        "columns": (rows, columns),
        "rows in any order": (columns, random.permutation(100)[rows]),
        "columns descend": (-columns, rows),
        "rows again and again": (columns, rows, columns // 9),
        "random": (random.permutation(6000),),
    }
    number = np.lexsort(keys[order])
    made = in_rows((rows[number], columns[number]), number, (100, 90))
    assert made.indptr.tolist() == [0, *np.cumsum(np.bincount(rows, minlength=100)).tolist()]
    expected = np.lexsort((columns, rows))
    assert made.indices.tolist() == columns[expected].tolist()
    assert made.data.tolist() == expected.tolist()
