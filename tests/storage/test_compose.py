from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from storel.scalars import ScalarType
from storel.source import Source
from storel.storage.build import from_numpy
from storel.storage.compose import Composed, View, compose
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, Fact, SizeSymbol
from storel.syntax.nodes.expressions import Expression, Mapped
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.walk import map_children

FORMATS = Formats()
MATRIX = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])


def tensors() -> dict[str, Tensor]:
    return {
        "A": from_numpy(MATRIX, FORMATS, FORMATS.find("csr", 2)),
        "B": from_numpy(MATRIX.T.copy(), FORMATS, FORMATS.find("dense", 2)),
        "x": from_numpy(np.arange(3.0), FORMATS, FORMATS.find("dense", 1)),
    }


def view(text: str, extents: tuple[int, ...] = (), sizes: Mapping[str, int] | None = None) -> View:
    return View(parse_expression(Source("test", text)), extents, "plus_times", sizes or {})


def composed(
    text: str, views: Mapping[str, View] | None = None, facts: dict[str, Fact] | None = None
) -> Composed:
    return compose(view(text), views or {}, tensors(), facts or {})


def spelled(expression: Expression) -> str:
    """Return the text of an expression with its mappings written out."""

    def opened(node: Expression) -> Expression:
        return opened(node.mapping) if isinstance(node, Mapped) else map_children(node, opened)

    return render(opened(expression))


CSR = "sum(<i, _> in 0:A_m) { i -> sum(<p, j> in A_idx(A_pos(i):A_pos(i + 1))) { j -> A_val(p) } }"
CASES = [
    ("A", CSR),
    ("x", "sum(<i, _> in 0:x_m) { i -> x_val(i) }"),
    ("sum(<(i,j), a> in A) a", f"sum(<(i, j), a> in {CSR}) a"),
    ("sum(<A, v> in x) A * v", "sum(<A, v> in sum(<i, _> in 0:x_m) { i -> x_val(i) }) A * v"),
    ("let x = 2 in x", "let x = 2 in x"),
    ("extent(A, 1) + extent(B, 1)", "A_n + B_n"),
    ("sum(<i, v> in x) i < extent(A, 1)", "sum(<i, v> in sum(<i, _> in 0:x_m) { i -> x_val(i) }) i < x_m"),
    ("let A_n = 2 in A_n + extent(A, 1)", "let A_n = 2 in A_n + 3"),
    ("extent(D, 0) + extent(A, 0) + extent(D, 0)", "7 + A_m + 7"),
    ("D", "1"),
    ("sum(<i, _> in 0:3) x(i) + 3", "sum(<i, _> in 0:x_m) (sum(<i, _> in 0:x_m) { i -> x_val(i) })(i) + 3"),
    ("sum(<i, _> in 0:2) x(i)", "sum(<i, _> in 0:2) (sum(<i, _> in 0:x_m) { i -> x_val(i) })(i)"),
    ("sum(<i, _> in 0:extent(A, 1)) 1 + F", f"sum(<i, _> in 0:A_n) 1 + sum(<j, _> in 0:A_n) {CSR}"),
    (
        "sum(<x_m, _> in 0:3, <j, _> in 0:3) x(j)",
        "sum(<x_m, _> in 0:x_m, <j, _> in 0:3) (sum(<i, _> in 0:x_m) { i -> x_val(i) })(j)",
    ),
]


@pytest.mark.parametrize(("program", "expected"), CASES)
def test_tensors_and_views_are_replaced(program: str, expected: str) -> None:
    views = {"D": view("1", (7,)), "F": view("sum(<j, _> in 0:3) A")}
    assert spelled(composed(program, views).expression) == expected


def test_a_mapping_keeps_its_name_and_semiring() -> None:
    expression = composed("A").expression
    assert isinstance(expression, Mapped)
    assert (expression.tensor, expression.semiring) == ("A", "plus_times")


def test_equal_extents_share_the_first_name() -> None:
    symbols = composed("A + B").symbols
    sizes = {name: fact.value for name, fact in symbols.items() if isinstance(fact, SizeSymbol)}
    assert {name: sizes[name] for name in ("A_m", "A_n")} == {"A_m": 2, "A_n": 3}
    text = spelled(composed("sum(<(i,j), a> in A) a * sum(<(k,l), b> in B) b").expression)
    assert "B_m" not in text and "B_n" not in text
    assert "sum(<i, _> in 0:A_n) { i -> sum(<j, _> in 0:A_m) { j -> B_val(i * A_m + j) } }" in text


def test_facts_about_every_array_come_along() -> None:
    symbols = composed(
        "sum(<(i,j), a> in A) a * raw(i)", facts={"raw": ArraySymbol("raw", ScalarType.INT64, 2)}
    ).symbols
    assert {"A_pos", "A_idx", "A_val", "raw"} <= set(symbols)
    idx = symbols["A_idx"]
    assert isinstance(idx, ArraySymbol)
    assert (idx.low, idx.high, idx.within) == (0, 2, "A_pos")


def test_sizes_that_a_type_names_are_shared_too() -> None:
    result = compose(view("sum(<i, _> in 0:n) x(i)", sizes={"n": 3}), {}, tensors(), {})
    assert "sum(<i, _> in 0:n) { i -> x_val(i) }" in spelled(result.expression)
    assert result.symbols["n"] == SizeSymbol("n", 3)


def test_views_are_composed_in_turn() -> None:
    views = {"D": view("sum(<(i,j), a> in A) { j -> a }", (3,)), "F": view("D + x", (3,))}
    expression = composed("F", views).expression
    assert isinstance(expression, Mapped) and expression.tensor == "F"
    assert "A_val(p)" in spelled(expression)


def test_uses_that_are_stored_otherwise_have_names_of_their_own() -> None:
    stored = tensors()
    stored |= {"A@1,3": stored["A"].to("coo"), "A@4": stored["A"].to("csc")}
    twice = {"V": view("sum(<(i, j), v> in A) v")}
    found = compose(view("A(0)(0) + A(0)(1) + V + V + A(1)(0) + B(0)(1)"), twice, stored, {})
    assert found.uses == {"A": 4, "B": 1}
    names = [each for each in found.symbols if each.endswith("_val")]
    assert names == ["A@1,3_val", "A_val", "A@4_val", "B_val"]


def test_an_extent_has_one_name() -> None:
    sizes = {
        name: fact
        for name, fact in composed("A(0)(1) + B(0)(1) + x(2)").symbols.items()
        if isinstance(fact, SizeSymbol)
    }
    assert sorted(sizes) == ["A_m", "A_n", "A_nnz"]
