from __future__ import annotations

import math

import pytest

import storel
from storel.calculus.finite import is_finite
from storel.calculus.nodes import Apply, Literal, Multiply, Term
from storel.scalars import ScalarType


def number(value: float) -> Literal:
    return Literal(value, ScalarType.FLOAT64)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (number(1.5), True),
        (number(math.inf), False),
        (number(math.nan), False),
        (Multiply(number(0.0), number(-math.inf)), False),
        (Apply("divide", (number(1.0), number(2.0))), True),
        (Apply("divide", (number(1.0), number(0.0))), False),
        (Apply("divide", (number(1.0), number(math.nan))), False),
        (Apply("divide", (number(math.inf), number(2.0))), False),
        (Apply("divide", (number(1.0), Apply("abs", (number(2.0),)))), False),
    ],
)
def test_what_may_be_infinite(term: Term, expected: bool) -> None:
    assert is_finite(term, {}) == expected


@pytest.mark.parametrize("backend", ["interpret", "numba", "c"])
@pytest.mark.parametrize("factor", ["inf", "-inf", "nan"])
def test_zeros_annihilate_what_a_program_says_is_infinite(factor: str, backend: str) -> None:
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:3) {{ i -> x(i) * {factor} + (x(i) > 1) * {factor} }}"
    result = storel.run(program, x=[0.0, 0.0, 0.0], backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.nnz == 0
