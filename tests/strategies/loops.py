"""Kernels by hand, and all the ways to run one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from storel.arrays import Array
from storel.codegen import c_source, numba_source
from storel.loops import interpret
from storel.loops.nodes import (
    Allocation,
    Assign,
    Binary,
    Buffer,
    Constant,
    Expression,
    Failure,
    Kernel,
    Local,
    Procedure,
    Role,
    Statement,
    Store,
)
from storel.loops.verify import verify
from storel.runtime.kernel import load
from storel.runtime.library import Backend
from storel.scalars import ScalarType
from storel.semiring import Scalar

Run = Callable[[Mapping[str, Scalar], Mapping[str, Array]], dict[str, Array]]

BOOL, INT32, INT64 = ScalarType.BOOL, ScalarType.INT32, ScalarType.INT64
FLOAT32, FLOAT64 = ScalarType.FLOAT32, ScalarType.FLOAT64
SIZES = Buffer("sizes", INT64, Role.INDEX)
LENGTHS = Buffer("lengths", INT64, Role.INDEX)
N = Local("n", INT64)
RENDER = {"c": c_source.render, "numba": numba_source.render}
BACKENDS: list[Backend] = ["c", "numba"]


def integer(value: int) -> Constant:
    return Constant(value, INT64)


def index(name: str) -> Local:
    return Local(name, INT64)


def plus(left: Expression, right: Expression) -> Binary:
    return Binary("add", left, right)


def next_to(cursor: Local) -> Assign:
    return Assign(cursor, plus(cursor, integer(1)))


def kernel(
    inputs: list[Buffer],
    outputs: list[tuple[Allocation, Expression]],
    body: list[Statement],
    failures: tuple[Failure, ...] = (),
) -> Kernel:
    """A kernel over the scalar n; each allocation comes with its size."""
    bound = [Store(SIZES, integer(allocation.slot), size) for allocation, size in outputs]
    allocated = [allocation.buffer for allocation, _ in outputs]
    made = Kernel(
        Procedure("bound", (N,), (*inputs, SIZES), tuple(bound)),
        Procedure("compute", (N,), (*inputs, *allocated, LENGTHS), tuple(body)),
        tuple(allocation for allocation, _ in outputs),
        failures,
    )
    verify(made)
    return made


def every_backend(made: Kernel) -> dict[str, Run]:
    runs: dict[str, Run] = {
        "interpret": lambda scalars, inputs: interpret.run(made, scalars, inputs)[0],
    }
    return runs | {backend: load(RENDER[backend](made), made, backend) for backend in BACKENDS}


def check(made: Kernel, scalars: Mapping[str, Scalar], inputs: dict[str, Array], expected: dict[str, Any]):
    for backend, run in every_backend(made).items():
        outputs = run(scalars, inputs)
        assert sorted(outputs) == sorted(expected), backend
        for name, array in outputs.items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-6, err_msg=f"{backend} {name}")
