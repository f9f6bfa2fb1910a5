"""Plans use the structure of a format: what they do is bounded by what is stored, not by the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import storel
from storel.execution.run import measure
from storel.loops.interpret import Work

Array = Any
N = 24
HALF = N * (N + 1) // 2

PRODUCT = "sum(<(i, j), a> in A) { i -> a * x(j) }"
TRANSPOSED = "sum(<(i, j), a> in A) { j -> a * x(i) }"
QUADRATIC = "sum(<(i, j), a> in A) x(i) * a * x(j)"

MEANING: dict[str, Callable[[Array, Array], Array]] = {
    PRODUCT: lambda dense, x: dense @ x,
    TRANSPOSED: lambda dense, x: dense.T @ x,
    QUADRATIC: lambda dense, x: x @ dense @ x,
}


def worked(program: str, tensor: storel.Tensor) -> Work:
    """Return the work of a program, whose answer is checked."""
    x = np.arange(1.0, 1.0 + tensor.shape[1 if program == PRODUCT else 0])
    kernel = storel.compile(f"CREATE TENSOR y AS {program}", A=tensor, x=x)
    result, work = measure(kernel.compilation, kernel.environment)
    np.testing.assert_allclose(result.to_numpy(), MEANING[program](tensor.to_numpy(), x))
    return work


def random(*shape: int) -> Array:
    return np.random.default_rng(4).random(shape)


def mirrored() -> Array:
    dense = random(N, N)
    return dense + dense.T


def test_half_a_symmetric_matrix_is_read_once() -> None:
    work = worked(PRODUCT, storel.tensor(mirrored(), "symmetric"))
    assert work.iterations <= HALF + N
    assert work.multiplications == N * N


@pytest.mark.parametrize("text", ["upper_triangular", "lower_triangular"])
def test_half_a_triangular_matrix_is_read(text: str) -> None:
    half = np.triu(random(N, N)) if text.startswith("upper") else np.tril(random(N, N))
    work = worked(QUADRATIC, storel.tensor(half, text))
    assert work.iterations <= HALF + N
    assert work.multiplications <= HALF + N


@pytest.mark.parametrize("program", [PRODUCT, TRANSPOSED])
def test_a_band_is_read_along_its_diagonals(program: str) -> None:
    dense = np.triu(np.tril(random(N, N), 2), -1)
    for text in ("band(lower=1, upper=2)", "dia"):
        assert worked(program, storel.tensor(dense, text)).multiplications == np.count_nonzero(dense)


def test_factors_of_low_rank_are_multiplied_one_after_the_other() -> None:
    rank, columns = 3, 17
    arrays = {"u": random(N * rank), "v": random(columns * rank)}
    tensor = storel.tensor(arrays, f"low_rank({rank})", shape=(N, columns))
    for program in (PRODUCT, TRANSPOSED):
        assert worked(program, tensor).multiplications == (N + columns) * rank


def test_a_kronecker_product_is_never_formed() -> None:
    tensor = storel.tensor({"a": random(30), "b": random(28)}, "kronecker(7, 4)", shape=(6 * 7, 5 * 4))
    assert worked(PRODUCT, tensor).multiplications <= 28 * 5 + 30 * 7


@pytest.mark.parametrize("program", [PRODUCT, TRANSPOSED])
def test_a_kronecker_product_of_large_factors_is_never_formed(program: str) -> None:
    """Neither is it listed to be converted, nor is one factor applied for each row of the other."""
    tensor = storel.tensor(
        {"a": random(40 * 60), "b": random(80 * 50)}, "kronecker(80, 50)", shape=(40 * 80, 60 * 50)
    )
    assert worked(program, tensor).multiplications <= 80 * 50 * 60 + 40 * 60 * 80


@pytest.mark.parametrize("program", [PRODUCT, TRANSPOSED])
def test_each_row_of_a_dimension_table_is_touched_once(program: str) -> None:
    facts, rows1, rows2, own, f, g = 90, 5, 3, 2, 4, 3
    generator = np.random.default_rng(5)
    arrays = {
        "own": random(facts * own),
        "key1": generator.integers(0, rows1, facts),
        "table1": random(rows1 * f),
        "key2": generator.integers(0, rows2, facts),
        "table2": random(rows2 * g),
    }
    tensor = storel.tensor(arrays, f"star_join({f}, {g})", shape=(facts, own + f + g))
    assert worked(program, tensor).multiplications <= facts * own + rows1 * f + rows2 * g


def test_a_permutation_moves_entries() -> None:
    dense = np.eye(N)[np.random.default_rng(6).permutation(N)]
    work = worked(PRODUCT, storel.tensor(dense, "permutation"))
    assert work.iterations <= N
    assert work.multiplications <= N


def test_a_key_is_looked_up_in_its_bucket() -> None:
    wide = np.zeros(4000)
    wide[::40] = random(100)
    kernel = storel.compile(
        "CREATE TENSOR y AS sum(<i, a> in A) a * B(i)",
        A=storel.tensor(np.where(np.arange(4000) < 10, 1.0, 0.0), "coo"),
        B=storel.tensor(wide, "hash"),
    )
    result, work = measure(kernel.compilation, kernel.environment)
    assert float(result.to_numpy()) == pytest.approx(wide[:10].sum())
    assert work.iterations <= 10 + 20


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_what_values_are_keys_of_is_read_at_them(depth: int, dtype: type) -> None:
    """Nothing is known of the values of a tensor but their type; those that are no keys find nothing."""
    steps, values = np.random.default_rng(5).permutation(40).astype(dtype), random(40)
    steps[[3, 7]] = -1, 40
    key, keys = "i", np.arange(40)
    for _ in range(depth):
        key = f"p({key})"
        keys = np.where((keys >= 0) & (keys < 40), steps[keys % 40], 0)
    program = f"CREATE TENSOR y AS sum(<i, _> in 0:40) {{ i -> q({key}) }}"
    for backend in ("c", "numba"):
        kernel = storel.compile(program, p=steps, q=values, backend=backend)
        result, work = measure(kernel.compilation, kernel.environment)
        found = np.where((keys >= 0) & (keys < 40), values[keys % 40], 0.0)
        np.testing.assert_array_equal(result.to_numpy(), found)
        assert work.iterations <= 40
