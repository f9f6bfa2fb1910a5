from __future__ import annotations

import pytest

from storel.source import Source
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Expression, Name
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.walk import map_children, map_scoped

CASES = [
    ("x + sum(<i, x> in x(i)) x * i * y", "X + sum(<i, x> in X(I)) x * i * Y"),
    ("sum(<(i, j), a> in t(x), <j, y> in a(i)) y * k", "sum(<(i, j), a> in T(X), <j, y> in a(i)) y * K"),
    ("sum(<i, _> in _ where i in i:m) i", "sum(<i, _> in _ where i in I:M) i"),
    ("max(<k, _> in 0:m) k", "max(<k, _> in 0:M) k"),
    ("count(<_, v> in v)", "count(<_, v> in V)"),
    ("let x = x in let _ = x in x + y", "let x = X in let _ = x in x + Y"),
    ("merge(<p, q, k> in <a, p>) p * q * k * a", "merge(<p, q, k> in <A, P>) p * q * k * A"),
    ("if (x) then {unique(x) -> extent(t, 0)} else {}", "if (X) then {unique(X) -> extent(T, 0)} else {}"),
]  # fmt: skip


def parsed(text: str) -> Expression:
    return parse_expression(Source("test", text))


def shouted(node: Expression, bound: frozenset[str]) -> Expression:
    """Write free names in capitals."""
    match node:
        case Name(name):
            return node if name in bound else Name(name.upper())
        case _:
            return map_scoped(node, bound, shouted)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_binders_reach_as_far_as_the_text_says(text: str, expected: str) -> None:
    found = shouted(parsed(text), frozenset())
    assert render(found) == render(parsed(expected))
    assert free_names(found) == {name.upper() for name in free_names(parsed(text))}


@pytest.mark.parametrize(("text", "_"), CASES)
def test_an_expression_is_rebuilt_from_its_parts(text: str, _: str) -> None:
    def rebuilt(node: Expression) -> Expression:
        return map_children(node, rebuilt)

    assert rebuilt(parsed(text)) == parsed(text)
