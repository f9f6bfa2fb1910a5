"""Chains of matrices are multiplied in the order that exact counts of intermediate results find best."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import storel
from storel.execution.run import measure
from storel.optimizer.arrangement.association import Tree, associated, best
from storel.optimizer.arrangement.chains import chain
from storel.optimizer.estimation.sketches import Sketch, uniform
from storel.plan.printer import render

EXTENTS = (150, 300, 100, 275, 125, 225, 175, 75, 250)
DEGREES = (4, 2, 6, 1, 3, 2, 1, 5)


def matrices(number: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(number)
    extents = [*(EXTENTS[at] for at in order), 200]
    return [
        sp.csr_array(sp.random(m, n, DEGREES[at] / n, format="csr", rng=rng))
        for m, n, at in zip(extents[:-1], extents[1:], order, strict=True)
    ]


def pattern(matrix: Any) -> Any:
    return (matrix != 0).astype(int)


def least_work(given: list[Any]) -> int:
    """Return the multiplications of the best association, by exact intermediate results."""
    made = {(at, at): (0, pattern(matrix)) for at, matrix in enumerate(given)}
    for width in range(1, len(given)):
        for first in range(len(given) - width):
            last = first + width
            splits = [(made[first, at], made[at + 1, last]) for at in range(first, last)]
            works = [one + other + int((a @ b).sum()) for (one, a), (other, b) in splits]
            (_, left), (_, right) = splits[0]
            made[first, last] = min(works), pattern(left @ right)
    return made[0, len(given) - 1][0]


def multiplied(left: Any, right: Any) -> Any:
    return left @ right


def work_of(tree: Tree, given: list[Any]) -> tuple[int, Any]:
    """Return the multiplications of an association, and the pattern of what it makes."""
    if isinstance(tree, int):
        return 0, pattern(given[tree])
    (one, left), (other, right) = (work_of(part, given) for part in tree)
    return one + other + int((left @ right).sum()), pattern(left @ right)


def sketch(matrix: Any) -> Sketch:
    counts = (np.diff(compressed(matrix).indptr) for compressed in (sp.csr_array, sp.csc_array))
    return Sketch(*(count.astype(float) for count in counts))


@pytest.mark.parametrize("number", [4, 6, 8])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_order_is_told_by_sketches(number: int, seed: int) -> None:
    given = matrices(number, seed)
    tree = best([sketch(matrix) for matrix in given], [True] * number)
    assert work_of(tree, given)[0] <= 1.05 * least_work(given)


def source(number: int) -> tuple[str, str]:
    loops = ", ".join(f"<(k{at}, k{at + 1}), v{at}> in M{at}" for at in range(number))
    return loops, " * ".join(f"v{at}" for at in range(number))


def test_a_chain_is_multiplied_in_the_best_order() -> None:
    given = matrices(4, 1)
    loops, product = source(4)
    operands = {f"M{at}": matrix for at, matrix in enumerate(given)}
    kernel = storel.compile(f"CREATE TENSOR s AS sum({loops}) {{(k0, k4) -> {product}}}", **operands)
    found, work = measure(kernel.compilation, kernel.environment)
    assert np.allclose(found.to_numpy(), reduce(multiplied, given).toarray())
    assert work.multiplications <= 1.05 * least_work(given)


def test_a_sparse_product_on_the_right_is_stored_by_rows() -> None:
    rng = np.random.default_rng(4)
    shapes = ((200, 150, 2.0), (150, 180, 2.0), (180, 60, 0.4))
    given = [sp.csr_array(sp.random(m, n, each / n, format="csr", rng=rng)) for m, n, each in shapes]
    loops, product = source(3)
    operands = {f"M{at}": matrix for at, matrix in enumerate(given)}
    kernel = storel.compile(f"CREATE TENSOR s AS sum({loops}) {{(k0, k3) -> {product}}}", **operands)
    found, _ = measure(kernel.compilation, kernel.environment)
    assert np.allclose(found.to_numpy(), reduce(multiplied, given).toarray())
    assert "rows of float64" in render(kernel.compilation.plan)


@pytest.mark.parametrize(
    "program",
    [
        "sum(<(i, j), v> in A, <(j, k), w> in A) {(i, k) -> v * w}",
        "sum(<(i, j), v> in A, <(i, k), w> in A, <(i, l), u> in A) {i -> v * w * u}",
        "sum(<(i, j), v> in A) {(i, j) -> v + 1}",
        "sum(<(i, j), v> in A, <(j, k), w> in A, <(k, i), u> in A) v * w * u",
    ],
)
def test_what_is_no_chain_of_three_is_left_alone(program: str) -> None:
    square = sp.csr_array(sp.random(9, 9, 0.3, rng=np.random.default_rng(5)))
    compilation = storel.compile(f"CREATE TENSOR s AS {program}", A=square).compilation
    assert associated(compilation.optimized.normalized, compilation.symbols) is None


def test_operands_of_a_chain_meet_in_one_symbol() -> None:
    square = sp.csr_array(sp.random(9, 9, 0.3, rng=np.random.default_rng(6)))
    loops, product = source(3)
    program = f"CREATE TENSOR s AS sum({loops}) {{(k0, k3) -> {product}}}"
    compilation = storel.compile(program, M0=square, M1=square, M2=square).compilation
    found = chain(compilation.optimized.normalized, compilation.symbols)
    assert found is not None and found.outer is not None
    assert [len(operand.loops) for operand in found.operands] == [1, 1, 1]
    assert all(keys is not None for keys in found.ranges)


def test_a_product_whose_rows_have_no_bound_is_no_right_factor() -> None:
    sketches = [uniform(shape, 50.0) for shape in ((50.0, 50.0), (50.0, 50.0), (50.0, 1.0))]
    assert best(sketches, [True, True, True]) == (0, (1, 2))
    assert best(sketches, [True, False, True]) == ((0, 1), 2)
