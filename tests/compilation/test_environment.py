"""What names stand for: tensors, raw arrays with their facts, scalars, sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import storel
from storel.compilation.environment import Environment, measured_symbol, type_of
from storel.errors import UnknownNameError
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol
from storel.syntax.signatures import ArraySignature, ParameterSignature, SizeSignature, TensorSignature


def filled() -> Environment:
    environment = Environment()
    environment.add_tensor("A", storel.tensor(np.eye(2), "csr"))
    environment.add_array("idx", np.array([0, 2, 5], np.int32))
    environment.add_array("length", np.array(3))
    environment.add_array("scale", np.array(0.5))
    environment.add_parameter("beta", 1.5)
    return environment


def test_every_kind_of_name_has_a_signature() -> None:
    found = filled().signatures()
    kinds = {name: type(signature) for name, signature in found.items() if not name.startswith("A_")}
    assert kinds == {
        "A": TensorSignature, "idx": ArraySignature, "length": SizeSignature,
        "scale": ParameterSignature, "beta": ParameterSignature,
    }  # fmt: skip
    assert {"A_pos", "A_idx", "A_val"} <= found.keys()


def test_facts_are_about_all_that_are_no_tensors() -> None:
    kinds = {name: type(fact) for name, fact in filled().facts().items()}
    assert kinds == {
        "idx": ArraySymbol, "length": SizeSymbol, "scale": ParameterSymbol, "beta": ParameterSymbol,
    }  # fmt: skip


def test_physical_arrays_are_named_after_their_tensor() -> None:
    assert {"A_pos", "A_idx", "A_val", "idx"} == filled().physical_arrays().keys()


@pytest.mark.parametrize("name", ["A", "idx", "length", "scale", "beta"])
def test_a_name_is_bound_once(name: str) -> None:
    environment = filled()
    assert name in environment
    with pytest.raises(UnknownNameError, match=f"'{name}' is defined twice"):
        environment.add_parameter(name, 1)
    with pytest.raises(UnknownNameError, match="defined twice"):
        environment.add_tensor(name, storel.tensor(np.eye(2)))
    with pytest.raises(UnknownNameError, match="defined twice"):
        environment.add_array(name, np.arange(3))


def test_scalars_that_are_not_finite_are_noticed() -> None:
    environment = filled()
    environment.add_parameter("limit", math.inf)
    assert environment.parameter_facts()["limit"] == (ScalarType.FLOAT64, False)


@pytest.mark.parametrize(
    ("value", "scalar"), [(True, ScalarType.BOOL), (1, ScalarType.INT64), (1.0, ScalarType.FLOAT64)]
)
def test_the_type_of_a_number(value: Any, scalar: ScalarType) -> None:
    assert type_of(value) is scalar


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        ([1, 2, 5], {"low": 1, "high": 5, "increasing": True, "unique": True, "distinct": 3}),
        ([1, 1, 5], {"ascending": True, "increasing": False, "unique": False, "distinct": 2}),
        ([5, 1, 1], {"low": 1, "high": 5, "ascending": False, "increasing": False, "first": 5, "last": 1}),
        ([0.5, 0.0], {"nonzeros": 1, "finite": True, "low": None}),
        ([0.5, math.nan], {"nonzeros": 2, "finite": False}),
        ([True, False], {"nonzeros": 1, "finite": True}),
    ],
)  # fmt: skip
def test_what_is_not_declared_is_measured(data: list[Any], facts: dict[str, Any]) -> None:
    symbol = measured_symbol("a", np.array(data))
    assert {name: getattr(symbol, name) for name in facts} == facts
    assert symbol.length == len(data)


def test_a_step_that_overflows_is_no_ascent() -> None:
    symbol = measured_symbol("a", np.array([2**31 - 1, -(2**31)], np.int32))
    assert (symbol.ascending, symbol.increasing, symbol.unique, symbol.distinct) == (
        False,
        False,
        False,
        None,
    )


def test_an_empty_array_has_no_bounds() -> None:
    symbol = measured_symbol("a", np.zeros(0, np.int64))
    assert (symbol.length, symbol.low, symbol.high) == (0, None, None)
