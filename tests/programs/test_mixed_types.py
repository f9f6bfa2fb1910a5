"""Programs of integers of 32 bits, of longer ones and of reals mean what their types say, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from strategies.mixed_types import Mixed, mixed_programs

import storel
from storel.errors import EvaluationError


@settings(max_examples=60, deadline=None)
@given(mixed_programs())
def test_no_number_is_shorter_than_its_type(program: Mixed) -> None:
    operands = program.operands()
    try:
        wanted: Any = storel.run(program.text, backend="interpret", **operands)
    except EvaluationError:
        return  # an integer beyond its type
    if not np.all(np.isfinite(wanted.to_numpy())):
        return
    found: Any = storel.run(program.text, backend="c", **operands)
    assert found.dtype == wanted.dtype
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
        return
    is_short = any(array.dtype == np.float32 for array, _ in program.arrays.values())
    away = np.abs(found.to_numpy().astype(np.float64) - wanted.to_numpy())
    assert np.all(away <= (1e-5 if is_short else 1e-11) * program.largest())
