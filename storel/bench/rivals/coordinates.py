"""pydata/sparse: tensors of any rank as sorted coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from storel.bench.problem import Answer, Entries, Formulation, Operand
from storel.bench.rivals.rival import Table, from_table, load
from storel.storage.coordinates import combine


def _own(operand: Operand) -> Any:
    sparse = load("sparse")

    match operand:
        case Entries():
            return sparse.COO(operand.coordinates, operand.values, shape=operand.shape, sorted=True)
        case _ if hasattr(operand, "indptr"):
            return sparse.COO.from_scipy_sparse(operand)
        case _:
            return operand


def _table() -> Table:
    sparse = load("sparse")

    def batax(own: Mapping[str, Any]) -> Formulation:
        matrix, x, beta = own["A"], own["x"], own["beta"]
        return Formulation(lambda: beta * (matrix.T @ (matrix @ x)))

    def gradient(own: Mapping[str, Any]) -> Formulation:
        matrix, w, y = own["X"], own["w"], own["y"]
        return Formulation(lambda: matrix.T @ (matrix @ w - y))

    def ttm(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: sparse.tensordot(own["B"], own["C"], axes=(2, 0)), _answer)

    def ttv(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: sparse.tensordot(own["B"], own["x"], axes=(2, 0)), _answer)

    return {
        "spmv": lambda own: Formulation(lambda: own["A"] @ own["x"]),
        "batax": batax,
        "gradient": gradient,
        "mmm": lambda own: Formulation(lambda: own["A"] @ own["B"], _answer),
        "summm": lambda own: Formulation(lambda: float((own["A"] @ own["B"]).sum())),
        "add2": lambda own: Formulation(lambda: own["A"] + own["B"], _answer),
        "add3": lambda own: Formulation(lambda: own["A"] + own["B"] + own["C"], _answer),
        "triangles": lambda own: Formulation(lambda: float(((own["A"] @ own["A"]) * own["A"]).sum())),
        "cycles": lambda own: Formulation(lambda: float(((own["A"] @ own["B"]) * own["C"].T).sum())),
        "spmm": lambda own: Formulation(lambda: own["A"] @ own["B"], _answer),
        "scale": lambda own: Formulation(lambda: own["A"] * (own["b"] + own["c"])[:, None], _answer),
        "ttm": ttm,
        "ttv": ttv,
    }


def _answer(result: Any) -> Answer:
    if isinstance(result, np.ndarray):
        return result
    coordinates, values = combine(np.asarray(result.coords, np.int64), result.data, result.shape)
    return Entries(coordinates, values, result.shape)


formulate = from_table(_table, _own)
