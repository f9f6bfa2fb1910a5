"""What functions cost beside each other."""

from __future__ import annotations

import numpy as np
import pytest

import storel
from storel.optimizer.cost.constants import CONSTANTS, function


@pytest.mark.parametrize("name", ["relu", "floor", "sign", "bit_and", "shift_left", "popcount", "less"])
def test_what_is_one_instruction_is_as_cheap_as_an_addition(name: str) -> None:
    assert function(name, CONSTANTS) == CONSTANTS.flop


@pytest.mark.parametrize("name", ["sqrt", "modulo", "truncate"])
def test_what_takes_a_few_instructions_costs_a_division(name: str) -> None:
    assert function(name, CONSTANTS) == CONSTANTS.division


@pytest.mark.parametrize("name", ["power", "sin", "cos"])
def test_what_becomes_no_vector_code_is_dearer(name: str) -> None:
    assert function(name, CONSTANTS) == CONSTANTS.library > function("exp", CONSTANTS)


@pytest.mark.parametrize(
    ("body", "price"),
    [
        ("pow(x(i), 1.5)", CONSTANTS.library),
        ("pow(x(i), 5)", CONSTANTS.library),
        ("exp(x(i))", CONSTANTS.function),
    ],
)
def test_only_vector_code_costs_less_where_elements_are_added_up(body: str, price: float) -> None:
    length = 10_000
    program = f"CREATE TENSOR s AS sum(<i, _> in 0:{length}) {body}"
    expected = storel.compile(program, x=np.ones(length)).compilation.optimized.cost.nanoseconds
    assert (expected < length * price) == (price == CONSTANTS.function)


@pytest.mark.parametrize("exponent", [2, 3, 4])
def test_small_powers_cost_what_a_product_does(exponent: int) -> None:
    texts = (f"CREATE TENSOR s AS sum(<i, v> in x) {body}" for body in (f"pow(v, {exponent})", "v * v"))
    power, product = (
        storel.compile(text, x=np.ones(10_000)).compilation.optimized.cost.nanoseconds for text in texts
    )
    assert power <= 1.5 * product
