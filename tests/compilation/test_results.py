"""From buffers to tensors: what a kernel assembles, and what is packed afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import storel
from storel.compilation.expectation import has_only_products
from storel.compilation.results import choose_result_format
from storel.errors import MemoryLimitError
from storel.plan.nodes import Levels, Place
from storel.storage.formats.known import Formats
from storel.syntax.parser import parse_format

FORMATS = Formats()
MATRIX = np.array([[0.0, 1.0, 0.0, 2.0], [0.0] * 4, [3.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("wanted", "assembled"),
    [("csr", "csr"), ("dcsr", "dcsr"), ("dense", "dense"), ("coo", "csr"), ("csc", "csc")],
)
def test_what_cannot_be_assembled_is_made_of_the_default(wanted: str, assembled: str) -> None:
    chosen = choose_result_format(FORMATS.resolve(parse_format(wanted), 2), (3, 4), (3.0, 5.0), FORMATS)
    assert chosen.wanted.name == wanted
    assert chosen.assembled is not None
    assert chosen.assembled.name == assembled
    assert chosen.candidate is not None and len(chosen.candidate.kinds) == 2


@pytest.mark.parametrize(
    ("rows", "entries", "assembled"),
    [(10**6, 3.0, "levels(compressed, compressed)"), (10**6, 2e6, "csr"), (60_000, 3.0, "csr")],
)
def test_rows_without_entries_have_no_place_where_they_are_many(
    rows: int, entries: float, assembled: str
) -> None:
    wanted = FORMATS.resolve(parse_format("coo"), 2)
    chosen = choose_result_format(wanted, (rows, 10), (entries, entries), FORMATS)
    assert chosen.assembled is not None
    assert chosen.assembled.name == assembled


@pytest.mark.parametrize(
    ("wanted", "entries", "array"),
    [("csr", 8.0, "dense"), ("coo", 8.0, "dense"), ("csr", 3.0, None), ("dense", 8.0, None)],
)
def test_what_is_mostly_full_may_be_assembled_as_an_array(
    wanted: str, entries: float, array: str | None
) -> None:
    storage = FORMATS.resolve(parse_format(wanted), 2)
    chosen = choose_result_format(storage, (3, 4), (3.0, entries), FORMATS)
    assert (None if chosen.array is None else chosen.array.name) == array


@pytest.mark.parametrize("wanted", ["csr", "csc", "coo", "symmetric", "bcsr(r=8, c=8)"])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus"])
def test_a_product_that_is_full_is_made_as_an_array_and_packed(wanted: str, semiring: str) -> None:
    """Gathered row by row, or listed, it takes a hundred times as long as a dense product."""
    half = np.random.default_rng(0).random((120, 120)) + 0.1
    given = storel.tensor(half + half.T)
    program = (
        f"CREATE TENSOR C OVER {semiring} STORED AS {wanted} AS "
        "sum(<(i, k), a> in A, <(k, j), b> in A) { (i, j) -> a * b }"
    )
    kernel = storel.compile(program, A=given)
    if semiring == "plus_times":
        assert has_only_products(kernel.compilation)
    result = kernel(A=given)
    assert isinstance(result, storel.Tensor)
    assert result.format.startswith(wanted)
    dense = given.to_numpy()
    by_pairs = (dense[:, :, None] + dense[None]).min(axis=1)
    np.testing.assert_allclose(result.to_numpy(), dense @ dense if semiring == "plus_times" else by_pairs)


def test_an_array_that_would_not_fit_is_not_made() -> None:
    given = storel.tensor(np.random.default_rng(0).random((60, 60)))
    program = "CREATE TENSOR C STORED AS csr AS sum(<(i, k), a> in A, <(k, j), b> in A) { (i, j) -> a * b }"
    for limit, by_array in ((8 * 60 * 60, True), (8 * 60 * 60 - 1, False)):
        destination = storel.compile(program, memory_limit=limit, A=given).compilation.plan.destination
        assert isinstance(destination, Levels)
        assert all(isinstance(level, Place) for level in destination.levels) == by_array


def test_keys_in_no_order_are_not_listed_where_they_fill_an_array() -> None:
    """Of n^3 entries in a list, of which n^2 keys are left, each is sorted."""
    given = storel.tensor(np.random.default_rng(0).random((60, 60)), "csc")
    loops = "sum(<(i, k), a> in A, <(j, k), b> in A)"
    program = f"CREATE TENSOR C STORED AS hash AS {loops} {{ (i * j % 60, j) -> a * b }}"
    kernel = storel.compile(program, A=given)
    assert isinstance(kernel.compilation.plan.destination, Levels)
    found, expected = kernel(A=given), storel.run(program, backend="interpret", A=given)
    assert isinstance(found, storel.Tensor) and isinstance(expected, storel.Tensor)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy())


@pytest.mark.parametrize("wanted", ["coo", "hash", "dcsr", "dcsc"])
@pytest.mark.parametrize("source", ["coo", "dcsr", "csf"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_few_entries_in_more_rows_than_memory_holds(wanted: str, source: str, threads: int) -> None:
    rows = 10**12
    given = storel.tensor({(5, 3): 1.0, (rows - 1, 7): 3.0}, shape=(rows, rows), format=source)
    for term, expected in (
        ("sum(<(i, j), a> in H) { (i, j) -> a * 2 }", {(5, 3): 2.0, (rows - 1, 7): 6.0}),
        ("sum(<(i, j), a> in H) { (j, i) -> a * 2 }", {(3, 5): 2.0, (7, rows - 1): 6.0}),
        ("H + H * H", {(5, 3): 2.0, (rows - 1, 7): 12.0}),
    ):
        result = storel.run(f"CREATE TENSOR r STORED AS {wanted} AS {term}", H=given, threads=threads)
        assert isinstance(result, storel.Tensor)
        assert result.format.startswith(wanted)
        keys, values = result.to_coo()
        assert dict(zip(map(tuple, keys.T.tolist()), values.tolist(), strict=True)) == expected


def test_positions_of_rows_that_do_not_fit_into_memory_say_what_helps() -> None:
    given = storel.tensor({(5, 3): 1.0}, shape=(10**12, 9), format="coo")
    with pytest.raises(MemoryLimitError, match="keeps nothing for rows without entries"):
        storel.run("CREATE TENSOR r STORED AS csr AS sum(<(i, j), a> in H) { (i, j) -> a * 2 }", H=given)


@pytest.mark.parametrize("rank", [6, 7, 9])
@pytest.mark.parametrize("first", ["compressed", "dense, compressed"])
def test_singletons_of_any_rank_hold_a_result(first: str, rank: int) -> None:
    kinds = [*first.split(", "), *["singleton"] * rank][:rank]
    wanted = f"levels({', '.join(kinds)})"
    entries = {tuple(range(rank)): 1.5, (2,) * rank: 2.5}
    given = storel.tensor(entries, shape=(rank,) * rank, format=wanted)
    keys = ", ".join("abcdefghi"[:rank])
    result = storel.run(
        f"CREATE TENSOR r STORED AS {wanted} AS sum(<({keys}), v> in T) {{ ({keys}) -> 2 * v }}", T=given
    )
    assert isinstance(result, storel.Tensor)
    assert result.format == wanted
    np.testing.assert_array_equal(result.to_coo()[0], given.to_coo()[0])
    np.testing.assert_array_equal(result.to_coo()[1], 2 * given.to_coo()[1])


@pytest.mark.parametrize(
    ("extents", "counts", "name"),
    [
        ((), (), "dense"),
        ((100,), (5.0,), "coo"),
        ((100, 100), (100.0, 100.0), "csr"),
        ((2, 3), (1.0, 1.0), "dense"),
        ((100, 100), (100.0, 9000.0), "dense"),
        ((9, 9, 9), (5.0, 5.0, 5.0), "csf"),
        ((100, 100), (5.0, 400.0), "levels(compressed, dense)"),
        ((100, 100, 9), (100.0, 200.0, 1800.0), "levels(dense, compressed, dense)"),
        ((100, 100, 9), (100.0, 200.0, 200.0), "csf"),
    ],
)
def test_a_result_that_asks_for_nothing_is_stored_by_its_entries(
    extents: tuple[int, ...], counts: tuple[float, ...], name: str
) -> None:
    assert choose_result_format(None, extents, counts, FORMATS).wanted.name == name


@pytest.mark.parametrize("columns", [2, 5, 9])
@pytest.mark.parametrize("is_nested", [True, False])
def test_several_aggregates_of_few_groups_are_dense(columns: int, is_nested: bool) -> None:
    rng = np.random.default_rng(columns)
    group, v = rng.integers(0, 3, 5000), rng.random(5000)
    keys = [
        f"{{ {column} -> v(i) }}" if is_nested else f"{{ (group(i), {column}) -> v(i) }}"
        for column in range(columns)
    ]
    made = f"{{ group(i) -> {' + '.join(keys)} }}" if is_nested else f"({' + '.join(keys)})"
    program = f"CREATE TENSOR r: real[3, {columns}] AS sum(<i, _> in 0:extent(group, 0)) {made}"
    result = storel.run(program, group=group, v=v)
    assert isinstance(result, storel.Tensor)
    assert result.format == "dense"
    expected = np.bincount(group, v, 3)[:, None] * np.ones(columns)
    np.testing.assert_allclose(result.to_numpy(), expected)


@pytest.mark.parametrize("wanted", ["dense", "csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize("source", ["csr", "csc", "dense"])
def test_every_format_holds_the_result(wanted: str, source: str) -> None:
    result = storel.run(f"CREATE TENSOR r STORED AS {wanted} AS A * 2", A=storel.tensor(MATRIX, source))
    assert isinstance(result, storel.Tensor)
    assert result.format == wanted
    np.testing.assert_array_equal(result.to_numpy(), 2 * MATRIX)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_values_keep_their_type(dtype: str) -> None:
    stored = storel.tensor(MATRIX.astype(dtype), "csr")
    result = storel.run("CREATE TENSOR r STORED AS csr AS A + A", A=stored)
    assert isinstance(result, storel.Tensor)
    assert result.to_numpy().dtype == np.dtype(dtype)


@pytest.mark.parametrize("wanted", [None, "csf", "levels(compressed, compressed, compressed; order=(2,0,1))"])
@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_levels_in_any_order_are_assembled_and_stored_as_wanted(
    order: tuple[int, ...], wanted: str | None
) -> None:
    given = np.arange(24.0).reshape(2, 3, 4) * (np.arange(24).reshape(2, 3, 4) % 3 > 0)
    text = f"levels(compressed, compressed, compressed; order={order})".replace(" ", "")
    program = "CREATE TENSOR r AS sum(<(i, j, k), a> in A) { (i, j, k) -> 2 * a }"
    options = {} if wanted is None else {"format": wanted}
    kernel = storel.compile(program, A=storel.tensor(given, text), **options)
    assert "coordinates" not in kernel.explain("plan")
    result = kernel(A=storel.tensor(given, text))
    assert isinstance(result, storel.Tensor)
    np.testing.assert_array_equal(result.to_numpy(), 2 * given)


@pytest.mark.parametrize(("entries", "storage"), [(1_000, "csr"), (4_000, "dense")])
def test_many_keys_in_no_order_have_places_instead_of_being_sorted(entries: int, storage: str) -> None:
    keys = np.random.default_rng(0).integers(0, 200, (2, entries))
    given = {"row": keys[0], "column": keys[1], "value": np.ones(entries)}
    program = (
        "CREATE TENSOR r: real[200, 200] {} AS sum(<p, v> in value) {{ row(p) -> {{ column(p) -> v }} }}"
    )
    kernel: Any = storel.compile(program.format(""), **given)
    result = kernel(**given)
    assert result.format == storage
    assert isinstance(kernel.compilation.plan.destination, Levels) is (storage == "dense")
    expected = np.zeros((200, 200))
    np.add.at(expected, (keys[0], keys[1]), 1)
    np.testing.assert_array_equal(result.to_numpy(), expected)
    asked: Any = storel.run(program.format("STORED AS csr"), **given)
    assert asked.format == "csr"
