from __future__ import annotations

import numpy as np
import pytest

from storel.source import Source
from storel.storage.formats.chain import chains
from storel.storage.formats.format import Format
from storel.storage.packing.building import Building
from storel.storage.packing.placement import Placement
from storel.storage.packing.turned import turn_round
from storel.storage.tensor import pack
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

ENTRIES = np.array([[0, 1, 1, 3, 3], [2, 1, 2, 0, 1]])


def placed(mapping: str) -> Placement:
    """Place ENTRIES of a 4 × 3 matrix in one chain."""
    text = (
        "CREATE FORMAT f(T: real[m, n]) USING pos: int[m + 1], idx: int[z], val: real[20] "
        f"AS {mapping} {{ (i, j) -> val(p) }}"
    )
    (statement,) = parse(Source("test", text)).statements
    assert isinstance(statement, CreateFormat)
    storage = Format("f", statement)
    (chain,) = chains(storage.mapping)
    building = Building(storage, {"m": 4, "n": 3}, np.dtype(np.int32), None)
    made = Placement.of(storage, turn_round(storage, chain), building, np.arange(5), ENTRIES, np.ones(5))
    made.find_variables()
    return made


POSITIONS: list[tuple[str, list[int], list[int]]] = [
    # ranks in segments, whose boundaries are counted
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(pos(i):pos(i + 1)))", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
    # ranks in rows of a fixed width; what is too much is dropped
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(i:i + 1))", [0, 1, 3], [0, 1, 3]),
    # ranks of distinct columns, whatever the row
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(0:z))", [0, 1, 2, 3, 4], [2, 1, 2, 0, 1]),
    # what the guard excludes has no rank
    ("sum(<i, _> in 0:m) sum(<p, j> in idx(0:z)) if (j > 0) then", [0, 1, 2, 4], [1, 0, 1, 0]),
]


@pytest.mark.parametrize(("mapping", "entries", "positions"), POSITIONS)
def test_positions_are_ranks(mapping: str, entries: list[int], positions: list[int]) -> None:
    made = placed(mapping)
    assert made.entries.tolist() == entries
    assert made.value(made.chain.leaf.address).tolist() == positions


def test_the_first_misfit_is_remembered_with_the_reason() -> None:
    made = placed("sum(<i, _> in 1:m) sum(<p, j> in idx(i:i + 1))")
    assert made.misfit is not None
    assert (made.misfit.entry, made.misfit.reason) == (0, "i = 0 is outside 1:m, which is 1:4")


def test_boundaries_and_lengths_come_out_of_ranks() -> None:
    building = placed(POSITIONS[0][0]).building
    assert building.arrays["pos"].tolist() == [0, 1, 3, 3, 5]
    assert building.sizes["z"] == 5


def test_positions_rise_as_the_format_says_whatever_the_order_of_the_keys() -> None:
    arrays = "USING col: int[b] {}, row: int[b] {}, val: real[b * 2]"
    mapping = "sum(<p, j> in col(0:b)) sum(<ii, _> in 0:2) { (row(p) * 2 + ii, j) -> val(p * 2 + ii) }"
    dense = np.array([[0, 1, 2], [0, 3, 0], [4, 0, 0], [0, 5, 0]])
    for properties, columns, rows in (
        (("INCREASING (row, col)", ""), [1, 2, 0, 1], [0, 0, 1, 1]),
        (("INCREASING (col, row)", ""), [0, 1, 1, 2], [1, 0, 1, 0]),
        (("ASCENDING", ""), [0, 1, 1, 2], [1, 0, 1, 0]),
        (("", "ASCENDING"), [1, 2, 0, 1], [0, 0, 1, 1]),
    ):
        text = f"CREATE FORMAT f(T: real[m, n]) {arrays.format(*properties)} AS {mapping}"
        (statement,) = parse(Source("test", text)).statements
        assert isinstance(statement, CreateFormat)
        coordinates = np.stack(np.nonzero(dense))
        tensor = pack(Format("f", statement), coordinates, dense[dense != 0], dense.shape)
        assert tensor.arrays["col"].tolist() == columns
        assert tensor.arrays["row"].tolist() == rows
        np.testing.assert_array_equal(tensor.to_numpy(), dense)
