from __future__ import annotations

import pytest

from storel.source import Source
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.substitution import rename, substitute


def parsed(text: str) -> Expression:
    return parse_expression(Source("test", text))


@pytest.mark.parametrize(
    ("text", "renamed"),
    [
        ("n + sum(<n, _> in 0:n) n", "m + sum(<n, _> in 0:m) n"),
        ("max(<i, _> in 0:n) i * n", "max(<i, _> in 0:m) i * m"),
        ("merge(<p, q, n> in <n, x>) n", "merge(<p, q, n> in <m, x>) n"),
        ("let i = n in { unique(n) -> i }", "let i = m in { unique(m) -> i }"),
    ],
)
def test_free_names_are_replaced(text: str, renamed: str) -> None:
    assert rename(parsed(text), {"n": "m"}) == parsed(renamed)
    assert substitute(parsed(text), "n", parsed("m")) == parsed(renamed)


@pytest.mark.parametrize(
    ("text", "value", "substituted"),
    [
        ("sum(<j, _> in 0:n) n * j", "j", "sum(<j_2, _> in 0:j) j * j_2"),
        ("sum(<j, x> in v, <k, y> in n) y + n", "k + 1", "sum(<j, x> in v, <k_2, y> in k + 1) y + (k + 1)"),
        ("let j = n in j + n", "j", "let j_2 = j in j_2 + j"),
        ("max(<j, x> in v(0:n)) x - n", "x", "max(<j, x_2> in v(0:x)) x_2 - x"),
        ("merge(<p, q, j> in <n, x>) j + n", "p", "merge(<p_2, q, j> in <p, x>) j + p"),
        ("sum(<j, _> in 0:n) { n -> sum(<k, _> in 0:j) k }", "j", None),
    ],
)
def test_no_binder_captures_a_name_that_is_put_in(text: str, value: str, substituted: str | None) -> None:
    expected = substituted or "sum(<j_2, _> in 0:j) { j -> sum(<k, _> in 0:j_2) k }"
    assert render(substitute(parsed(text), "n", parsed(value))) == expected


def test_binders_stay_as_they_are_called_where_they_capture_nothing() -> None:
    text = "sum(<j, _> in 0:n) sum(<j, _> in 0:j) j"
    assert render(substitute(parsed(text), "n", parsed("m + 1"))) == text.replace("n)", "m + 1)", 1)
