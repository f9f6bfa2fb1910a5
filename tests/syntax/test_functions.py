from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storel.errors import EvaluationError
from storel.scalars import ScalarType
from storel.syntax.functions import FUNCTIONS, NEGATION, NOT, OPERATORS

REALS = st.floats(allow_nan=True, allow_infinity=True)
WORDS = st.integers(-(2**62), 2**62)

UFUNCS: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "sign": np.sign,
}  # fmt: skip


@pytest.mark.parametrize("name", UFUNCS)
@given(x=REALS)
def test_functions_of_one_real_are_numpys(name: str, x: float) -> None:
    with np.errstate(all="ignore"):
        expected = UFUNCS[name](np.float64(x))
    np.testing.assert_equal(np.float64(FUNCTIONS[name].meaning(x)) + 0.0, expected + 0.0)  # -0.0 is 0


@given(REALS, REALS)
def test_functions_of_two_reals_are_numpys(x: float, y: float) -> None:
    with np.errstate(all="ignore"):
        a, b = np.float64(x), np.float64(y)
        np.testing.assert_equal(OPERATORS["/"].meaning(x, y), a / b)
        np.testing.assert_equal(OPERATORS["%"].meaning(x, y) + 0.0, np.mod(a, b) + 0.0)
        np.testing.assert_equal(FUNCTIONS["pow"].meaning(x, y), np.power(a, b))
        np.testing.assert_equal(FUNCTIONS["max"].meaning(x, y), np.maximum(a, b))


@given(WORDS, WORDS.filter(bool))
def test_whole_division_floors_and_the_remainder_has_the_divisors_sign(a: int, b: int) -> None:
    quotient, remainder = OPERATORS["//"].meaning(a, b), OPERATORS["%"].meaning(a, b)
    assert quotient * b + remainder == a
    assert remainder == 0 or (remainder < 0) == (b < 0)


@pytest.mark.parametrize("name", ["//", "%"])
def test_integers_are_not_divided_by_zero(name: str) -> None:
    with pytest.raises(EvaluationError, match="division by zero"):
        OPERATORS[name].meaning(1, 0)
    assert math.isnan(OPERATORS["%"].meaning(1.0, 0.0))
    assert OPERATORS["//"].meaning(1.0, 0.0) == math.inf


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_gather_undoes_interleave(i: int, j: int) -> None:
    z = FUNCTIONS["interleave"].meaning(i, j)
    assert (FUNCTIONS["gather"].meaning(z, 0), FUNCTIONS["gather"].meaning(z, 1)) == (i, j)


@given(st.integers(0, 2**62))
def test_the_bits_of_an_integer(x: int) -> None:
    length = int(FUNCTIONS["bits"].meaning(x))
    bits = [int(FUNCTIONS["bit"].meaning(x, i)) for i in range(length)]
    assert sum(bit << i for i, bit in enumerate(bits)) == x
    assert FUNCTIONS["popcount"].meaning(x) == sum(bits)


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), *OPERATORS.values(), NEGATION, NOT])
def test_what_is_said_of_zeros_is_true(function: Any) -> None:
    operand = function.operand_type(*[ScalarType.INT64] * function.arity)
    zero = 0.0 if operand.is_real else 0
    try:
        at_zero = function.meaning(*[zero] * function.arity)
    except EvaluationError:
        at_zero = math.nan
    assert (at_zero == 0) == function.preserves_zero


def test_integers_refuse_reals() -> None:
    assert OPERATORS["&"].result_type(ScalarType.FLOAT64, ScalarType.INT64) is None
    with pytest.raises(EvaluationError, match="negative power"):
        FUNCTIONS["pow"].meaning(2, -1)
