"""Blank ranges against their definition: all natural keys for which no read is out of bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.extents import infer_extents
from storel.syntax.interpret import evaluate
from storel.syntax.parser import parse_expression
from storel.syntax.signatures import ArraySignature, Extent, Signature, TensorSignature

REAL = ScalarType.FLOAT64
LENGTHS = st.integers(0, 12)
FACTORS = st.sampled_from([-3, -2, -1, 1, 2, 3])
SHIFTS = st.integers(-4, 12)


def index(factor: int, step: int, shift: int) -> str:
    return f"({factor}) * i + ({step}) * x + ({shift})"


def keys_in_bounds(length: int, factor: int, step: int, shift: int, window: int) -> set[int]:
    """Return the natural i for which every read of the window is inside; beyond 40 none is."""
    offsets = [step * x + shift for x in range(window)]
    return {i for i in range(40) if all(0 <= factor * i + offset < length for offset in offsets)}


def keys_found(text: str, signatures: dict[str, Signature]) -> set[int]:
    """Return the keys that an inferred range runs over; the interpreter refuses reads out of bounds."""
    inferred = infer_extents(parse_expression(Source("test", text)), signatures)
    values = {
        name: np.ones(own.length) for name, own in signatures.items() if isinstance(own, ArraySignature)
    }
    found = evaluate(inferred.expression, signatures, {"v": {}, **values})
    assert isinstance(found, dict)
    return set(found)


@settings(max_examples=50)
@given(LENGTHS, FACTORS, st.integers(-2, 2), SHIFTS, st.integers(1, 4))
def test_a_window_on_an_array(length: int, factor: int, step: int, shift: int, window: int) -> None:
    text = f"sum(<i, _> in _, <x, _> in 0:{window}) {{ i -> a({index(factor, step, shift)}) }}"
    expected = keys_in_bounds(length, factor, step, shift, window)
    assert keys_found(text, {"a": ArraySignature(REAL, length)}) == expected


@settings(max_examples=50)
@given(LENGTHS, FACTORS, st.integers(-2, 2), SHIFTS, st.integers(1, 4))
def test_a_window_on_a_closed_extent(length: int, factor: int, step: int, shift: int, window: int) -> None:
    text = f"sum(<i, _> in _, <x, _> in 0:{window}) {{ i -> 1 + v({index(factor, step, shift)}) }}"
    expected = keys_in_bounds(length, factor, step, shift, window)
    assert keys_found(text, {"v": TensorSignature(REAL, (Extent(length),))}) == expected


@settings(max_examples=50)
@given(LENGTHS, LENGTHS, FACTORS, SHIFTS, st.integers(-3, 3))
def test_several_reads_are_all_in_bounds(one: int, two: int, factor: int, first: int, second: int) -> None:
    text = f"sum(<i, _> in _) {{ i -> a(({factor}) * i + ({first})) + b(i + ({second})) }}"
    expected = keys_in_bounds(one, factor, 0, first, 1) & keys_in_bounds(two, 1, 0, second, 1)
    assert keys_found(text, {"a": ArraySignature(REAL, one), "b": ArraySignature(REAL, two)}) == expected
