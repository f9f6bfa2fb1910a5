"""Tensors declared by their statistics: the facts of data, without the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import storel
from storel.degrees import summary_of
from storel.errors import DataError, FormatError
from storel.storage.build import from_numpy
from storel.storage.facts import likeness, symbols_of
from storel.storage.formats.known import Formats
from storel.storage.summary import read_summary, summary_from
from storel.storage.tensor import declare
from storel.symbols import ArraySymbol

FORMATS = Formats()
FORMATS_OF_RANK = {1: ("dense", "coo", "csf"), 2: ("dense", "coo", "csr", "csc", "dcsr"), 3: ("coo", "csf")}
CASES = [(name, rank) for rank, names in FORMATS_OF_RANK.items() for name in names]


def random_array(rank: int) -> Any:
    rng = np.random.default_rng(rank)
    array = rng.random((6, 5, 4)[:rank])
    array[rng.random(array.shape) > 0.4] = 0
    return array


@pytest.mark.parametrize(("name", "rank"), CASES)
def test_the_facts_are_those_of_the_data(name: str, rank: int) -> None:
    tensor = from_numpy(random_array(rank), FORMATS, FORMATS.find(name, rank))
    given = declare(tensor.summary, tensor.storage)
    assert (given.shape, given.nnz, given.sizes) == (tensor.shape, tensor.nnz, tensor.sizes)
    assert symbols_of(given, "A").keys() == symbols_of(tensor, "A").keys()
    for fact in symbols_of(tensor, "A").values():
        stated = symbols_of(given, "A")[fact.name]
        if not isinstance(fact, ArraySymbol) or fact.distinct is None:
            assert stated == fact
            continue
        assert isinstance(stated, ArraySymbol)
        assert (stated.length, stated.type, stated.high) == (fact.length, fact.type, fact.high)
        assert stated.distinct is not None
        assert abs(stated.distinct - fact.distinct) <= 1


def test_degrees_reach_the_arrays_of_another_format() -> None:
    array = random_array(2)
    by_row = from_numpy(array, FORMATS, FORMATS.find("csr", 2))
    by_column = from_numpy(array, FORMATS, FORMATS.find("csc", 2))
    stated = symbols_of(declare(by_row.summary, by_column.storage), "A")
    for name in ("pos", "idx"):
        fact, known = stated[f"A_{name}"], symbols_of(by_column, "A")[f"A_{name}"]
        assert isinstance(fact, ArraySymbol)
        assert isinstance(known, ArraySymbol)
        kind = "segments" if name == "pos" else "occurrences"
        one, other = (summary_of(getattr(each, kind)) for each in (fact, known))
        assert (one.total, one.largest) == (other.total, other.largest)


def test_a_tensor_without_data_converts_but_gives_no_entries() -> None:
    given = storel.declare({"shape": [4, 5], "nnz": 6})
    assert given.stored_as(FORMATS.find("csc", 2)).format == "csc"
    for access in (given.to_coo, given.to_numpy, given.to_scipy):
        with pytest.raises(DataError, match="no data"):
            access()
    assert "6 entries" in repr(given)


def test_a_kernel_for_statistics_does_not_take_data_unplanned() -> None:
    tensor = from_numpy(random_array(2), FORMATS, FORMATS.find("csr", 2))
    assert likeness(declare(tensor.summary, tensor.storage)) != likeness(tensor)


def test_a_format_that_is_no_nest_of_levels_needs_the_data() -> None:
    with pytest.raises(FormatError, match="without data"):
        declare(summary_from({"shape": [4], "nnz": 1}), FORMATS.find("csr", 2))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    summary = from_numpy(random_array(2), FORMATS, FORMATS.find("csr", 2)).summary
    path = tmp_path / "A.json"
    path.write_text(json.dumps(summary.as_object()))
    assert read_summary(path) == summary


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0), (0,), (2, 2)])
def test_what_is_written_of_nothing_is_read_again(shape: tuple[int, ...]) -> None:
    summary = storel.tensor(np.zeros(shape)).summary
    assert summary_from(summary.as_object()) == summary


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"nnz": 99}, "more entries than places"),
        ({"nnz": -1}, "bad 'nnz'"),
        ({"shape": [4, 2**63]}, "an extent does not fit into 64 bits"),
        ({"shape": None}, "bad 'shape'"),
        ({"nzz": 3}, "unknown 'nzz'"),
        ({"order": [0, 0]}, "each dimension once"),
        ({"prefixes": [9, 6]}, "must grow to nnz"),
        ({"modes": [{}]}, "must describe 2"),
        ({"modes": [{"nonempty": 0}, {}]}, "impossible 'nonempty'"),
        ({"modes": [{"linf": 1}, {}]}, "norms that no 6 entries have"),
        ({"type": "text"}, "bad 'type'"),
        ({"closed": 1}, "bad 'closed'"),
        ({"bandwidth": [1]}, "'bandwidth' is two"),
        ({"shape": [9], "bandwidth": [1, 1]}, "'bandwidth' is that of a matrix"),
        ({"bandwidth": [4, 4]}, "'bandwidth' below the diagonal is more than"),
        ({"bandwidth": [3, 5]}, "'bandwidth' above the diagonal is more than"),
        ({"symmetric": True}, "'symmetric' is what this cannot be"),
        ({"shape": [5, 5], "bandwidth": [1, 2], "symmetric": True}, "'symmetric' is what this cannot be"),
        ({"nnz": 0, "modes": [{"first": 0}, {}]}, "'first' and 'last' name is more than 'nonempty'"),
    ],
)
def test_impossible_statistics_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        summary_from({"shape": [4, 5], "nnz": 6} | changed)


@pytest.mark.parametrize(
    ("changed", "expected", "found"),
    [
        ({"modes": [{"l2": 7, "linf": 4}, {}]}, "at most 6", "7"),
        ({"modes": [{"l2": 3.2, "linf": 4}, {}]}, "at most 3.2", "4"),
        ({"modes": [{"l2": 5.9, "linf": 2}, {}]}, "at most 3.4641", "5.9"),
        ({"modes": [{"l2": 6, "linf": 6}, {}]}, "at most 5", "6"),
        ({"modes": [{"first": 3, "last": 1}, {}]}, "at most 1", "3"),
        ({"modes": [{"last": 4}, {}]}, "at most 3", "4"),
        ({"modes": [{"nonempty": 3, "first": 1, "last": 2}, {}]}, "at most 2", "3"),
        ({"modes": [{"nonempty": 3, "histogram": [1, 1]}, {}]}, "at most 2", "3"),
        ({"modes": [{"nonempty": 3, "histogram": [2, 3]}, {}]}, "at most 3", "5"),
        ({"modes": [{"nonempty": 3, "histogram": [0, 0, 3]}, {}]}, "at most 6", "12"),
        ({"prefixes": [3, 6], "modes": [{"nonempty": 2}, {}]}, "at most 2", "3"),
        ({"prefixes": [1, 6]}, "at most 5", "6"),
    ],
)
def test_statistics_that_contradict_each_other_are_refused(
    changed: dict[str, Any], expected: str, found: str
) -> None:
    with pytest.raises(DataError, match="is more than") as raised:
        summary_from({"shape": [4, 5], "nnz": 6} | changed)
    assert (raised.value.expected, raised.value.found) == (expected, found)


def test_what_is_not_said_fits_what_is() -> None:
    """Norms of which one is given leave the other what is most even and possible."""
    by_largest = summary_from({"shape": [4, 50], "nnz": 60, "modes": [{"linf": 40}, {}]}).modes[0].degrees
    assert by_largest.root_square == 40
    by_square = summary_from({"shape": [4, 50], "nnz": 60, "modes": [{"l2": 45}, {}]}).modes[0].degrees
    assert by_square.largest == 45**2 / 60


@pytest.mark.parametrize("extent", [10, 10**18])
@pytest.mark.parametrize("nnz", [0, 1, 10])
def test_statistics_of_any_size_are_taken(extent: int, nnz: int) -> None:
    assert summary_from({"shape": [extent, extent], "nnz": nnz}).nnz == nnz


def test_statistics_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_summary(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="no JSON"):
        read_summary(tmp_path / "bad.json")


@pytest.mark.parametrize("ending", [".npz", ".npy", ".mtx", ".tns", ".mtx.gz"])
def test_without_data_nothing_is_saved(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    with pytest.raises(DataError, match="no data"):
        storel.declare({"shape": [3, 3], "nnz": 2}).save(path)
    assert not path.exists()
