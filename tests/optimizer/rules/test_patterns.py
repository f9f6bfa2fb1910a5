"""Patterns and rules as text: what binds how strongly, and where a mistake is shown."""

from __future__ import annotations

import pytest

from storel.errors import ProgramSyntaxError, UnknownNameError
from storel.optimizer.rules.patterns import SEMIRING, Bound, Hole, Node, Pattern, Reader
from storel.optimizer.rules.rulefile import parse, shipped
from storel.source import Source

A, B, C, R = (Hole(name) for name in "abcR")
X, K, V = Bound("x"), Bound("k"), Bound("v")


def add(left: Pattern, right: Pattern) -> Node:
    return Node("Add", (SEMIRING, left, right))


def multiply(left: Pattern, right: Pattern) -> Node:
    return Node("Mul", (SEMIRING, left, right))


def loop(body: Pattern, semiring: str = SEMIRING) -> Node:
    return Node("Sum", (semiring, R, K, V, body))


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("?a + ?b * ?c", add(A, multiply(B, C))),
        ("(?a + ?b) * ?c", multiply(add(A, B), C)),
        ("?a * ?b * ?c", multiply(multiply(A, B), C)),
        ("?a - ?b - ?c", Node("Apply2", ("subtract", Node("Apply2", ("subtract", A, B)), C))),
        ("?a / ?b // ?c", Node("Apply2", ("floor_divide", Node("Apply2", ("divide", A, B)), C))),
        ("exp(?a)", Node("Apply1", ("exp", A))),
        ("-?a * ?b", multiply(Node("Apply1", ("negate", A)), B)),
        (
            "not ?a or ?b and ?c",
            Node("Apply2", ("or", Node("Apply1", ("not", A)), Node("Apply2", ("and", B, C)))),
        ),
        ("?a + 1 <= x", Node("Apply2", ("less_equal", add(A, Node("Int", (1,))), X))),
        ("sum(<k, v> in ?R) ?a * ?b + ?c", add(loop(multiply(A, B)), C)),
        ("?a * sum[t](<k, v> in ?R) ?b", multiply(A, loop(B, "t"))),
        ("?a * ?b * if ?c then ?a + ?b", multiply(multiply(A, B), Node("If", (SEMIRING, C, add(A, B))))),
        ("let x = ?a in x + ?b", Node("Let", (A, X, add(X, B)))),
        ("?a(?b)(?c)", Node("Look", (SEMIRING, Node("Look", (SEMIRING, A, B)), C))),
        ("x(?a:?b)", Node("Slice", (X, A, B))),
        ("(?a:?b)", Node("Range", (A, B))),
        ("{unique(?a) -> zero}", Node("Single", (SEMIRING, Node("Uniq", (A,)), Node("zero", ())))),
        ("min(?a, max(?b, ?c))", Node("Apply2", ("minimum", A, Node("Apply2", ("maximum", B, C))))),
        ("minimum(?a, pow(?b, ?c))", Node("Apply2", ("minimum", A, Node("Apply2", ("power", B, C))))),
        ("int(?a)", Node("Apply1", ("truncate", A))),
        ("x(?a)", Node("Look", (SEMIRING, X, A))),
        ("modulo(?a, true)", Node("Apply2", ("modulo", A, Node("Truth", (1,))))),
        ("find(<k> in ?R at ?a) ?b", Node("Find", (SEMIRING, R, A, K, B))),
        (
            "merge(<k, _, _> in <?R, ?a:?b>) ?c",
            Node("Merge", (SEMIRING, R, Node("Range", (A, B)), K, Bound("_1"), Bound("_2"), C)),
        ),
    ],
)
def test_operators_bind_as_in_the_calculus(text: str, pattern: Pattern) -> None:
    reader = Reader(Source("own.rules", f"{text} -- and no more\n"))
    assert reader.term() == pattern
    assert reader.token == ""


@pytest.mark.parametrize(
    ("text", "line", "rest"),
    [
        ("rule a: ?x =>", 1, "=>"),
        ("rule a: ?x =>\n\n-- to be written\n", 1, "=>"),
        ("rule a: ?x + => ?y", 1, "=> ?y"),
        ("rule A: ?x => ?x", 1, "A: ?x => ?x"),
        ("rule a: ?x => ?x\nfoo", 2, "foo"),
        ("rule a: sum(<k v> in ?R) ?a => ?a", 1, "v> in ?R) ?a => ?a"),
        ("rule a:\n  ?x == ?y == ?z => ?x", 2, "== ?z => ?x"),
        ("rule a: in => ?x", 1, "in => ?x"),
        ("rule a: ?x => ?x if", 1, "if"),
        ("rule", 1, "rule"),
    ],
)
def test_a_mistake_is_shown_where_it_is(text: str, line: int, rest: str) -> None:
    with pytest.raises(ProgramSyntaxError) as caught:
        parse(text, "own.rules")
    _, place, shown, mark = str(caught.value).split("\n")[:4]
    assert place.startswith(f"own.rules:{line}:")
    assert shown[mark.index("^") :] == rest


def test_rules_have_the_tags_of_their_file_unless_they_have_their_own() -> None:
    one, back, other = parse(
        "@main rule a: ?x <=> ?x * one  rule b @index: ?x + ?y => ?y + ?x if alike(?x, ?y)"
    )
    assert (one.name, one.tags, back.name, back.left) == ("a", {"main"}, "a-back", one.right)
    assert (other.tags, other.law) == ({"index"}, "?x + ?y => ?y + ?x if alike(?x, ?y)")


@pytest.mark.parametrize(
    "text", ["rule a @slowly: ?x => ?x", "rule a: ?x => ?x if quick(?x)", "rule a: ?x => ?x if alike(?x)"]
)
def test_tags_and_guards_are_known(text: str) -> None:
    with pytest.raises(UnknownNameError):
        parse(text)


def test_names_of_shipped_rules_say_where_they_stand() -> None:
    for rule in shipped().rules:
        assert rule.law and rule.span is not None and rule.theory
