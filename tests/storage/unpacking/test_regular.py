from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.errors import FormatError
from storel.source import NOWHERE, Source, Span
from storel.storage.unpacking.regular import Address, Regular, address_of
from storel.syntax.parser import parse_expression

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)

PLACE = Span(Source("mine.sdql", "val(i)"), 0, 6)


def spread(regular: Regular, shape: tuple[int, ...]) -> Any:
    """Return the positions by definition."""
    places = np.indices(shape)
    return regular.first + sum(step * place for step, place in zip(regular.steps, places, strict=True))


@settings(max_examples=50, deadline=None)
@given(SHAPES, st.integers(-9, 9), st.data())
def test_positions_are_the_first_one_and_steps(
    shape: tuple[int, ...], first: int, data: st.DataObject
) -> None:
    steps = tuple(data.draw(st.integers(-3, 3)) for _ in shape)
    regular = Regular.of(first, steps, shape)
    wanted = spread(regular, shape)
    np.testing.assert_array_equal(np.broadcast_to(regular.values(), shape), wanted)
    assert regular.extremes == (wanted.min(), wanted.max())
    np.testing.assert_array_equal(regular.with_axis().values()[..., 0], regular.values())
    inner = np.broadcast_to(regular.at(shape[-1] - 1).values(), shape[:-1])
    np.testing.assert_array_equal(inner, wanted[..., -1])


def test_consecutive_positions_go_on_from_axis_to_axis() -> None:
    assert Regular.consecutive(5, (2, 3)).values().tolist() == [[5, 6, 7], [8, 9, 10]]
    assert Regular.along_last(5, (2, 3)).values().tolist() == [[5, 6, 7]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("i * 3 + j", [[10, 11, 12], [13, 14, 15]]),
        ("j * 2 + i", [[10, 12, 14], [11, 13, 15]]),
        ("5 - j", [[15, 14, 13]]),
        ("i + 1", [[11], [12]]),
    ],
)
def test_what_is_read_at_regular_positions_is_a_view(text: str, found: list[list[int]]) -> None:
    names = {"i": Regular.of(0, (1, 0), (2, 3)), "j": Regular.of(0, (0, 1), (2, 3))}
    address = address_of(parse_expression(Source("", text)), {}, names, (2, 3))
    array = np.arange(10, 16)
    assert address is not None
    read = address.read("val", array, NOWHERE)
    assert read is not None and read.tolist() == found and np.shares_memory(read, array)


@pytest.mark.parametrize("text", ["i * j", "i // 2"])
def test_other_expressions_are_no_regular_positions(text: str) -> None:
    names = {"i": Regular.of(0, (1, 0), (2, 3)), "j": Regular.of(0, (0, 1), (2, 3))}
    assert address_of(parse_expression(Source("", text)), {}, names, (2, 3)) is None


def test_whole_rows_are_taken() -> None:
    array, regular = np.arange(12.0), Regular.of(0, (0, 1), (3, 4))
    read = Address(np.array([[8], [0], [4]]), regular).read("val", array, NOWHERE)
    assert read is not None and read.tolist() == [[8, 9, 10, 11], [0, 1, 2, 3], [4, 5, 6, 7]]
    written = np.empty((3, 4), dtype=np.int32)
    Address(np.array([[8], [0], [4]]), regular).write(written)
    assert (written == read).all()


@pytest.mark.parametrize(("base", "length"), [([[1]], 12), ([[12]], 12), ([[-4]], 12), ([[4]], 13)])
def test_what_are_no_rows_is_read_one_by_one(base: list[list[int]], length: int) -> None:
    address = Address(np.array(base), Regular.of(0, (0, 1), (1, 4)))
    assert address.read("val", np.zeros(length), NOWHERE) is None


@pytest.mark.parametrize(("first", "named"), [(4, 6), (-1, -1), (9, 9)])
def test_positions_beyond_the_array_are_an_error(first: int, named: int) -> None:
    with pytest.raises(FormatError, match=rf"the mapping reads val\({named}\), outside 0:6") as caught:
        Address(0, Regular.of(first, (1,), (3,))).read("val", np.zeros(6), PLACE)
    assert caught.value.span == PLACE
