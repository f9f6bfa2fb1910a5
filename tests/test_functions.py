from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storel.errors import EvaluationError
from storel.functions import FUNCTIONS, Domain
from storel.loops.types import BINARY_OPERATORS, UNARY_OPERATORS
from storel.scalars import ScalarType
from storel.semiring import Scalar

REALS = st.floats(allow_nan=True, allow_infinity=True)
WORDS = st.integers(-(2**62), 2**62)

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
    ("floor_divide", (1.0, 0.0), math.inf),
    ("modulo", (-7, 2), 1),
    ("modulo", (7, -2), -1),
    ("power", (2, 10), 1024),
    ("power", (-2, 63), -(2**63)),
    ("power", (-1, 2**62 + 1), -1),
    ("power", (0, 2**62), 0),
    ("power", (4.0, 0.5), 2.0),
    ("power", (-math.inf, 0.5), math.inf),
    ("power", (-math.inf, 3.0), -math.inf),
    ("power", (-1e200, 3.0), -math.inf),
    ("power", (0.0, -1.0), math.inf),
    ("minimum", (3, 2), 2),
    ("maximum", (3.0, 2.0), 3.0),
    ("shift_left", (1, 5), 32),
    ("shift_left", (0, 64), 0),
    ("shift_left", (7, -1), 0),
    ("shift_right", (-8, 1), -4),
    ("shift_right", (-8, 64), -1),
    ("shift_right", (-8, -1), -1),
    ("popcount", (255,), 8),
    ("sign", (-2.5,), -1),
    ("relu", (-2.0,), 0),
    ("relu", (2.0,), 2.0),
    ("floor", (-1.5,), -2),
    ("ceil", (1.2,), 2),
    ("truncate", (-1.7,), -1),
    ("truncate", (-(2.0**63),), -(2**63)),
    ("log", (0.0,), -math.inf),
    ("sigmoid", (0.0,), 0.5),
    ("not", (0,), True),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_meaning(name: str, arguments: tuple[Scalar, ...], expected: Scalar) -> None:
    assert FUNCTIONS[name].meaning(*arguments) == expected


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "floor", "ceil", "sign"])
@given(x=REALS)
def test_functions_of_one_real_are_numpys(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected: Any = getattr(np, name)(np.float64(x))
    np.testing.assert_equal(np.float64(FUNCTIONS[name].meaning(x)) + 0.0, expected + 0.0)  # -0.0 is 0


@pytest.mark.parametrize(
    ("name", "ufunc"),
    [("divide", np.divide), ("modulo", np.mod), ("maximum", np.maximum)],
)
@given(x=REALS, y=REALS)
def test_functions_of_two_reals_are_numpys(name: str, ufunc: Any, x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        expected = ufunc(np.float64(x), np.float64(y))
    np.testing.assert_equal(np.float64(FUNCTIONS[name].meaning(x, y)) + 0.0, expected + 0.0)


@given(x=REALS, y=REALS)
def test_powers_are_numpys(x: float, y: float) -> None:
    """Those of arrays: NumPy takes square roots for a single power 0.5, also of -inf."""
    with np.errstate(all="ignore"):
        expected = np.power(np.full(2, x), np.full(2, y))[0]
    np.testing.assert_allclose(FUNCTIONS["power"].meaning(x, y), expected, rtol=5e-16, atol=5e-324)


@given(WORDS, WORDS.filter(bool))
def test_whole_division_floors_and_the_remainder_has_the_divisors_sign(a: int, b: int) -> None:
    quotient, remainder = FUNCTIONS["floor_divide"].meaning(a, b), FUNCTIONS["modulo"].meaning(a, b)
    assert quotient * b + remainder == a
    assert remainder == 0 or (remainder < 0) == (b < 0)


def test_nan_passes_through() -> None:
    names = ("sign", "relu", "floor", "sqrt")
    assert all(math.isnan(FUNCTIONS[name].meaning(math.nan)) for name in names)
    assert math.isnan(FUNCTIONS["modulo"].meaning(1.0, 0.0))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_is_said_of_zeros_is_true(name: str) -> None:
    function = FUNCTIONS[name]
    for position in function.annihilators:
        for rest in itertools.product(SAMPLES[function.domain], repeat=function.arity - 1):
            arguments = (*rest[:position], 0, *rest[position:])
            assert function.meaning(*arguments) == 0, arguments
    operand = function.operand_type(*[ScalarType.INT64] * function.arity)
    assert operand is not None
    zero = 0.0 if operand.is_real else 0
    try:
        at_zero = function.meaning(*[zero] * function.arity)
    except EvaluationError:
        at_zero = math.nan
    assert (at_zero == 0) == function.preserves_zero


def test_every_function_is_an_operator_of_the_loop_ir() -> None:
    conversions = {"truncate", *(name for name, each in FUNCTIONS.items() if each.conversion is not None)}
    assert set(FUNCTIONS) - conversions <= BINARY_OPERATORS | UNARY_OPERATORS


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("subtract", ("int32", "float32"), "float32"),
        ("negate", ("bool",), "int64"),
        ("divide", ("int64", "int64"), "float64"),
        ("exp", ("float32",), "float32"),
        ("truncate", ("float32",), "int64"),
        ("truncate", ("int32",), "int32"),
        ("truncate", ("bool",), "int64"),
        ("int64", ("int32",), "int64"),
        ("float32", ("int64",), "float32"),
        ("less", ("float64", "int32"), "bool"),
        ("maximum", ("bool", "bool"), "bool"),
        ("shift_left", ("int32", "int64"), "int64"),
        ("bit_and", ("int64", "float64"), None),
    ],
)
def test_types(name: str, arguments: tuple[str, ...], result: str | None) -> None:
    found = FUNCTIONS[name].result_type(*map(ScalarType, arguments))
    assert (found.value if found else None) == result


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [("modulo", (1, 0), "division by zero"), ("floor_divide", (1, 0), "division by zero"),
     ("power", (2, -1), "negative power"), ("power", (-3, 2**31 - 1), "overflow"),
     ("shift_left", (7, 64), "overflow"), ("shift_left", (-1, 2**62), "overflow"),
     ("truncate", (math.nan,), "no integers"), ("truncate", (-math.inf,), "no integers"),
     ("truncate", (2.0**63,), "no integers")],
)  # fmt: skip
def test_integers_refuse_what_has_no_integer_answer(
    name: str, arguments: tuple[Scalar, ...], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        FUNCTIONS[name].meaning(*arguments)
