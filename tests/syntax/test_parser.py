from __future__ import annotations

from pathlib import Path

import pytest

from storel.errors import ProgramSyntaxError
from storel.source import Source
from storel.syntax import parser
from storel.syntax.nodes.expressions import Binary, Call, Name, Number, Range, Sum, Text
from storel.syntax.parser import parse, parse_expression

SAME = [
    ("a - b - c", "(a - b) - c"),
    ("a - b * c", "a - (b * c)"),
    ("a / b * c // d % e", "(((a / b) * c) // d) % e"),
    ("-a * b", "(-a) * b"),
    ("-f(x)", "-(f(x))"),
    ("a + b << c", "(a + b) << c"),
    ("a & b << c", "a & (b << c)"),
    ("a ^ b & c", "a ^ (b & c)"),
    ("a | b ^ c", "a | (b ^ c)"),
    ("f(a | b : c)", "f((a | b) : c)"),
    ("a + 1 < b * 2", "(a + 1) < (b * 2)"),
    ("not a < b", "not (a < b)"),
    ("not a and b", "(not a) and b"),
    ("a or b and c", "a or (b and c)"),
    ("sum(<i, x> in v) x * x - 1", "(sum(<i, x> in v) (x * x)) - 1"),
    ("2 * sum(<i, x> in v) x * y", "2 * (sum(<i, x> in v) (x * y))"),
    ("min(<i, x> in v) x + 1", "(min(<i, x> in v) x) + 1"),
    ("merge(<p, q, k> in <R, S>) a * b + c", "(merge(<p, q, k> in <R, S>) (a * b)) + c"),
    ("1 + if c then a + b", "1 + (if c then (a + b))"),
    ("if c then a else b or d", "if c then a else (b or d)"),
    ("if c then if d then a else b", "if c then (if d then a else b)"),
    ("let x = 1 in x + 1", "let x = 1 in (x + 1)"),
    ("A(i)(j) * B(i, j)", "((A(i))(j)) * (B(i, j))"),
    ("SUM(<i, x> IN v) IF x > 0 THEN x", "sum(<i, x> in v) if x > 0 then x"),
    ("a -- b\n + c", "a + c"),
    ("{ (i) -> x }", "{ i -> x }"),
]


def read(text: str) -> object:
    return parse_expression(Source("test", text))


@pytest.mark.parametrize(("text", "grouped"), SAME)
def test_precedence(text: str, grouped: str) -> None:
    assert read(text) == read(grouped)


def test_spans_cover_the_text_of_a_node() -> None:
    expression = parse_expression(Source("test", "1 + sum(<i, x> in v(0:2)) x"))
    assert expression.span.text == "1 + sum(<i, x> in v(0:2)) x"
    assert isinstance(expression, Binary)
    total = expression.right
    assert isinstance(total, Sum)
    assert total.span.text == "sum(<i, x> in v(0:2)) x"
    generator = total.generators[0]
    assert generator.span.text == "<i, x> in v(0:2)"
    assert generator.keys[0].span.text == "i"
    assert generator.source == Call(Name("v"), (Range(Number(0), Number(2)),))


def test_names_tell_cases_apart_and_reserved_words_do_not() -> None:
    assert read("Sum") == Name("Sum")
    assert read("summary") == Name("summary")
    with pytest.raises(ProgramSyntaxError, match="reserved") as caught:
        read("TO + 1")
    assert caught.value.hint == "'TO' is a reserved word"


def test_a_doubled_quote_is_a_quote() -> None:
    assert read("'it''s'") == Text("it's")


def test_deep_nesting_is_an_error_of_the_program() -> None:
    with pytest.raises(ProgramSyntaxError, match="too deeply"):
        read("(" * 2_000 + "a" + " + 1)" * 2_000)
    assert read("a" + " + 1" * 100)


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\x80\x04K\x01."])
def test_a_damaged_cache_costs_no_answer(
    damage: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path))
    try:
        parser.tables.cache_clear()
        parse(Source("test", "SAVE A TO 'a'"))
        (path,) = tmp_path.iterdir()
        path.write_bytes(path.read_bytes()[:70] + damage)
        parser.tables.cache_clear()
        assert read("a + 1") == read("(a) + (1)")
    finally:
        parser.tables.cache_clear()


def test_a_cache_that_cannot_be_written_costs_no_answer_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("STOREL_CACHE_DIR", str(tmp_path / "file" / "below"))
    try:
        parser.tables.cache_clear()
        with pytest.warns(UserWarning, match="nothing is kept on disk: STOREL_CACHE_DIR is .*below: "):
            assert read("a") == Name("a")
        parser.tables.cache_clear()
        assert read("a") == Name("a")
    finally:
        parser.tables.cache_clear()
