from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storel.scalars import ScalarType
from storel.source import Source
from storel.syntax.bits import expand_bits
from storel.syntax.interpret import evaluate
from storel.syntax.parser import parse_expression
from storel.syntax.printer import render
from storel.syntax.signatures import ParameterSignature
from storel.syntax.spelling import CALLS

INTEGER = ParameterSignature(ScalarType.INT64)


@pytest.mark.parametrize("text", ["bit(x, y % 60)", "bits(x)", "interleave(x, y)", "gather(x, y % 2)"])
@given(x=st.integers(-(2**63), 2**63 - 1), y=st.integers(-(2**63), 2**63 - 1))
def test_the_expansion_means_what_the_function_means(text: str, x: int, y: int) -> None:
    expression = parse_expression(Source("test", text))
    signatures = {"x": INTEGER, "y": INTEGER}
    values = {"x": x, "y": y}
    expanded = expand_bits(expression, signatures)
    assert not any(f"{name}(" in render(expanded) for name in ("bit", "bits", "interleave", "gather"))
    assert evaluate(expanded, signatures, values) == evaluate(expression, signatures, values)


def test_negative_numbers_have_64_bits() -> None:
    expanded = expand_bits(parse_expression(Source("test", "bits(x)")), {"x"})
    assert evaluate(expanded, {"x": INTEGER}, {"x": -5}) == CALLS["bits"].meaning(-5) == 64


def test_a_tensor_may_hide_a_function() -> None:
    assert render(expand_bits(parse_expression(Source("test", "bit(x, y)")), {"bit"})) == "bit(x, y)"
