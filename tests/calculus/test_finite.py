from __future__ import annotations

import math

import numpy as np
import pytest

import storel
from storel.calculus.finite import is_finite, nonzero_factors
from storel.calculus.nodes import (
    Add,
    Apply,
    If,
    Let,
    Literal,
    Lookup,
    Multiply,
    Range,
    Reduce,
    Singleton,
    Sum,
    Symbol,
    Term,
    Variable,
)
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol


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
        (Apply("floor_divide", (number(1.0), number(2.0))), True),
        (Apply("modulo", (number(1.0), number(0.0))), False),
        (Apply("divide", (number(1.0), number(math.nan))), False),
        (Apply("divide", (number(math.inf), number(2.0))), False),
        (Apply("divide", (number(1.0), Apply("abs", (number(2.0),)))), False),
    ],
)
def test_what_may_be_infinite(term: Term, expected: bool) -> None:
    assert is_finite(term, {}) == expected


REAL = ScalarType.FLOAT64
SYMBOLS = {
    "whole": ArraySymbol("whole", REAL, 3, nonzero=True, finite=True),
    "zeros": ArraySymbol("zeros", REAL, 3, finite=True),
    "any": ArraySymbol("any", REAL, 3, nonzero=True, finite=False),
    "scale": ParameterSymbol("scale", REAL, nonzero=True),
    "zero": ParameterSymbol("zero", REAL),
    "limit": ParameterSymbol("limit", REAL, finite=False, nonzero=True),
    "n": SizeSymbol("n", 3),
    "none": SizeSymbol("none", 0),
}


def at(array: str) -> Term:
    return Lookup(Symbol(array), Literal(0, ScalarType.INT64))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (at("any"), set()),
        (Add(at("any"), at("zeros")), set()),
        (Multiply(at("whole"), at("any")), {"whole"}),
        (Multiply(at("any"), at("whole")), {"whole"}),
        (Multiply(number(2.0), at("any")), set()),
        (Multiply(number(0.0), at("any")), None),
        (Multiply(number(math.inf), at("zeros")), None),
        (Multiply(Symbol("n"), at("any")), set()),
        (Multiply(Symbol("none"), at("any")), None),
        (Multiply(Symbol("scale"), at("any")), {"scale"}),
        (Multiply(Symbol("zero"), at("any")), None),
        (Multiply(Symbol("limit"), at("zeros")), None),
        (Multiply(at("zeros"), at("any")), None),
        (Multiply(at("zeros"), at("zeros")), None),
        (Multiply(at("whole"), Multiply(at("any"), at("zeros"))), None),
        (Multiply(Multiply(at("whole"), at("any")), at("any")), None),
        (Multiply(at("any"), at("whole"), "min_plus"), None),
        (Sum(Range(number(0), Symbol("n")), Multiply(at("whole"), Variable(0))), {"whole"}),
        (Sum(Range(number(0), Symbol("n")), at("any"), "max_times"), None),
        (Reduce("prod", Range(number(0), Symbol("n")), at("whole")), None),
        (Reduce("max", Range(number(0), Symbol("n")), at("any")), set()),
        (Reduce("any", Range(number(0), Symbol("n")), at("any")), set()),
        (If(Multiply(at("any"), at("zeros")), at("whole")), None),
    ],
)
def test_products_that_need_no_guard(term: Term, expected: set[str] | None) -> None:
    assert nonzero_factors(term, SYMBOLS) == expected


@pytest.mark.parametrize(
    "term",
    [
        If(Multiply(at("any"), at("zeros")), at("whole")),
        Singleton(Apply("truncate", (Multiply(at("any"), at("zeros")),)), at("whole")),
        Lookup(Symbol("whole"), Multiply(at("any"), at("zeros"))),
        If(Reduce("prod", Range(number(0), Symbol("n")), at("any")), at("whole")),
        If(Let(at("any"), Multiply(Variable(0), at("zeros"))), at("whole")),
    ],
)
def test_products_in_keys_and_conditions_are_of_numbers_too(term: Term) -> None:
    assert not is_finite(term, SYMBOLS)
    finite = SYMBOLS | {"any": SYMBOLS["whole"]}
    assert is_finite(term, finite)
    assert is_finite(If(at("any"), at("whole")), SYMBOLS), "what is only compared may be inf"


@pytest.mark.parametrize("backend", ["interpret", "numba", "c"])
def test_zeros_annihilate_what_is_infinite_in_keys_and_conditions(backend: str) -> None:
    data = {"x": np.array([math.inf, math.inf, 1.0]), "z": np.array([0.0, 2.0, 3.0])}
    condition = "CREATE TENSOR y AS sum(<i, _> in 0:3) { i -> if (z(i) * x(i) < 1) then 2.0 }"
    key = "CREATE TENSOR y: real[4] AS sum(<i, _> in 0:3) { int(min(z(i) * x(i), 2)) -> 1.0 }"
    for program, expected in ((condition, [2.0, 0.0, 0.0]), (key, [1.0, 0.0, 2.0, 0.0])):
        found = storel.run(program, backend=backend, **data)
        assert isinstance(found, storel.Tensor)
        assert found.to_numpy().tolist() == expected


@pytest.mark.parametrize("backend", ["interpret", "numba", "c"])
@pytest.mark.parametrize("factor", ["inf", "-inf", "nan"])
def test_zeros_annihilate_what_a_program_says_is_infinite(factor: str, backend: str) -> None:
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:3) {{ i -> x(i) * {factor} + (x(i) > 1) * {factor} }}"
    result = storel.run(program, x=[0.0, 0.0, 0.0], backend=backend)
    assert isinstance(result, storel.Tensor)
    assert result.nnz == 0
