from __future__ import annotations

import numpy as np
import pytest

from storel.errors import FormatError, MemoryLimitError
from storel.source import Source
from storel.storage import blocks
from storel.storage.formats.format import Format
from storel.storage.packing.building import Building, is_different
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse

TEXT = """CREATE FORMAT f(T: real[m, n])
  USING pos: int[m + 1] FROM 2 TO z, idx: int[z] PAD -1, val: real[2 * d]
  AS sum(<i, _> in 0:m) { (i, i) -> val(i) }"""


def building(memory_limit: int | None = None) -> Building:
    (statement,) = parse(Source("test", TEXT)).statements
    assert isinstance(statement, CreateFormat)
    return Building(Format("f", statement), {"m": 3, "n": 2}, np.dtype(np.int32), memory_limit)


def test_a_length_symbol_is_as_large_as_the_addresses_need() -> None:
    made = building()
    assert (made.length("pos"), made.length("idx")) == (4, None)
    assert not made.write_indices("idx", np.array([3, 0]), np.array([7, 5])).any()
    assert (made.length("idx"), made.sizes["z"]) == (4, 4)
    assert made.arrays["idx"].tolist() == [5, -1, -1, 7]
    assert made.arrays["idx"].dtype == np.int32


def test_segments_begin_where_the_declaration_says() -> None:
    made = building()
    made.delimit("pos", np.array([0, 2, 2]), np.array([0, 1, 0]))
    assert made.arrays["pos"].tolist() == [2, 3, 3, 5]


def test_boundaries_are_as_wide_as_they_need() -> None:
    made = building()
    made.delimit("pos", np.array([0, 1]), np.array([2**31, 0]))
    assert made.arrays["pos"].tolist() == [2, 2**31 + 3, 2**31 + 4, 2**31 + 4]
    assert made.sizes["z"] == 2**31 + 4


def test_another_element_at_the_same_place_is_a_clash() -> None:
    made = building()
    first = made.write_indices("idx", np.array([0, 1, 1, 2]), np.array([4, 5, 6, 7]))
    assert first.tolist() == [False, True, False, False]
    second = made.write_indices("idx", np.array([0, 2]), np.array([4, 8]))
    assert second.tolist() == [False, True]
    assert made.arrays["idx"].tolist() == [4, 6, 7]


def test_an_array_is_written_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEW_ELEMENTS", 2)
    made = building()
    assert not made.write_indices("idx", np.array([0, 1, 3, 4, 6]), np.arange(5, 10)).any()
    assert made.arrays["idx"].tolist() == [5, 6, -1, 7, 8, -1, 9]
    again = made.write_indices("idx", np.array([6, 5, 4, 2, 6]), np.array([9, 1, 1, 2, 0]))
    assert again.tolist() == [False, False, True, False, True]
    assert made.arrays["idx"].tolist() == [5, 6, 2, 7, 8, 1, 9]


def test_what_nothing_was_written_to_is_padding() -> None:
    made = building()
    made.sizes["d"] = 1
    arrays = made.finish(np.dtype(np.float64), np.inf)
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "pos": [0, 0, 0, 0],
        "idx": [],
        "val": [np.inf, np.inf],
    }


def test_a_length_that_nothing_fixes_is_an_error() -> None:
    with pytest.raises(FormatError, match="nothing fixes the length of val"):
        building().write("val", np.array([0]), np.ones(1))


def test_the_memory_limit_is_obeyed() -> None:
    with pytest.raises(MemoryLimitError, match="idx would need"):
        building(1000).write_indices("idx", np.array([1000]), np.array([1]))


def test_nan_does_not_differ_from_nan() -> None:
    some, others = np.array([np.nan, np.nan, 1.0, 2.0]), np.array([np.nan, 1.0, 1.0, 3.0])
    assert is_different(some, others).tolist() == [False, True, False, True]
