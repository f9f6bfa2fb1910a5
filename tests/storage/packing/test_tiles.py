"""Entries that come in whole runs are packed as they are one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.packing import general
from storel.storage.packing.tiles import tile_of
from storel.storage.packing.turned import turn_round
from storel.storage.tensor import pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse, parse_format

SIZES = {"m": 12, "n": 12}


def resolved(text: str) -> Format:
    return Formats().resolve(parse_format(text), 2)


def created(text: str) -> Format:
    (statement,) = parse(Source("test", f"CREATE FORMAT f(T: real[m, n]) {text}")).statements
    assert isinstance(statement, CreateFormat)
    return Format("f", statement)


def width(storage: Format, shape: tuple[int, int] = (12, 12)) -> int | None:
    found = tile_of(turn_round(storage, storage.chains[0]), 2, storage.sizes(shape))
    return None if found is None else found.width


@pytest.mark.parametrize(
    ("text", "expected"), [("bcsr", 4), ("bcsr(2, 3)", 3), ("bcsr(3, 1)", None), ("dia", None)]
)
def test_runs_are_as_long_as_the_loop_that_counts_the_last_key(text: str, expected: int | None) -> None:
    assert width(resolved(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(j * m + i) }",
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (j, i) -> val(i * n + j) }",
        "USING val: real[m * n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) if (j != i) then "
        "{ (i, j) -> val(i * n + j) }",
    ],
)
def test_a_variable_that_is_needed_elsewhere_makes_no_runs(text: str) -> None:
    assert width(created(text)) is None


def no_tile(*_: Any) -> None:
    """Let entries be packed one by one."""


def blocks(shape: tuple[int, int], rows: int, columns: int) -> Any:
    """Return coordinates of blocks at random places of a grid, as far as they lie in the matrix."""
    random = np.random.default_rng(0)
    dense = np.kron(
        random.random((-(-shape[0] // rows), -(-shape[1] // columns))) < 0.4, np.ones((rows, columns))
    )
    return np.array(np.nonzero(dense[: shape[0], : shape[1]]))


@pytest.mark.parametrize("text", ["bcsr(2, 3)", "bcsr(3, 2)", "bcsr(1, 6)", "bcsr(5, 4)", "bcsr_csr(2, 3)"])
@pytest.mark.parametrize("shape", [(12, 12), (11, 12), (12, 11), (13, 14)])
@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_the_arrays_are_those_of_entries_one_by_one(
    text: str, shape: tuple[int, int], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, coordinates = resolved(text), blocks(shape, 2, 3)
    values = np.arange(1, coordinates.shape[1] + 1).astype(dtype)
    found = pack(storage, coordinates, values, shape)
    monkeypatch.setattr(general, "tile_of", no_tile)
    wanted = pack(storage, coordinates, values, shape)
    for name, array in wanted.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)


def test_runs_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, coordinates = resolved("bcsr(2, 3)"), blocks((12, 12), 2, 3)
    values, placed = np.ones(coordinates.shape[1]), []
    of = general.Placement.of

    def counted(*arguments: Any) -> Any:
        placed.append(len(arguments[-1]))
        return of(*arguments)

    monkeypatch.setattr(general.Placement, "of", counted)
    pack(storage, coordinates, values, (12, 12))
    assert placed == [len(values) // 3]


SHARED = "USING val: real[n] AS sum(<i, _> in 0:m) sum(<j, _> in 0:n) { (i, j) -> val(j) }"


def test_runs_with_the_same_place_have_to_agree() -> None:
    coordinates = np.indices((2, 3)).reshape(2, -1)
    tensor = pack(created(SHARED), coordinates, np.array([1.0, 2, 3, 1, 2, 3]), (2, 3))
    assert tensor.arrays["val"].tolist() == [1, 2, 3]
    with pytest.raises(FormatError, match=r"entry \(0, 1\) = 2.0 shares val\(1\) with another"):
        pack(created(SHARED), coordinates, np.array([1.0, 2, 3, 1, 5, 3]), (2, 3))
