"""What definitions of a script have in common is named once, and is what it was."""

from __future__ import annotations

import pytest

from storel.errors import StorelError
from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.analyze import analyze
from storel.syntax.common import named_apart, with_common
from storel.syntax.nodes.statements import CreateTensor, Script
from storel.syntax.parser import parse
from storel.syntax.printer import render
from storel.syntax.signatures import Extent, Signatures, TensorSignature

SIGNATURES: Signatures = {
    "x": TensorSignature(ScalarType.FLOAT64, (Extent(4),), "plus_times"),
    "A": TensorSignature(ScalarType.FLOAT64, (Extent(3), Extent(4)), "plus_times"),
}


def script(*expressions: str) -> Script:
    """Return a script that defines t0, t1, … as these expressions, which may follow OVER."""
    lines = (
        f"CREATE TENSOR t{n} {each if 'AS' in each else f'AS {each}'}" for n, each in enumerate(expressions)
    )
    return parse(Source("script", "\n".join(lines)))


def texts(made: Script) -> list[str]:
    return [
        f"{each.name} = {render(each.expression)}"
        for each in made.statements
        if isinstance(each, CreateTensor)
    ]


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        (
            ("(sum(<i, v> in x) v * v) / 2", "1 + (sum(<k, a> in x) a * a)"),
            ["common_1 = sum(<i, v> in x) v * v", "t0 = common_1 / 2", "t1 = 1 + common_1"],
        ),
        (
            ("sum(<i, v> in x) v", "2 * (sum(<i, v> in x) v)"),
            ["common_1 = sum(<i, v> in x) v", "t0 = common_1", "t1 = 2 * common_1"],
        ),
        (
            ("sum(<i, v> in x) v * (sum(<k, a> in x) a)", "sum(<(i, j), v> in A) v * (sum(<k, b> in x) b)"),
            [
                "common_1 = sum(<k, a> in x) a",
                "t0 = sum(<i, v> in x) v * common_1",
                "t1 = sum(<(i, j), v> in A) v * common_1",
            ],
        ),
        (
            ("exp(sum(<i, v> in x) v)", "exp(sum(<i, w> in x) w) + 1", "1 - (sum(<i, v> in x) v)"),
            [
                "common_2 = sum(<i, v> in x) v",
                "common_1 = exp(common_2)",
                "t0 = common_1",
                "t1 = common_1 + 1",
                "t2 = 1 - common_2",
            ],
        ),
    ],
)
def test_what_is_in_common_is_named(expressions: tuple[str, ...], expected: list[str]) -> None:
    made, names = named_apart(script(*expressions), {"t0", "t1", "t2"})
    assert texts(made) == expected
    assert names == {each.split()[0] for each in expected if each.startswith("common")}


@pytest.mark.parametrize(
    "expressions",
    [
        ("sum(<i, v> in x) v", "sum(<i, v> in x) v * v"),
        ("sum(<(i, j), v> in A) v * (sum(<j, w> in x) w * i)", "sum(<i, _> in x) (sum(<j, w> in x) w * i)"),
        ("2 * x(1)", "2 * x(1)"),
        ("sum(<i, v> in x) (sum(<j, w> in x) w) * v", "x"),
        ("OVER min_plus AS sum(<i, v> in x) v", "sum(<i, v> in x) v"),
    ],
)
def test_what_is_not_in_common_stays(expressions: tuple[str, ...]) -> None:
    given = script(*expressions)
    assert named_apart(given, {"t0", "t1"}) == (given, frozenset())


def test_only_definitions_that_are_needed_are_compared() -> None:
    given = script("sum(<i, v> in x) v", "sum(<i, v> in x) v")
    assert named_apart(given, {"t1"}) == (given, frozenset())


def test_a_name_that_the_script_has_is_not_taken() -> None:
    given = parse(
        Source(
            "script",
            "CREATE TENSOR common_1 AS 1 + (sum(<i, common_2> in x) common_2)\n"
            "CREATE TENSOR t AS 2 + (sum(<i, v> in x) v)",
        )
    )
    made, names = named_apart(given, {"common_1", "t"}, {"x", "common_3"})
    assert names == {"common_4"}
    assert texts(made)[1:] == ["common_1 = 1 + common_4", "t = 2 + common_4"]


def test_the_analysis_tells_what_the_script_does_not_say() -> None:
    given = script("(sum(<i, v> in x) v * v) / 2", "1 + (sum(<k, a> in x) a * a)")
    first = analyze(given, SIGNATURES)
    found = with_common(first, given, {"t0", "t1"}, SIGNATURES)
    assert [each.name for each in found.definitions] == ["common_1", "t0", "t1"]
    assert (found.results, found.ranks, found.unnamed) == (first.results, first.ranks, {"common_1"})


def test_what_has_no_extents_by_itself_is_not_named() -> None:
    keys = "(sum(<i, v> in x) { int(v) -> v })"
    given = script(f"{keys}(1)", f"2 * {keys}(0)")
    first = analyze(given, SIGNATURES)
    with pytest.raises(StorelError):
        analyze(named_apart(given, {"t0", "t1"})[0], SIGNATURES)
    assert with_common(first, given, {"t0", "t1"}, SIGNATURES) is first
