"""What is added from a stored dictionary is copied each time, which the costs know."""

from __future__ import annotations

import numpy as np

import storel
from storel.compilation.compiled import Compilation
from storel.execution.run import measure

SIZE = 100
MATRIX = np.random.default_rng(0).choice([1.0, 2.0, -1.0], (SIZE, SIZE))
VECTOR = np.linspace(0.5, 1.5, SIZE)
GIVEN = {"D": MATRIX, "x": VECTOR}


def compilation(expression: str) -> Compilation:
    return storel.compile(f"CREATE TENSOR y AS {expression}", **GIVEN).compilation


def test_a_copy_in_a_loop_costs_as_often_as_it_is_made() -> None:
    once = compilation("count(<(i, k), b> in D) * x").optimized.cost.nanoseconds
    again = compilation("sum(<(i, k), b> in D) (if b > 0.5 then x)").optimized.cost.nanoseconds
    assert again > SIZE / 10 * once


def test_a_row_that_is_the_same_in_each_iteration_is_added_up_once() -> None:
    kernel = storel.compile(
        "CREATE TENSOR y AS sum(<(i, k), b> in D, <j, c> in x) { j -> c * (if j < i then 1) }", **GIVEN
    )
    result, work = measure(kernel.compilation, kernel.environment)
    before = np.tri(SIZE, k=-1).sum(axis=0)  # how many rows j is before
    np.testing.assert_allclose(result.to_numpy(), VECTOR * before * SIZE)
    assert work.iterations < 5 * SIZE**2


def test_two_entries_are_added_without_a_merge() -> None:
    """What stands at one key each, as of half of a symmetric matrix, goes where it belongs at once."""
    size = 400
    matrix, vector = np.add.outer(np.arange(size), np.arange(size)) + 1.0, np.ones(size)
    program = "CREATE TENSOR y AS sum(<(i, j), a> in A, <j, v> in x) { i -> a * v }"
    half, whole = (
        storel.compile(program, A=storel.tensor(matrix, storage), x=vector).compilation.optimized.cost
        for storage in ("symmetric", "dense")
    )
    assert half.nanoseconds < 6 * whole.nanoseconds
