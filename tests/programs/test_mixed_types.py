"""Programs of integers of 32 bits, of longer ones and of reals mean what their types say, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
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


def test_sums_of_numbers_of_several_lengths_are_merged_as_those_of_one() -> None:
    """Where one operand has no entry, none of its values is read: no branch asks for that."""
    places = sp.random_array((300, 300), density=0.02, rng=1, format="csr")
    longer, shorter = (storel.tensor(places.astype(each)) for each in (np.float64, np.int32))
    mixed, alike = (
        storel.compile("CREATE TENSOR S AS A + B", A=one, B=longer).source for one in (shorter, longer)
    )
    assert mixed.count("while") == alike.count("while") > 1
