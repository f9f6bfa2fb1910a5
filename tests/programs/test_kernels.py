"""The kernels of the papers, with their operands in every format, are what NumPy says."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from strategies.kernels import FORMATS, KERNELS, PaperKernel, kernel, random_operands

import storel

SIZES = {"i": 5, "j": 4, "k": 6, "l": 3}
FAMILIES = ("dense", "coo", "csr", "csc", "dcsr")
"""Names for one format per rank: what is not compressed by columns or twice is compressed by rows."""

COMPRESSED = {1: "coo", 3: "csf"}


def in_family(chosen: PaperKernel, family: str) -> tuple[str, ...]:
    """Return the format of each operand where all are of one family."""
    ranks = [len(letters) for letters in chosen.operands.values()]
    return tuple(family if family in FORMATS[rank] else COMPRESSED.get(rank, family) for rank in ranks)


def mixed(chosen: PaperKernel) -> list[tuple[str, ...]]:
    """Return a few combinations of different formats: every nineteenth of all."""
    choices = [FORMATS[len(letters)] for letters in chosen.operands.values()]
    every = list(itertools.product(*choices))
    return every[3::19]


def combinations(chosen: PaperKernel) -> list[tuple[str, ...]]:
    return sorted({*(in_family(chosen, family) for family in FAMILIES), *mixed(chosen)})


CASES = [
    pytest.param(chosen, formats, id=f"{chosen.name}-{'-'.join(formats)}")
    for chosen in KERNELS
    for formats in combinations(chosen)
]


def answer(
    chosen: PaperKernel,
    operands: dict[str, NDArray[Any]],
    formats: tuple[str, ...],
    backend: str = "c",
    binders: str = "named",
) -> NDArray[Any]:
    stored = {
        name: storel.tensor(array, storage)
        for (name, array), storage in zip(operands.items(), formats, strict=True)
    }
    result = storel.run(chosen.script, backend=backend, binders=binders, **stored)
    assert isinstance(result, storel.Tensor)
    return result.to_numpy()


def assert_answer(got: NDArray[Any], chosen: PaperKernel, operands: dict[str, NDArray[Any]]) -> None:
    want = chosen.numpy(operands)
    assert got.shape == want.shape
    single = any(array.dtype == np.float32 for array in operands.values())
    tolerance = 1e-5 if single else 1e-10
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("several_threads")
@pytest.mark.parametrize(("chosen", "formats"), CASES[::2])
def test_several_threads(chosen: PaperKernel, formats: tuple[str, ...]) -> None:
    operands = random_operands(chosen, 1, SIZES)
    assert_answer(answer(chosen, operands, formats), chosen, operands)


@pytest.mark.parametrize(("chosen", "formats"), CASES)
def test_every_format(chosen: PaperKernel, formats: tuple[str, ...]) -> None:
    operands = random_operands(chosen, 1, SIZES)
    assert_answer(answer(chosen, operands, formats), chosen, operands)


@pytest.mark.parametrize("chosen", KERNELS, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize(
    "sizes", [dict.fromkeys("ijkl", 1), {"i": 0, "j": 4, "k": 3, "l": 2}, {"i": 3, "j": 0, "k": 2, "l": 0}]
)
def test_dimensions_of_size_one_and_none(chosen: PaperKernel, sizes: dict[str, int]) -> None:
    operands = random_operands(chosen, 2, sizes)
    formats = in_family(chosen, "csr")
    assert_answer(answer(chosen, operands, formats, "interpret"), chosen, operands)
    assert_answer(answer(chosen, operands, formats), chosen, operands)


@pytest.mark.parametrize("chosen", KERNELS, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_other_types_of_values(chosen: PaperKernel, dtype: str) -> None:
    operands = random_operands(chosen, 3, SIZES, dtype)
    got = answer(chosen, operands, in_family(chosen, "csr"))
    assert_answer(got, chosen, operands)


@pytest.mark.parametrize("chosen", KERNELS, ids=lambda chosen: chosen.name)
def test_tensors_without_entries(chosen: PaperKernel) -> None:
    operands = random_operands(chosen, 4, SIZES, density=0.0)
    assert_answer(answer(chosen, operands, in_family(chosen, "dcsr")), chosen, operands)


@pytest.mark.parametrize("name", ["spmv", "mmm", "mttkrp", "add2"])
def test_numba(name: str) -> None:
    chosen = kernel(name)
    operands = random_operands(chosen, 5, SIZES)
    assert_answer(answer(chosen, operands, in_family(chosen, "csr"), "numba"), chosen, operands)


@pytest.mark.parametrize("chosen", KERNELS, ids=lambda chosen: chosen.name)
def test_reference(chosen: PaperKernel) -> None:
    operands = random_operands(chosen, 6, SIZES)
    assert_answer(answer(chosen, operands, in_family(chosen, "coo"), "interpret"), chosen, operands)


@pytest.mark.parametrize("chosen", KERNELS, ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("family", ["dense", "coo", "csr", "dcsr"])
def test_indices_for_binders(chosen: PaperKernel, family: str) -> None:
    operands = random_operands(chosen, 8, SIZES)
    got = answer(chosen, operands, in_family(chosen, family), "interpret", "debruijn")
    assert_answer(got, chosen, operands)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("wrap", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", ["spmv", "mmm", "add2", "transposed"])
def test_matrices_of_scipy_with_stored_zeros(name: str, wrap: Any, index_type: Any) -> None:
    chosen = kernel(name)
    operands = random_operands(chosen, 7, dict.fromkeys("ijkl", 5))
    wrapped: dict[str, Any] = dict(operands)
    for each, array in operands.items():
        if array.ndim == 2:
            matrix = wrap(np.ones(array.shape))
            rows, columns = matrix.tocoo().coords
            matrix.data = array[rows, columns]
            matrix.indices = matrix.indices.astype(index_type)
            matrix.indptr = matrix.indptr.astype(index_type)
            wrapped[each] = matrix
    result = storel.run(chosen.script, backend="c", **wrapped)
    assert isinstance(result, storel.Tensor)
    assert_answer(result.to_numpy(), chosen, operands)
