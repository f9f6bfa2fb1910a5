"""PyTorch on the processor: matrices by rows, and dense tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.bench.problem import Formulation, Matrix, Operand, Problem, by_rows
from storel.bench.rivals.rival import Table, from_table, load


def formulate(kernel: str, problem: Problem) -> Formulation | None:
    """Formulate by a table, else by ``torch.einsum`` where all operands are dense."""
    found = _sparse(kernel, problem)
    if found is not None or problem.einsum is None or not problem.is_dense:
        return found
    torch = load("torch")

    own = [_own(problem.operands[name]) for name in problem.einsum.names]
    subscripts = problem.einsum.subscripts
    return Formulation(lambda: torch.einsum(subscripts, *own), np.asarray)


def _own(operand: Operand) -> Any:
    torch = load("torch")

    match operand:
        case np.ndarray():
            return torch.from_numpy(operand)
        case _ if hasattr(operand, "indptr"):
            parts = (operand.indptr, operand.indices, operand.data)
            return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), size=operand.shape)
        case _:
            return operand


def _table() -> Table:
    torch = load("torch")

    def spmv(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: own["A"] @ own["x"], np.asarray)

    def product(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: own["A"] @ own["B"], _dense_or_sparse)

    def sums(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: own["A"] + own["B"], _dense_or_sparse)

    def gradient(own: Mapping[str, Any]) -> Formulation:
        observations, w, y = own["X"], own["w"], own["y"]
        return Formulation(lambda: observations.T @ (observations @ w - y), np.asarray)

    def convolution(own: Mapping[str, Any]) -> Formulation:
        image, weights = own["X"][None, None], own["K"][None, None]
        return Formulation(lambda: torch.nn.functional.conv2d(image, weights), _plane)

    return {
        "spmv": spmv,
        "spmm": product,
        "mmm": product,
        "add2": sums,
        "gradient-dense": gradient,
        "convolution": convolution,
    }


def _plane(result: Any) -> Array:
    return np.asarray(result)[0, 0]


def _dense_or_sparse(result: Any) -> Array | Matrix:
    """Return a result as NumPy's or SciPy's."""
    if not result.is_sparse_csr:
        return np.asarray(result)
    parts = (result.values(), result.col_indices(), result.crow_indices())
    return by_rows(tuple(map(np.asarray, parts)), tuple(result.shape))


_sparse = from_table(_table, _own)
