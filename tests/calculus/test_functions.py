from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from storel.calculus.functions import FUNCTIONS, Domain
from storel.errors import EvaluationError
from storel.loops.nodes import BINARY_OPERATORS, UNARY_OPERATORS
from storel.scalars import ScalarType
from storel.semiring import Scalar

SAMPLES: dict[Domain, tuple[Scalar, ...]] = {
    Domain.NUMBERS: (0, 1, -3, 7, 0.0, 2.5, -1.5),
    Domain.INTEGERS: (0, 1, -3, 7),
    Domain.REALS: (0.0, 0.25, -2.0, 7.0),
    Domain.TRUTHS: (False, True),
    Domain.ANYTHING: (0, 1, -3, 0.5),
}

CASES: list[tuple[str, tuple[Scalar, ...], Scalar]] = [
    ("divide", (1.0, 0.0), math.inf),
    ("divide", (-1.0, 0.0), -math.inf),
    ("floor_divide", (-7, 2), -4),
    ("floor_divide", (7.0, -2.0), -4.0),
    ("modulo", (-7, 2), 1),
    ("modulo", (7, -2), -1),
    ("power", (2, 10), 1024),
    ("power", (4.0, 0.5), 2.0),
    ("minimum", (3, 2), 2),
    ("maximum", (3.0, 2.0), 3.0),
    ("shift_left", (1, 5), 32),
    ("shift_right", (-8, 1), -4),
    ("popcount", (255,), 8),
    ("sign", (-2.5,), -1),
    ("relu", (-2.0,), 0),
    ("relu", (2.0,), 2.0),
    ("floor", (-1.5,), -2),
    ("ceil", (1.2,), 2),
    ("log", (0.0,), -math.inf),
    ("sigmoid", (0.0,), 0.5),
    ("not", (0,), True),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_meaning(name: str, arguments: tuple[Scalar, ...], expected: Scalar) -> None:
    assert FUNCTIONS[name].meaning(*arguments) == expected


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "tanh", "sin", "cos"])
def test_pointwise_functions_are_those_of_numpy(name: str) -> None:
    assert FUNCTIONS[name].meaning(0.75) == pytest.approx(float(getattr(np, name)(0.75)))


def test_nan_passes_through() -> None:
    assert all(math.isnan(FUNCTIONS[name].meaning(math.nan)) for name in ("sign", "relu", "floor", "sqrt"))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_is_said_about_zeros_is_true(name: str) -> None:
    function = FUNCTIONS[name]
    samples = SAMPLES[function.domain]
    for position in function.annihilators:
        for rest in itertools.product(samples, repeat=function.arity - 1):
            arguments = (*rest[:position], 0, *rest[position:])
            assert function.meaning(*arguments) == 0, arguments
    if function.preserves_zero:
        assert function.meaning(*([0] * function.arity)) == 0


def test_every_function_is_an_operator_of_the_loop_ir() -> None:
    assert set(FUNCTIONS) <= BINARY_OPERATORS | UNARY_OPERATORS


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("subtract", ("int32", "float32"), "float32"),
        ("negate", ("bool",), "int64"),
        ("divide", ("int64", "int64"), "float64"),
        ("exp", ("float32",), "float32"),
        ("less", ("float64", "int32"), "bool"),
        ("maximum", ("bool", "bool"), "bool"),
        ("shift_left", ("int32", "int64"), "int64"),
        ("bit_and", ("int64", "float64"), None),
    ],
)
def test_types(name: str, arguments: tuple[str, ...], result: str | None) -> None:
    found = FUNCTIONS[name].result_type(tuple(map(ScalarType, arguments)))
    assert (found.value if found else None) == result


def test_integers_refuse_what_has_no_integer_answer() -> None:
    with pytest.raises(EvaluationError):
        FUNCTIONS["modulo"].meaning(1, 0)
    with pytest.raises(EvaluationError):
        FUNCTIONS["power"].meaning(2, -1)
