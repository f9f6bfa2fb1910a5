from __future__ import annotations

import pytest
from hypothesis import given
from strategies.expressions import EXPRESSIONS, FORMATS

from storel.source import Source
from storel.syntax.nodes.declarations import FormatReference
from storel.syntax.nodes.expressions import Expression, Mapped
from storel.syntax.parser import parse_expression, parse_format
from storel.syntax.printer import render, render_format


def read(text: str) -> Expression:
    return parse_expression(Source("test", text))


@given(EXPRESSIONS)
def test_text_says_what_the_tree_says(expression: Expression) -> None:
    assert read(render(expression)) == expression


@given(FORMATS)
def test_text_says_what_the_format_says(reference: FormatReference) -> None:
    assert parse_format(render_format(reference)) == reference


@pytest.mark.parametrize(
    "text",
    [
        "a + b - c",
        "a - (b - c)",
        "a * (b + c)",
        "-a * b",
        "-(a * b)",
        "- -a",
        "a - -b",
        "not a == b",
        "a and b or c",
        "(a == b) == c",
        "x(1:2)",
        "idx(pos(i):pos(i + 1))",
        "sum(<i, x> in v) x * x - 1",
        "sum(<i, x> in v) (x - 1)",
        "(sum(<i, x> in v) x) * 2",
        "sum(<i, x> in v) if x > 0 then x",
        "(sum(<i, x> in v) if x > 0 then x) + 1",
        "sum(<(i, j), x> in A, <j, _> in 0:n where j in 0:2) x",
        "if c then (if d then a) else b",
        "if c then a else if d then b",
        "let x = 1 in x + 1",
        "(let x = 1 in x) + 1",
        "{ (i, j) -> a + b }",
        "min(<k, v> in R) v",
        "count(<k, v> in R)",
        "min(a, b)",
        "merge(<p, q, k> in <R, S(0:2)>) a(p) * b(q)",
        "unique(k + 1)",
        "extent(A, 0)",
        "inf + nan",
        "true or not false",
        "1e-07 + 0.5",
        "a & b | c ^ d << 2",
        "{}",
    ],
)
def test_no_more_parentheses_than_needed(text: str) -> None:
    assert render(read(text)) == text


def test_a_mapped_tensor_is_shown_as_its_mapping() -> None:
    assert render(Mapped("A", read("a + b"))) == "a + b"
