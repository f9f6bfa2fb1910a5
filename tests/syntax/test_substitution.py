from __future__ import annotations

import pytest

from storel.source import Source
from storel.syntax.nodes.expressions import Expression
from storel.syntax.parser import parse_expression
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
