"""Where kernels say that they failed."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.errors import Cause, EvaluationError
from storel.execution.places import show_place
from storel.source import Source
from storel.syntax.nodes.expressions import Binary, Mapped
from storel.syntax.parser import parse_expression

X = np.array([2, -1, 3])
VIEW = "CREATE TENSOR z AS sum(<i, v> in x) { i -> 5 // (v - 2) }; "


@pytest.mark.parametrize("backend", ["c", "numba"])
@pytest.mark.parametrize(
    ("program", "place"),
    [
        ("CREATE TENSOR y AS sum(<i, v> in x) { i -> 5 // (v - 2) }", "5 // (v - 2)"),
        ("CREATE TENSOR y AS sum(<i, v> in x) { i -> pow(2, v) }", "pow(2, v)"),
        ("CREATE TENSOR y AS sum(<i, v> in x) { i -> x_val(i + 1) }", "x_val(i + 1)"),
        ("CREATE TENSOR y AS 1 + min(<i, v> in x) (min(<j, _> in 0:i) j)", None),
        ("CREATE TENSOR y AS max(<i, v> in x) (min(<j, _> in 0:i) j)", "min(<j, _> in 0:i) j"),
        ("CREATE TENSOR y: int[2] AS sum(<i, v> in x) { i -> v }", "{ i -> v }"),
        ("CREATE TENSOR y: int[2, 9] AS sum(<i, v> in x) { i -> { v + 1 -> v } }", "{ i -> { v + 1 -> v } }"),
        ("CREATE TENSOR y: int[2] AS sum(<i, v> in x) { i -> v } + { 1 -> 2 }", None),
        (VIEW + "CREATE TENSOR y AS sum(<i, v> in z) { i -> v + 1 }", "5 // (v - 2)"),
        (VIEW + "CREATE TENSOR y AS sum(<i, v> in z) { i -> v // 3 }", "5 // (v - 2)"),
        (VIEW + "CREATE TENSOR y AS sum(<i, v> in z) { i -> v // v }", None),
    ],
)
def test_a_failure_shows_its_place_if_there_is_but_one(program: str, place: str | None, backend: str) -> None:
    kernel = storel.compile(program, backend=backend, x=storel.tensor(X))
    for _ in range(2):
        with pytest.raises(EvaluationError) as caught:
            kernel(x=storel.tensor(X))
        span = caught.value.span
        assert (span and span.source.text[span.start : span.end]) == place


def test_how_uses_are_stored_is_no_place() -> None:
    written = parse_expression(Source("written", "1 // v"))
    stored = Mapped("A@2", parse_expression(Source("stored", "1 // w")), "plus_times")
    error = EvaluationError("the divisor is 0")
    error.cause = Cause.DIVISION
    show_place(error, Binary("+", written, stored), {"A"})
    assert error.span == written.span
