from __future__ import annotations

from pathlib import Path

import pytest

from storel.errors import StorelError
from storel.host.resources import directory
from storel.source import Source
from storel.syntax.format_check import check_format
from storel.syntax.nodes.statements import CreateFormat
from storel.syntax.parser import parse


def check(source: Source) -> None:
    statements = parse(source).statements
    assert statements
    for statement in statements:
        assert isinstance(statement, CreateFormat)
        check_format(statement)


SHIPPED = sorted(directory("storage_formats").glob("*.sdql"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_what_ships_is_sound(path: Path) -> None:
    check(Source(str(path), path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("using", "mapping", "message"),
    [
        ("val: real[n]", "sum(<i, x> in vals) { i -> x }", "unknown name 'vals'"),
        (
            "val: real[n]",
            "sum(<i, x> in f) { i -> x }",
            r"unknown name 'f'(.|\n)*no format is a part of itself",
        ),
        ("val: real[n]", "sum(<i, x> in val) x", "another rank"),
        ("val: real[n]", "val", "an array is no dictionary"),
        ("val: real[n], val: real[n]", "{}", "declared twice"),
        ("val: real[n]", "sum(<i, x> in val) { x -> i }", "a key must be an integer"),
        ("pos: int[n + 1], val: real[pos]", "{}", "'pos' is a part of the format, and no size"),
        ("pos: int[n + 1] FROM 0 TO val, val: real[nnz]", "{}", "'val' is a part of the format, and no size"),
        ("near: coo, val: real[near]", "near", "'near' is a part of the format, and no size"),
        ("val: real", "{}", "the array 'val' of a format needs one length"),
        ("val: real[n, n]", "{}", "the array 'val' of a format needs one length"),
        ("val: real{n}", "{}", "the array 'val' of a format needs one length"),
        ("val: real[n], more: real[n]", "sum(<i, x> in val) { i -> x }", "the mapping does not read 'more'"),
        ("near: coo, rest: coo", "near", "the mapping does not read 'rest'"),
        ("near: coo TAKES <i, v> WHERE j < w", "near", "unknown name 'j'"),
        ("near: coo TAKES <i, v> WHERE count(WITHIN j) < 2", "near", "unknown name 'j'"),
        ("near: coo TAKES <i, i> WHERE i < w", "near", "keys and value of an entry are called the same"),
    ],
)
def test_mistakes_in_a_format(using: str, mapping: str, message: str) -> None:
    text = f"CREATE FORMAT f(T: real[n]; w: int = 2) USING {using} AS {mapping}"
    with pytest.raises(StorelError, match=message):
        check(Source("test", text))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("w: int = k", "unknown name 'k'"),
        ("w: int = k, k: int = 1", "unknown name 'k'(.|\n)*it is declared further down"),
        ("w: int = max(<i, _> in A) i", "unknown name 'A'"),
        ("w: int = 1, k: int = w", "nothing depends on the parameter 'k'"),
        ("n: int = 1", "'n' is an extent of the tensor, and no parameter"),
    ],
)
def test_mistakes_in_parameters(parameters: str, message: str) -> None:
    using = "USING val: real[n] AS sum(<i, x> in val) { i -> x }"
    with pytest.raises(StorelError, match=message):
        check(Source("test", f"CREATE FORMAT f(T: real[n]; {parameters}) {using}"))


@pytest.mark.parametrize(
    ("requirements", "message"),
    [
        ("w >= 1, k < n", "unknown name 'k'"),
        ("w", "the format 'f' requires what is neither true nor false"),
        ("w // 2 + 1", "the format 'f' requires what is neither true nor false"),
        ("val(0) > 0", "unknown name 'val'"),
        ("count(<i, _> in T) < w", "unknown name 'T'"),
        ("w < 9, v < 9", "nothing depends on the parameter 'v'"),
    ],
)
def test_mistakes_in_requirements(requirements: str, message: str) -> None:
    using = "USING val: real[n * w] AS sum(<i, x> in val) { i -> x }"
    with pytest.raises(StorelError, match=message):
        check(Source("test", f"CREATE FORMAT f(T: real[n]; w: int, v: int = 1) WHERE {requirements} {using}"))


def test_defaults_name_the_tensor_extents_and_earlier_parameters() -> None:
    using = "USING val: real[n] AS sum(<i, x> in val) if i < c then { i -> x }"
    parameters = "k: int = 2, w: int = max(<i, _> in T) min(i, n, k), c: int = bits(count(<_, _> in T) + w)"
    check(Source("test", f"CREATE FORMAT f(T: real[n]; {parameters}) {using}"))


def test_a_sum_of_parts_and_lengths() -> None:
    check(
        Source(
            "t", "CREATE FORMAT f(T: real[n]; w: int) USING a: g(w) TAKES <i, _> WHERE i < w, b: coo AS a + b"
        )
    )
    check(
        Source(
            "t",
            "CREATE FORMAT f(T: real[n]) USING val: real[d * w] AS sum(<i, _> in 0:d * w) { i -> val(i) }",
        )
    )
