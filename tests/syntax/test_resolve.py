from __future__ import annotations

from dataclasses import replace

import pytest

from storel.source import Source
from storel.syntax.free_names import free_names
from storel.syntax.nodes.expressions import Let
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.resolve import resolve
from storel.syntax.walk import children, map_children

KNOWN = {"A", "B", "v", "n"}


def resolved(text: str) -> str:
    return render(resolve(parse_expression(Source("test", text)), KNOWN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(<i, x> in v) sum(<i, x> in v) x * i", "sum(<i, x> in v) sum(<i_2, x_2> in v) x_2 * i_2"),
        ("let v = v in v + v", "let v_2 = v in v_2 + v_2"),
        ("sum(<A, n> in v) { A -> n }", "sum(<A_2, n_2> in v) { A_2 -> n_2 }"),
        (
            "sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
            "sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
        ),
        ("sum(<(i, i), a> in A) a", "sum(<(i, i), a> in A) a"),
        ("sum(<i, row> in A, <j, x> in row) x", "sum(<i, row> in A, <j, x> in row) x"),
        ("(sum(<i, x> in v) x) + sum(<i, x> in v) x", "sum(<i, x> in v) x + sum(<i, x> in v) x"),
        ("sum(<i_2, x> in v) sum(<i, y> in v) sum(<i, z> in v) i", None),
        ("sum(<i, _> in _ where i in 0:n) { i -> v(i) }", "sum(<i, _> in 0:n) { i -> v(i) }"),
        ("min(<i, v> in v) exp(v)", "min(<i, v_2> in v) exp(v_2)"),
        ("merge(<p, n, k> in <A, B>) (p + n)", "merge(<p, n_2, k> in <A, B>) (p + n_2)"),
    ],
)
def test_names_are_unique_along_every_path(text: str, expected: str | None) -> None:
    expected = expected or "sum(<i_2, x> in v) sum(<i, y> in v) sum(<i_3, z> in v) i_3"
    assert resolved(text) == expected
    assert resolved(expected) == expected


def test_free_names_are_those_without_a_binder() -> None:
    text = (
        "sum(<(i, k), a> in A, <k, b> in B(i) where j in 0:n) let x = y in merge(<p, q, r> in <x, z>) p * s"
    )
    assert free_names(parse_expression(Source("", text))) == {"A", "B", "n", "y", "z", "s"}
    assert free_names(parse_expression(Source("", "let x = x in x"))) == {"x"}


@pytest.mark.parametrize(
    "text",
    [
        "sum(<(i, j), x> in A where i in 0:n) if x > 0 then x else -x",
        "merge(<p, q, k> in <R, S>) unique(k)",
        "let x = { (i, j) -> 1 } in extent(x, 0) + count(<i, _> in x) + min(<i, _> in x) i",
        "f(a:b)",
    ],
)
def test_rebuilding_with_the_same_children_changes_nothing(text: str) -> None:
    expression = parse_expression(Source("test", text))
    assert map_children(expression, lambda child: child) == expression
    assert children(expression)


def test_a_let_of_keys_stays_one() -> None:
    named = parse_expression(Source("test", "let n = n + 1 in { n -> v }"))
    assert isinstance(named, Let)
    kept = resolve(replace(named, is_index=True), KNOWN)
    assert isinstance(kept, Let)
    assert kept.is_index
    assert render(kept) == "let n_2 = n + 1 in { n_2 -> v }"
