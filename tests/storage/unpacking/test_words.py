"""Bits are only asked for of words that hold some, and that can be read."""

from __future__ import annotations

import numpy as np
import pytest

from storel.source import Source
from storel.storage.formats.chain import Chain, ChainLoop, chains
from storel.storage.unpacking.iterations import Iterations
from storel.storage.unpacking.words import words_around
from storel.syntax.parser import parse_expression


def chain(guard: str, end: str = "32") -> Chain:
    text = f"sum(<w, _> in 0:m) sum(<b, _> in 0:{end}) if ({guard}) then {{ (w, b) -> 1 }}"
    (found,) = chains(parse_expression(Source("", text)))
    return found


@pytest.mark.parametrize(
    ("guard", "count"),
    [
        ("bit(word(w), b) == 1", 1),
        ("b < 3 and bit(word(w), b) == 1", 1),
        ("bit(word(w), b) == 1 and bit(other(w), b) == 1", 2),
        ("bit(word(b), w) == 1", 0),
        ("bit(word(w), b) == 0", 0),
        ("b < 3 or bit(word(w), b) == 1", 0),
    ],
)
def test_words_that_a_loop_over_bits_does_not_change(guard: str, count: int) -> None:
    _, loop, *inner = chain(guard).steps
    assert isinstance(loop, ChainLoop)
    assert len(list(words_around(loop, inner))) == count


@pytest.mark.parametrize("words", [[5, 0, 0, -(2**31)], [0, 0], [-1], []])
def test_bits_of_words(words: list[int]) -> None:
    found = chain("bit(word(w), b) == 1")
    made = Iterations.of(found, {"word": np.array(words, np.int32)}, {"m": len(words)})
    expected = [(w, b) for w, word in enumerate(words) for b in range(32) if word >> b & 1]
    assert list(zip(*made.keys(found, np.dtype(np.int64)), strict=True)) == expected


def test_words_of_which_no_bit_is_asked_for_are_not_read() -> None:
    found = chain("bit(word(w), b) == 1", "count(w)")
    arrays = {"word": np.array([3], np.int32), "count": np.array([1, 0])}
    made = Iterations.of(found, arrays, {"m": 2})
    np.testing.assert_array_equal(made.keys(found, np.dtype(np.int64)), [[0], [0]])
