"""Products of matrices take the steps that their multiplications do, however their operands are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import storel

N = 3000
PROGRAMS = {
    "A B": "CREATE TENSOR C STORED AS csr AS sum(<(i, k), a> in A, <(k, j), b> in B) { (i, j) -> a * b }",
    "A B'": "CREATE TENSOR C STORED AS csr AS sum(<(i, k), a> in A, <(j, k), b> in B) { (i, j) -> a * b }",
    "row sums of A B'": "CREATE TENSOR C AS sum(<(i, k), a> in A, <(j, k), b> in B) { i -> a * b }",
}
RANDOM = np.random.default_rng(0)
LEFT: Any = scipy.sparse.random_array((N, N), density=8 / N, format="csr", rng=RANDOM)
SCATTERED = scipy.sparse.random_array((N, N), density=4 / N, format="csr", rng=RANDOM)
BAND: Any = sum(
    scipy.sparse.eye_array(N, k=offset, format="csr") * (offset + 3.5) for offset in (-2, -1, 0, 1)
)
SHUFFLED = scipy.sparse.csr_array((np.ones(N), (np.arange(N), RANDOM.permutation(N))), shape=(N, N))
RIGHT: dict[str, Any] = {
    "coo": SCATTERED,
    "dcsr": SCATTERED,
    "ell": SCATTERED,
    "sell": SCATTERED,
    "hyb": SCATTERED,
    "hash": SCATTERED,
    "levels(compressed,hashed)": SCATTERED,
    "band": BAND,
    "dia": BAND,
    "tridiagonal": scipy.sparse.triu(BAND, -1).tocsr(),
    "one_hot": SHUFFLED,
    "permutation": SHUFFLED,
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("storage", RIGHT)
def test_no_operand_is_gone_through_for_each_row_of_the_other(storage: str, program: str) -> None:
    right = RIGHT[storage]
    operands = {"A": storel.tensor(LEFT, "csr"), "B": storel.tensor(right, storage)}
    kernel = storel.compile(PROGRAMS[program], **operands)
    expected = LEFT @ (right if program == "A B" else right.T)
    multiplications = np.diff(right.indptr if program == "A B" else right.tocsc().indptr)[LEFT.indices].sum()
    assert max(kernel.compilation.optimized.cost.iterations) < 3 * (multiplications + LEFT.nnz + N)
    result = kernel(**operands)
    assert isinstance(result, storel.Tensor)
    wanted = expected.sum(axis=1) if program.startswith("row sums") else expected.toarray()
    np.testing.assert_allclose(result.to_numpy(), wanted)
