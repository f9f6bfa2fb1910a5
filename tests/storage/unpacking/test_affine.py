from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from storel.source import Source
from storel.storage.unpacking.affine import Affine, affine, solve
from storel.syntax.parser import parse_expression

KNOWN = {"c": 3, "i": np.array([1, 2])}
UNKNOWN = frozenset({"x", "y"})

AFFINE: list[tuple[str, dict[str, Any] | None, Any]] = [
    ("c + 1", {}, 4),
    ("x", {"x": 1}, 0),
    ("2 * (x + c) - y", {"x": 2, "y": -1}, 6),
    ("x * i + i", {"x": np.array([1, 2])}, np.array([1, 2])),
    ("-(x - x) + x", {"x": 1}, 0),
    ("x * y", None, 0),
    ("x // 2", None, 0),
    ("min(x, c)", None, 0),
]


@pytest.mark.parametrize(("text", "factors", "constant"), AFFINE)
def test_affine_expressions(text: str, factors: dict[str, Any] | None, constant: Any) -> None:
    found = affine(parse_expression(Source("test", text)), KNOWN, {}, UNKNOWN)
    if factors is None:
        assert found is None
        return
    assert found is not None
    assert found.factors.keys() == factors.keys()
    for name, factor in factors.items():
        np.testing.assert_array_equal(found.factors[name], factor)
    np.testing.assert_array_equal(found.constant, constant)


WIDTHS = {"y": (0, 4), "z": (1, 2)}

SOLVED: list[tuple[dict[str, int], int, tuple[str, list[int], list[bool]] | None]] = [
    ({"x": 1}, 2, ("x", [5, 6, -2], [True, True, True])),
    ({"x": 2}, 1, ("x", [3, 0, 0], [True, False, False])),
    ({"x": -1}, 0, ("x", [-7, -8, 0], [True, True, True])),
    ({"x": 4, "y": 1}, 0, ("x", [1, 2, 0], [True, True, True])),
    ({"x": 8, "y": 2, "z": 1}, 0, ("x", [0, 0, -1], [True, True, True])),
    ({"x": 3, "y": 1}, 0, None),
    ({"x": 4, "w": 1}, 0, None),
]


@pytest.mark.parametrize(("factors", "constant", "expected"), SOLVED)
def test_one_variable_is_solved_for(
    factors: dict[str, int], constant: int, expected: tuple[str, list[int], list[bool]] | None
) -> None:
    found = solve(Affine(factors, constant), np.array([7, 8, 0]), WIDTHS.get)
    if expected is None:
        assert found is None
        return
    assert found is not None
    name, values, fits = expected
    assert found.name == name
    fitting = np.ones(3, dtype=bool) if found.fits is None else found.fits
    np.testing.assert_array_equal(fitting, fits)
    np.testing.assert_array_equal(found.value[fitting], np.array(values)[fitting])
