"""What is found piece by piece is what is found at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from storel.errors import DataError
from storel.storage import blocks
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_properties
from storel.syntax.parser import parse_format

INTEGERS = hnp.arrays(np.int32, st.integers(0, 9), elements=st.integers(-2, 2))
REALS = hnp.arrays(np.float64, st.integers(0, 9), elements=st.sampled_from([0.0, 1.0, np.inf, np.nan]))
LARGEST = 2**31 - 1


@given(integers=INTEGERS, reals=REALS, elements=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_pieces_add_up(integers: NDArray[Any], reals: NDArray[Any], elements: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ELEMENTS", elements)
        assert blocks.is_all_finite(reals) == np.isfinite(reals).all()
        assert blocks.count_unlike(reals, np.inf) == np.count_nonzero(reals != np.inf)
        steps = np.diff(integers)
        assert blocks.is_ascending(integers) == (steps >= 0).all()
        assert blocks.is_increasing(integers) == (steps > 0).all()
        assert blocks.count_runs(integers) == np.count_nonzero(steps) + (len(integers) > 0)


def test_a_step_that_overflows_is_none() -> None:
    assert not blocks.is_ascending(np.array([LARGEST, -LARGEST - 1], np.int32))
    assert blocks.is_increasing(np.array([-LARGEST - 1, LARGEST], np.int32))


CSR = {"pos": np.array([0, 3, 3, 5]), "idx": np.array([0, 2, 3, 1, 2]), "val": np.ones(5)}
COO = {"row": np.array([0, 0, 1, 2]), "col": np.array([1, 3, 0, 0]), "val": np.ones(4)}
BROKEN: list[tuple[str, dict[str, Any], str, int, int, str | None]] = [
    ("csr", CSR, "val", 0, 1, None),
    ("csr", CSR, "idx", 4, 4, r"idx\(4\) = 4 is outside 0:4"),
    ("csr", CSR, "idx", 2, 2, r"idx\(1\) = 2, idx\(2\) = 2: not INCREASING \(segment 0\)"),
    ("csr", CSR, "idx", 4, 1, r"idx\(3\) = 1, idx\(4\) = 1: not INCREASING \(segment 2\)"),
    ("csr", CSR, "pos", 2, 2, r"pos\(1\) = 3, pos\(2\) = 2: not ASCENDING"),
    ("coo", COO, "val", 0, 1, None),
    ("coo", COO, "col", 1, 1, r"\(row, col\) at 0 = \(0, 1\), at 1 = \(0, 1\): not INCREASING"),
    ("coo", COO, "row", 3, 1, r"\(row, col\) at 2 = \(1, 0\), at 3 = \(1, 0\): not INCREASING"),
]


@pytest.mark.parametrize("elements", [1, 2, 3, 100])
@pytest.mark.parametrize(("format_name", "arrays", "name", "at", "value", "message"), BROKEN)
def test_properties_hold_across_pieces(
    monkeypatch: pytest.MonkeyPatch,
    elements: int,
    format_name: str,
    arrays: dict[str, Any],
    name: str,
    at: int,
    value: int,
    message: str | None,
) -> None:
    monkeypatch.setattr(blocks, "ELEMENTS", elements)
    changed = {**arrays, name: arrays[name].copy()}
    changed[name][at] = value
    storage = Formats().resolve(parse_format(format_name), 2)
    sizes = {**storage.sizes((3, 4)), "nnz": len(arrays["val"])}
    if message is None:
        verify_properties(storage, changed, sizes)
        return
    with pytest.raises(DataError, match=message):
        verify_properties(storage, changed, sizes)
