from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storel.source import Source
from storel.storage.unpacking.extremes import Interval, are_within, interval, is_always
from storel.storage.unpacking.vectors import evaluate_vector
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse_expression

KNOWN: dict[str, Interval] = {"i": (0, 3), "j": (-2, 5), "n": (7, 7)}

INTERVALS: list[tuple[str, Interval | None]] = [
    ("7", (7, 7)),
    ("i", (0, 3)),
    ("-j", (-5, 2)),
    ("i + j", (-2, 8)),
    ("i - j", (-5, 5)),
    ("i * j", (-6, 15)),
    ("j // n", (-1, 0)),
    ("j % n", (0, 6)),
    ("j // i", None),
    ("j % i", None),
    ("min(i, n - j * 2)", (-3, 3)),
    ("max(0, j, i)", (0, 5)),
    ("k", None),
    ("k + 1", None),
    ("idx(i)", None),
    ("i & 1", None),
    ("1.5", None),
]


def parsed(text: str) -> Expression:
    return parse_expression(Source("test", text))


@pytest.mark.parametrize(("text", "expected"), INTERVALS)
def test_expressions_lie_in_intervals(text: str, expected: Interval | None) -> None:
    assert interval(parsed(text), KNOWN.get) == expected


@pytest.mark.parametrize(
    ("text", "largest", "is_small"), [("j - i", 5, True), ("j - i", 4, False), ("j - j * n + n", 36, False)]
)
def test_no_part_may_be_too_large(text: str, largest: int, is_small: bool) -> None:
    assert (interval(parsed(text), KNOWN.get, largest) is not None) == is_small


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([text for text, expected in INTERVALS if expected is not None]),
    st.integers(*KNOWN["i"]),
    st.integers(*KNOWN["j"]),
)
def test_values_lie_in_the_interval(text: str, i: int, j: int) -> None:
    found = interval(parsed(text), KNOWN.get)
    assert found is not None
    assert found[0] <= evaluate_vector(parsed(text), {"i": i, "j": j, "n": 7}, {}) <= found[1]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("i <= 3", True),
        ("i < 3", False),
        ("4 > i", True),
        ("j >= -2", True),
        ("i < n and j <= i + 5", True),
        ("i < n and j < 0", False),
        ("i == i", False),
        ("k < 1", False),
    ],
)
def test_conditions_are_proven(text: str, holds: bool) -> None:
    assert is_always(parsed(text), KNOWN.get) == holds


@pytest.mark.parametrize(
    ("text", "largest", "is_small"),
    [
        ("i < n and j == 2", 7, True),
        ("i < n and j == 2", 6, False),
        ("i * n < j", 20, False),
        ("not (i < j)", 9, False),
    ],
)
def test_all_that_a_condition_is_computed_from_is_small(text: str, largest: int, is_small: bool) -> None:
    assert are_within(parsed(text), KNOWN.get, largest) == is_small
