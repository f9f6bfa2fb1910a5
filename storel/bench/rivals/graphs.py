"""SuiteSparse:GraphBLAS by python-graphblas. Its results are finished before the time is taken (``wait``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.bench.problem import Formulation, Operand
from storel.bench.rivals.rival import Table, from_table, load


def _own(operand: Operand) -> Any:
    gb = load("graphblas")

    match operand:
        case np.ndarray():
            return gb.Vector.from_dense(operand) if operand.ndim == 1 else gb.Matrix.from_dense(operand)
        case _ if hasattr(operand, "indptr"):
            return gb.io.from_scipy_sparse(operand)
        case _:
            return operand


def _table() -> Table:
    gb = load("graphblas")

    times, plus = gb.semiring.plus_times, gb.monoid.plus

    def matrix_of(run: Callable[[], Any]) -> Formulation:
        return Formulation(lambda: run().new().wait(), lambda result: gb.io.to_scipy_sparse(result, "csr"))

    def vector_of(run: Callable[[], Any]) -> Formulation:
        return Formulation(lambda: run().new().wait(), _vector)

    def number_of(run: Callable[[], Any]) -> Formulation:
        return Formulation(lambda: float(run().new().value or 0.0))

    def batax(own: Mapping[str, Any]) -> Formulation:
        matrix, x, beta = own["A"], own["x"], own["beta"]
        return vector_of(
            lambda: times(matrix.T @ times(matrix @ x).new()).new().apply(gb.binary.times, right=beta)
        )

    def gradient(own: Mapping[str, Any]) -> Formulation:
        matrix, w, y = own["X"], own["w"], own["y"]
        negative = (-1.0 * y).new()
        return vector_of(lambda: times(matrix.T @ plus(times(matrix @ w).new() | negative).new()))

    def summm(own: Mapping[str, Any]) -> Formulation:
        return number_of(lambda: times(own["A"] @ own["B"]).new().reduce_scalar(plus))

    def add3(own: Mapping[str, Any]) -> Formulation:
        return matrix_of(lambda: plus(plus(own["A"] | own["B"]).new() | own["C"]))

    def triangles(own: Mapping[str, Any]) -> Formulation:
        matrix = own["A"]
        return number_of(lambda: _masked(matrix, matrix, matrix).reduce_scalar(plus))

    def cycles(own: Mapping[str, Any]) -> Formulation:
        return number_of(lambda: _masked(own["A"], own["B"], own["C"].T.new()).reduce_scalar(plus))

    def _masked(one: Any, two: Any, mask: Any) -> Any:
        product = times(one @ two).new(mask=mask.S)
        return gb.binary.times(product & mask).new()

    return {
        "spmv": lambda own: vector_of(lambda: times(own["A"] @ own["x"])),
        "batax": batax,
        "gradient": gradient,
        "mmm": lambda own: matrix_of(lambda: times(own["A"] @ own["B"])),
        "summm": summm,
        "add2": lambda own: matrix_of(lambda: plus(own["A"] | own["B"])),
        "add3": add3,
        "triangles": triangles,
        "cycles": cycles,
    }


def _vector(result: Any) -> Array:
    return result.to_dense(0.0)


formulate = from_table(_table, _own)
