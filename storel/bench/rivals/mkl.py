"""Intel's MKL by sparse-dot-mkl: products of SciPy's matrices."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storel.bench.matrices import with_sorted_rows
from storel.bench.problem import Formulation
from storel.bench.rivals.rival import Table, from_table, load


def _table() -> Table:
    _locate()
    dot = load("sparse_dot_mkl").dot_product_mkl

    def spmv(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: dot(own["A"], own["x"]))

    def batax(own: Mapping[str, Any]) -> Formulation:
        matrix, x, beta = own["A"], own["x"], own["beta"]
        return Formulation(lambda: beta * dot(matrix.T, dot(matrix, x)))

    def gradient(own: Mapping[str, Any]) -> Formulation:
        matrix, w, y = own["X"], own["w"], own["y"]
        return Formulation(lambda: dot(matrix.T, dot(matrix, w) - y))

    def mmm(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: with_sorted_rows(dot(own["A"], own["B"])))

    def summm(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: dot(own["A"], own["B"]).sum())

    def spmm(own: Mapping[str, Any]) -> Formulation:
        return Formulation(lambda: dot(own["A"], own["B"]))

    def triangles(own: Mapping[str, Any]) -> Formulation:
        matrix = own["A"]
        return Formulation(lambda: dot(matrix, matrix).multiply(matrix).sum())

    return {
        "spmv": spmv,
        "batax": batax,
        "gradient": gradient,
        "mmm": mmm,
        "summm": summm,
        "spmm": spmm,
        "triangles": triangles,
    }


def _locate() -> None:
    """Tell where the library lies if it was installed into this environment, where no loader looks."""
    libraries = sorted((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"))
    if libraries:
        os.environ.setdefault("MKL_RT", str(libraries[0]))


formulate = from_table(_table, lambda operand: operand)
