from __future__ import annotations

import pytest

from storel.errors import FormatError
from storel.source import Source
from storel.storage.formats.sizes import evaluate_size, free_size_names, is_same_size
from storel.syntax.parser import parse_expression

SIZES = {"m": 7, "n": 3}


@pytest.mark.parametrize(
    ("text", "value", "names"),
    [
        ("m + 1", 8, {"m"}),
        ("m * (n - 1) // 4", 3, {"m", "n"}),
        ("-m // 2", -4, {"m"}),
        ("-m % n", 2, {"m", "n"}),
        ("max(m, n, 4) - min(m, n)", 4, {"m", "n"}),
    ],
)
def test_sizes_are_integer_arithmetic(text: str, value: int, names: set[str]) -> None:
    expression = parse_expression(Source("test", text))
    assert evaluate_size(expression, SIZES) == value
    assert free_size_names(expression) == names


REFUSED = ["k", "1.5", "m / n", "m // 0", "idx(m)", "m < n", "1 << (1 << 70)", "m << 62"]


@pytest.mark.parametrize("text", REFUSED)
def test_anything_else_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(FormatError) as raised:
        evaluate_size(parse_expression(Source("test", text)), SIZES)
    assert raised.value.span is not None


@pytest.mark.parametrize(("text", "found"), [("m // 0", "0"), ("m % (n - n)", "n - n = 0")])
def test_a_division_by_zero_tells_what_is_zero(text: str, found: str) -> None:
    with pytest.raises(FormatError) as raised:
        evaluate_size(parse_expression(Source("test", text)), SIZES)
    assert raised.value.found == found


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("(m + 1) * (m - 1)", "m * m - 1", True),
        ("m * n - n * m", "0", True),
        ("-(-m)", "m", True),
        ("(m + n - 1) // n * 2", "2 * ((n + m - 1) // n)", True),
        ("min(m, n + n)", "min(m, 2 * n)", True),
        ("m", "min(m, 1000)", False),
        ("m", "m // 1000 * 1000 + m % 1000", False),
        ("m", "m % 2000", False),
        ("m - n", "n - m", False),
        ("idx(m)", "idx(m)", False),
    ],
)
def test_sizes_are_compared_as_polynomials(one: str, other: str, are_same: bool) -> None:
    expressions = (parse_expression(Source("test", text)) for text in (one, other))
    assert is_same_size(*expressions) is are_same
