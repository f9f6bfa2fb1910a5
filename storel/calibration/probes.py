"""Small programs whose time is mostly that of one constant, and data for them.

A probe runs through the whole compiler, so that a constant is what an operation takes in the code that plans
become: with its checks, with the latency that other operations hide, and with the vector code that a C
compiler makes of it. What is near lies in the second cache or the last one, as most data of programs do:
beside the processor, vector code takes a tenth. The data is random and the same every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from storel.api import tensor
from storel.optimizer.cost.constants import WORKING_SETS
from storel.storage.tensor import Tensor

Operands: TypeAlias = Mapping[str, Any]

_EACH = "CREATE TENSOR s AS sum(<i, v> in x) "
_BOTH = "CREATE TENSOR s AS sum(<i, v> in x, <i, w> in y) "
_ENTRIES = "CREATE TENSOR s AS sum(<(i,j), v> in A) "
ROW_SUMS = f"{_ENTRIES} {{ i -> v }}"
_PRODUCT = "CREATE TENSOR s AS sum(<(i,k), v> in A, <(k,j), w> in B) { (i,j) -> v * w }"
_STORED = "CREATE TENSOR s AS let t = sum(<(i,j), v> in A) { j -> v } in sum(<(i,j), v> in A) v * t(j)"
_ROWS, _DEGREE = 2**12, 32
"""Rows, and entries in each, of the matrices whose columns are read or written at random."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A program, what it is to measure, and a function that makes its operands."""

    name: str
    program: str
    operands: Callable[[], Operands]


def probes() -> tuple[Probe, ...]:
    """Return all probes, in the order in which they are best run."""
    near, large = 2**18, 2**22
    return (
        Probe("sum", f"{_EACH} v", lambda: {"x": vector(near)}),
        Probe("sum from memory", f"{_EACH} v", lambda: {"x": vector(large)}),
        Probe("product", f"{_BOTH} v * w", lambda: {"x": vector(near), "y": vector(near)}),
        Probe("power", f"{_EACH} v * v * v * v * v * v * v * v", lambda: {"x": vector(near)}),
        Probe("quotient", f"{_BOTH} v / w", lambda: {"x": vector(near), "y": vector(near)}),
        Probe("function", f"{_EACH} exp(v)", lambda: {"x": vector(near)}),
        Probe("function of a library", f"{_EACH} cos(v)", lambda: {"x": vector(near)}),
        Probe("condition", f"{_EACH} if v > 1.0 then v", lambda: {"x": vector(near)}),
        Probe("copy", f"{_EACH} {{ i -> v * 2.0 }}", lambda: {"x": vector(near)}),
        Probe("copy to new memory", f"{_EACH} {{ i -> v * 2.0 }}", lambda: {"x": vector(large)}),
        Probe("short rows", ROW_SUMS, lambda: {"A": matrix(2**16, 2**6, 1)}),
        Probe("rows", ROW_SUMS, lambda: {"A": matrix(2**13, 2**10, 16)}),
        Probe(
            "matrix by vector",
            "CREATE TENSOR s AS sum(<(i,j), v> in B, <j, w> in x) { i -> v * w }",
            lambda: {"B": table(2**9, 2**9), "x": vector(2**9)},
        ),
        Probe("dense by dense", _PRODUCT, lambda: {"A": table(2**7, 2**7), "B": table(2**7, 2**7)}),
        Probe("sparse by dense", _PRODUCT, lambda: {"A": matrix(2**13, 2**10, 8), "B": table(2**10, 8)}),
        Probe(
            "sparse by sparse",
            _PRODUCT,
            lambda: {"A": matrix(2**12, 2**12, 4), "B": matrix(2**12, 2**12, 8)},
        ),
        Probe(
            "common entries",
            "CREATE TENSOR s AS sum(<(i,j), v> in A, <(i,j), w> in B) v * w",
            lambda: {"A": matrix(2**11, 2**10, 32), "B": matrix(2**11, 2**10, 32, seed=1)},
        ),
        Probe(
            "all entries",
            "CREATE TENSOR s AS A + B",
            lambda: {"A": matrix(2**11, 2**10, 32), "B": matrix(2**11, 2**10, 32, seed=1)},
        ),
        Probe(
            "entries of a transpose",
            "CREATE TENSOR s AS sum(<(i,j), v> in A, <(j,i), w> in B) v * w",
            lambda: {"A": matrix(2**11, 2**11, 16), "B": matrix(2**11, 2**11, 16, seed=1)},
        ),
        Probe("table", _STORED, lambda: {"A": _scattered(15)}),
        Probe("hash table", _STORED, lambda: {"A": _scattered(24)}),
        *map(_reads, WORKING_SETS),
        *map(_writes, WORKING_SETS[::2]),
    )


def _reads(size: int) -> Probe:
    """Return the probe of reads at random from 2^``size`` places."""
    program = "CREATE TENSOR s AS sum(<(i,j), v> in A, <j, w> in x) v * w"
    return Probe(f"reads from 2^{size}", program, lambda: {"A": _scattered(size), "x": vector(2**size)})


def _writes(size: int) -> Probe:
    """Return the probe of writes at random to 2^``size`` places."""
    return Probe(f"writes to 2^{size}", f"{_ENTRIES} {{ j -> v }}", lambda: {"A": _scattered(size)})


def _scattered(size: int) -> Tensor:
    """Return a matrix of 2^``size`` columns with its entries anywhere."""
    return matrix(_ROWS, 2**size, _DEGREE)


def vector(length: int) -> Any:
    """Return a vector of numbers between 0.5 and 1.5."""
    return np.random.default_rng(length).random(length) + 0.5


def table(rows: int, columns: int) -> Any:
    """Return a dense matrix of numbers between 0.5 and 1.5."""
    return vector(rows * columns).reshape(rows, columns)


def matrix(rows: int, columns: int, degree: int, seed: int = 0) -> Tensor:
    """Return a sparse matrix with about ``degree`` entries a row, stored by rows."""
    drawn = np.random.default_rng([seed, rows, columns]).integers(0, rows * columns, rows * degree)
    places = np.unique(drawn)
    coordinates = np.stack((places // columns, places % columns))
    return tensor((coordinates, vector(len(places))), shape=(rows, columns))
