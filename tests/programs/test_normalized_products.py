"""Products of matrices whose rows are divided by a sum, a norm or an extreme of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import storel

SCRIPTS = {
    "divided by the sum of the row": """
        CREATE TENSOR Z AS sum(<(i, j), e> in E) { i -> e }
        CREATE TENSOR R AS sum(<(i, j), e> in E, <(j, d), v> in V) { (i, d) -> e * v / Z(i) }
    """,
    "divided by the norm of the row": """
        CREATE TENSOR Z AS sum(<(i, j), e> in E) { i -> e * e }
        CREATE TENSOR R AS sum(<(i, j), e> in E, <(j, d), v> in V) { (i, d) -> e * v / sqrt(Z(i)) }
    """,
    "a distance from the mean": """
        CREATE TENSOR Z AS sum(<(i, j), e> in E) { i -> e / 60 }
        CREATE TENSOR T AS sum(<(i, j), e> in E, <(j, d), v> in V) { (i, d) -> e * v }
        CREATE TENSOR R AS sum(<(i, d), t> in T) { (i, d) -> (t - Z(i)) * (t - Z(i)) }
    """,
    "less the greatest element": """
        CREATE TENSOR Z AS sum(<i, row> in E) { i -> max(<j, e> in row) e }
        CREATE TENSOR R AS sum(<(i, j), e> in E, <(j, d), v> in V) { (i, d) -> e * v / (1 + Z(i)) }
    """,
}


def expected(name: str, e: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
    product, sums = e @ v, e.sum(1)[:, None]
    with np.errstate(invalid="ignore"):
        match name:
            case "divided by the sum of the row":
                return np.where(product != 0, product / sums, 0)
            case "divided by the norm of the row":
                return np.where(product != 0, product / np.sqrt((e * e).sum(1))[:, None], 0)
            case "a distance from the mean":
                return np.where(product != 0, (product - sums / 60) ** 2, 0)
            case _:
                return product / (1 + e.max(1)[:, None])


def operands(dtype: str, *shape: int) -> dict[str, NDArray[Any]]:
    """A matrix with rows of zeros, and another one."""
    rng = np.random.default_rng(3)
    e, v = rng.random((*shape, 70, 60)).astype(dtype), (rng.random((*shape, 60, 50)) - 0.5).astype(dtype)
    e[..., ::7, :] = 0
    return {"E": e, "V": v}


def dense(found: storel.Tensor | dict[str, storel.Tensor]) -> NDArray[Any]:
    return (found["R"] if isinstance(found, dict) else found).to_numpy()


def count_products(kernel: storel.Kernel) -> int:
    return sum(phase.contraction is not None for phase in kernel.compilation.phases)


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(("backend", "threads"), [("c", 1), ("c", 2), ("numba", 2)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_are_normalized(name: str, backend: str, threads: int, dtype: str) -> None:
    given = operands(dtype)
    found = dense(storel.run(SCRIPTS[name], backend=backend, threads=threads, **given))
    error = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(
        found, expected(name, **{k.lower(): a for k, a in given.items()}), error, error
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_product_is_one_of_matrices(name: str) -> None:
    """The numbers of all rows are computed first, so that nothing stands between the loops of the product."""
    given = operands("float64")
    assert count_products(storel.compile(SCRIPTS[name], **given)) == 1


def test_rows_of_a_batch() -> None:
    given = operands("float64", 3)
    script = """
        CREATE TENSOR Z AS sum(<(b, i, j), e> in E) { (b, i) -> e }
        CREATE TENSOR R AS sum(<(b, i, j), e> in E, <(b, j, d), v> in V) { (b, i, d) -> e * v / Z(b, i) }
    """
    kernel = storel.compile(script, **given)
    assert count_products(kernel) == 1
    found = dense(kernel(**given))
    for e, v, each in zip(given["E"], given["V"], found, strict=True):
        np.testing.assert_allclose(each, expected("divided by the sum of the row", e, v), 1e-10)


def test_what_is_not_finite_is_divided_in_loops() -> None:
    """Rows that meet an infinite element are as the meaning has them: zeros are not there."""
    given = operands("float64")
    given["V"][0, 0] = np.inf
    given["E"][3, 0] = 0.0
    script = SCRIPTS["divided by the sum of the row"]
    assert not count_products(storel.compile(script, **given))
    found, wanted = (dense(storel.run(script, backend=backend, **given)) for backend in ("auto", "interpret"))
    np.testing.assert_allclose(found, wanted, 1e-10)
    assert np.isfinite(found[3]).all() and np.isinf(found[1, 0])
