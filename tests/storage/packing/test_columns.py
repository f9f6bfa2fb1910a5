from __future__ import annotations

import numpy as np
import pytest

from storel.storage import blocks
from storel.storage.packing.columns import LARGEST_KEPT, collected, narrowed, pieces


def test_pieces_are_computed_in_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "FEW_ELEMENTS", 2)
    vector = np.array([2**30, 1, 2], dtype=np.int32)
    found = [(piece, (names["x"] * 4).tolist()) for piece, names in pieces({"x": vector}, 3)]
    assert found == [(slice(0, 2), [2**32, 4]), (slice(2, 3), [8])]


def test_there_is_a_piece_even_of_nothing() -> None:
    ((_, names),) = pieces({"x": np.empty(0, dtype=np.int32)}, 0)
    assert names["x"].tolist() == []


@pytest.mark.parametrize(
    ("elements", "expected"),
    [
        ([0, -1, LARGEST_KEPT], np.int32),
        ([0, -1, LARGEST_KEPT + 1], np.int64),
        ([-LARGEST_KEPT - 1, 0, 0], np.int64),
        ([], np.int32),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_vectors_are_kept_in_32_bits_if_sums_of_two_are_such(
    elements: list[int], expected: type, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "FEW_ELEMENTS", 2)
    found = narrowed(np.array(elements, dtype=dtype))
    assert (found.tolist(), found.dtype) == (elements, expected)


def test_what_is_the_same_for_all_is_a_vector_too() -> None:
    assert collected(3, [(slice(0, 2), 7), (slice(2, 3), np.array([2**40]))]).tolist() == [7, 7, 2**40]
