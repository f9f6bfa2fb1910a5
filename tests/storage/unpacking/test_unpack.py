"""Reading by the mapping alone: also of formats that are not level-wise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.chain import chains
from storel.storage.formats.format import Format
from storel.storage.unpacking import unpack
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.unpack import count_nonzero_reads, enumerate_entries
from storel.syntax.nodes.expressions import Number
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

MAPPINGS: list[tuple[str, dict[str, list[float]], dict[str, int], list[list[float]]]] = [
    (
        "USING val: real[n * (n + 1) // 2] AS sum(<i, _> in 0:n) { i -> sum(<j, _> in i:n) "
        "{ j -> val(i * n - i * (i - 1) // 2 + j - i) } }",
        {"val": [1, 2, 3, 4, 5, 6]},
        {"m": 3, "n": 3},
        [[1, 2, 3], [0, 4, 5], [0, 0, 6]],
    ),
    (
        "USING off: int[d], val: real[d * m] AS sum(<k, o> in off(0:d)) "
        "sum(<i, _> in max(0, -o):min(m, n - o)) { (i, i + o) -> val(k * m + i) }",
        {"off": [-1, 1], "val": [9, 1, 2, 3, 4, 9]},
        {"m": 3, "n": 3, "d": 2},
        [[0, 3, 0], [1, 0, 4], [0, 2, 0]],
    ),
    (
        "USING idx: int[m * w], val: real[m * w] AS sum(<i, _> in 0:m) "
        "sum(<p, j> in idx(i * w:(i + 1) * w)) if (j >= 0) then { (i, j) -> val(p) }",
        {"idx": [0, 2, 1, -1], "val": [1, 2, 3, 9]},
        {"m": 2, "n": 3, "w": 2},
        [[1, 0, 2], [0, 3, 0]],
    ),
    (
        "USING val: real[n * (n + 1) // 2] AS sum(<i, _> in 0:n) sum(<j, _> in 0:i + 1) "
        "{ (i, j) -> val(i * (i + 1) // 2 + j) } + sum(<i, _> in 0:n) sum(<j, _> in 0:i) "
        "{ (j, i) -> val(i * (i + 1) // 2 + j) }",
        {"val": [1, 2, 3]},
        {"m": 2, "n": 2},
        [[1, 2], [2, 3]],
    ),
    (
        "USING row: int[z], col: int[z], val: real[z] AS sum(<p, i> in row(0:z)) { (i, col(p)) -> val(p) }",
        {"row": [1, 0, 1], "col": [0, 1, 0], "val": [1, 2, 3]},
        {"m": 2, "n": 2, "z": 3},
        [[0, 2], [4, 0]],
    ),
    (
        "USING u: real[m], v: real[n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> u(i) * v(j) }",
        {"u": [1, 2], "v": [3, 0]},
        {"m": 2, "n": 2},
        [[3, 0], [6, 0]],
    ),
    (
        "USING val: real[m] AS sum(<i, _> in 0:m) { (i, i % 2) -> val(i) }",
        {"val": [1, 2, 3]},
        {"m": 3, "n": 2},
        [[1, 0], [0, 2], [3, 0]],
    ),
]


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f(T: real[m, n]) {text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


@pytest.mark.parametrize(("text", "arrays", "sizes", "expected"), MAPPINGS)
def test_a_mapping_means_the_sum_of_its_entries(
    text: str, arrays: dict[str, list[float]], sizes: dict[str, int], expected: list[list[float]]
) -> None:
    given: dict[str, Any] = {name: np.array(array) for name, array in arrays.items()}
    coordinates, values = enumerate_entries(created(text), given, sizes, "plus_times")
    wanted = np.array(expected)
    np.testing.assert_array_equal(coordinates, np.nonzero(wanted))
    np.testing.assert_array_equal(values, wanted[np.nonzero(wanted)])


READS = [6, 4, 3, 4, 3, 2, 3]
"""How many iterations of each mapping read a nonzero; entries that share a key are not added up."""


@pytest.mark.parametrize("at_once", [1, 2, 1000])
@pytest.mark.parametrize(("case", "reads"), list(zip(MAPPINGS, READS, strict=True)))
def test_reads_are_counted_slice_by_slice(
    case: tuple[str, dict[str, list[float]], dict[str, int], list[list[float]]],
    reads: int,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unpack, "ELEMENTS_AT_ONCE", at_once)
    text, arrays, sizes, _ = case
    given: dict[str, Any] = {name: np.array(array) for name, array in arrays.items()}
    assert count_nonzero_reads(created(text), given, sizes, "plus_times") == reads


BLOCKS = (
    "USING pos: int[b + 1], idx: int[z], val: real[z * r * r] AS sum(<bi, _> in 0:b) "
    "sum(<p, bj> in idx(pos(bi):pos(bi + 1))) sum(<ii, _> in 0:min(r, m - bi * r)) sum(<jj, _> in 0:r) "
    "{ (bi * r + ii, bj * r + jj) -> val((p * r + ii) * r + jj) }"
)
ORDERED: list[tuple[str, dict[str, list[int]], dict[str, int]]] = [
    (BLOCKS, {"pos": [0, 2, 3], "idx": [0, 1, 1], "val": [*range(1, 13)]}, {"b": 2, "z": 3, "r": 2}),
    (
        "USING val: real[m * n] AS sum(<j, _> in 0:n) sum(<i, _> in 0:m) { (i, j) -> val(j * m + i) }",
        {"val": [*range(1, 17)]},
        {},
    ),
    (
        "USING val: real[m * n] AS sum(<j, _> in 0:n) sum(<i, _> in j:m) { (i, j) -> val(j * m + i) }",
        {"val": [*range(1, 17)]},
        {},
    ),
    (
        "USING pos: int[z], idx: int[z], val: real[m * n] AS sum(<p, j> in idx(0:z)) "
        "sum(<i, _> in pos(p):m) { (i, j) -> val(j * m + i) }",
        {"pos": [0, 2], "idx": [3, 1], "val": [*range(1, 17)]},
        {"z": 2},
    ),
]
"""Loops that can be interchanged, and such that cannot: bounds depend on the outer one, or are read."""


@pytest.mark.parametrize("at_once", [1, 1000])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize(("text", "arrays", "sizes"), ORDERED)
def test_entries_are_sorted_in_whatever_order_the_mapping_makes_them(
    text: str,
    arrays: dict[str, list[int]],
    sizes: dict[str, int],
    index_type: type,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unpack, "ELEMENTS_AT_ONCE", at_once)
    given: dict[str, Any] = {name: np.array(array) for name, array in arrays.items()}
    sizes = {"m": 4, "n": 4, **sizes}
    storage = created(text)
    coordinates, values = enumerate_entries(storage, given, sizes, "plus_times", np.dtype(index_type))
    assert coordinates.dtype == index_type
    (chain,) = chains(storage.mapping)
    found = Iterations.of(chain, given, sizes)
    made = sorted(zip(*(found.vector(each).tolist() for each in (*chain.keys, chain.leaf)), strict=True))
    assert list(zip(*coordinates.tolist(), values.tolist(), strict=True)) == made
    assert found.count == len(made)


def test_a_mapping_that_reads_outside_its_arrays_is_an_error() -> None:
    storage = created("USING val: real[m] AS sum(<i, _> in 0:m) { (i, 0) -> val(i + 1) }")
    with pytest.raises(FormatError, match=r"the mapping reads val\(2\), outside 0:2"):
        enumerate_entries(storage, {"val": np.ones(2)}, {"m": 2, "n": 2}, "plus_times")


@pytest.mark.parametrize(("bounds", "first"), [("0:3", 2), ("1:4", 2), ("0 - 1:2", -1), ("5:7", 5)])
def test_a_range_that_an_array_has_not_is_an_error(bounds: str, first: int) -> None:
    storage = created(f"USING val: real[z] AS sum(<p, _> in {bounds}) {{ (0, 0) -> val(p) }}")
    with pytest.raises(FormatError, match=rf"the mapping reads val\({first}\), outside 0:2"):
        enumerate_entries(storage, {"val": np.ones(2)}, {"m": 1, "n": 1, "z": 2}, "plus_times")


def test_bounds_that_leave_an_array_are_shown() -> None:
    storage = created(
        "USING low: int[m], high: int[m], idx: int[nnz] IN 0:n, val: real[nnz] AS "
        "sum(<i, _> in 0:m) { i -> sum(<p, j> in idx(low(i):high(i))) { j -> val(p) } }"
    )
    arrays = {"low": np.array([0, 1]), "high": np.array([1, 9]), "idx": np.arange(2), "val": np.ones(2)}
    with pytest.raises(FormatError, match=r"the mapping reads idx\(2\), outside 0:2") as caught:
        enumerate_entries(storage, arrays, {"m": 2, "n": 2, "nnz": 2}, "plus_times")
    assert caught.value.span is not None and caught.value.span.text == "low(i):high(i)"


def test_a_range_without_elements_reads_nothing() -> None:
    storage = created("USING val: real[z] AS sum(<p, _> in 7:5) { (0, 0) -> val(p) }")
    assert (
        len(enumerate_entries(storage, {"val": np.ones(2)}, {"m": 1, "n": 1, "z": 2}, "plus_times")[1]) == 0
    )


def test_nothing_is_read_where_there_are_no_iterations() -> None:
    storage = created(
        "USING pos: int[m + 1], idx: int[z], val: real[z] "
        "AS sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i))) sum(<q, k> in idx(0:2)) { (i, j) -> val(k) }"
    )
    given: dict[str, Any] = {
        "pos": np.zeros(3, dtype=np.int32),
        "idx": np.zeros(0, dtype=np.int32),
        "val": np.ones(0),
    }
    assert len(enumerate_entries(storage, given, {"m": 2, "n": 2, "z": 0}, "plus_times")[1]) == 0


def test_runs_are_values_and_how_often_they_come() -> None:
    chain = chains(
        created(
            "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(i * n + j) }"
        ).mapping
    )[0]
    made = Iterations.of(chain, {"val": np.ones(6)}, {"m": 2, "n": 3})
    assert [each.tolist() for each in made.runs(chain.keys[0])] == [[0, 1], [3, 3]]
    assert [each.tolist() for each in made.runs(chain.keys[1])] == [[0, 1, 2, 0, 1, 2], [1] * 6]


def test_products_of_short_integers_are_long_where_they_have_to_be() -> None:
    storage = created("USING idx: int[z], val: real[z] AS sum(<p, j> in idx(0:z)) { (j * n, p) -> val(p) }")
    given: dict[str, Any] = {"idx": np.array([2**20, 1], dtype=np.int32), "val": np.ones(2)}
    made = Iterations.of(storage.chains[0], given, {"n": 2**20, "z": 2})
    assert made.vector(storage.chains[0].keys[0]).tolist() == [2**40, 2**20]


GUARDED = "USING idx: int[z], at: int[n], val: real[z] AS sum(<p, j> in idx(0:z)) if (j >= 0) then "


@pytest.mark.parametrize(
    ("entry", "leaves_out"),
    [
        ("{ (p, j) -> val(p) }", False),
        ("{ (p, idx(p)) -> val(p) }", False),
        ("{ (p, j + 1) -> val(p) }", False),
        ("{ (p, at(j)) -> val(p) }", True),
        ("{ (p, j) -> val(at(j)) }", True),
        ("{ (p, 6 // (j + 1)) -> val(p) }", True),
    ],
)
def test_guards_wait_where_all_can_be_computed_without_them(entry: str, leaves_out: bool) -> None:
    storage = created(GUARDED + entry)
    given: dict[str, Any] = {
        "idx": np.array([1, -1, 0, 1]),
        "at": np.array([3, 0]),
        "val": np.array([1.0, 5.0, 3.0, 4.0]),
    }
    sizes = {"m": 4, "n": 2, "z": 4}
    (chain,) = storage.chains
    made = Iterations.of(chain, given, sizes, may_hold_others=True)
    assert made.count == (3 if leaves_out else 4)
    assert (made.passing is None) == leaves_out
    exact = Iterations.of(chain, given, sizes)
    assert exact.count == 3 and exact.passing is None
    keys, values = enumerate_entries(storage, given, {**sizes, "n": 9}, "plus_times")
    assert keys.tolist() == exact.keys(chain, np.dtype(np.int64)).tolist()
    assert values.tolist() == exact.vector(chain.leaf).tolist()


def test_guards_that_few_pass_do_not_wait() -> None:
    storage = created(GUARDED + "{ (p, j) -> val(p) }")
    given: dict[str, Any] = {"idx": np.array([1, -1, -1, -1]), "at": np.zeros(2), "val": np.ones(4)}
    made = Iterations.of(storage.chains[0], given, {"m": 4, "n": 2, "z": 4}, may_hold_others=True)
    assert made.count == 1


def test_interchanged_loops_need_guards_at_the_ends_only() -> None:
    storage = created(
        "USING off: int[d], val: real[d * m] AS "
        "sum(<k, o> in off(0:d)) sum(<i, _> in max(0, -o):min(m, n - o)) { (i, i + o) -> val(k * m + i) }"
    )
    given: dict[str, Any] = {"off": np.array([-1, 0, 2]), "val": np.ones(24)}
    parts = unpack.in_key_order(storage.chains[0], given, {"m": 8, "n": 8, "d": 3})
    assert [len(part.steps) for part in parts] == [3, 2, 3]
    ends = [(part.loops[0].low, part.loops[0].high) for part in parts]
    assert ends == [(Number(low), Number(high)) for low, high in ((0, 1), (1, 6), (6, 8))]


def test_parts_share_the_iterations_that_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = created("USING val: real[m] AS sum(<i, _> in 0:m) { (i, 0) -> val(i) }")
    (chain,) = storage.chains
    monkeypatch.setattr(unpack, "ELEMENTS_AT_ONCE", 5)
    parts = list(unpack.slices((chain, chain), {"val": np.ones(10)}, {"m": 10, "n": 1}))
    assert [str(part.loops[0].high) for part in parts] == [str(Number(end)) for end in (7, 10, 7, 10)]
