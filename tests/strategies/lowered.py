"""Plans lowered and run both ways, on a small matrix in CSR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from strategies.plans import csr_symbols

from storel.arrays import Array
from storel.calculus.nodes import Symbol, Term
from storel.codegen import c_source
from storel.loops import interpret
from storel.loops.lowering.lower import lower
from storel.loops.passes.simplify import simplify
from storel.loops.verify import verify
from storel.plan.nodes import (
    Action,
    Destination,
    Plan,
)
from storel.plan.phases import Phase
from storel.plan.verify import verify as verify_plan
from storel.runtime.kernel import load
from storel.scalars import ScalarType
from storel.symbols import ArraySymbol, SizeSymbol, Symbols

Outputs = dict[str, list[Any]]

BOOL, INT32, INT64 = ScalarType.BOOL, ScalarType.INT32, ScalarType.INT64
FLOAT32, FLOAT64 = ScalarType.FLOAT32, ScalarType.FLOAT64
M, N = Symbol("m"), Symbol("n")

POS = np.array([0, 2, 2, 4])
IDX = np.array([1, 3, 0, 1], np.int32)
VAL = np.array([1.0, 2.0, 3.0, 4.0])
X = np.array([1.0, 0.0, 3.0, 4.0])
DATA: dict[str, Array] = {"A_pos": POS, "A_idx": IDX, "A_val": VAL, "x": X}
"""The matrix [[0, 1, 0, 2], [], [3, 4, 0, 0]] in CSR, and a vector."""


def array(name: str, data: Array, **facts: Any) -> ArraySymbol:
    low, high = (
        (int(data.min(initial=0)), int(data.max(initial=0))) if data.dtype.kind == "i" else (None,) * 2
    )
    return ArraySymbol(name, ScalarType(data.dtype.name), len(data), low, high, **facts)


def outputs_of(
    destination: Destination,
    action: Action,
    symbols: Symbols,
    data: Mapping[str, Array],
    extents: tuple[Term, ...],
    memory_limit: int | None = None,
    *,
    is_unguarded: bool = True,
) -> Outputs:
    """Return the buffers that both ways to run the kernel of a plan agree on."""
    plan = Plan(destination, action)
    verify_plan(plan, symbols)
    kernel = simplify(lower(Phase(plan), extents, symbols, is_unguarded=is_unguarded))
    verify(kernel)
    scalars = {local.name: _size(symbols, local.name) for local in kernel.compute.scalars}
    inputs = {buffer.name: data[buffer.name] for buffer in kernel.inputs}
    found, _ = interpret.run(kernel, scalars, inputs, memory_limit)
    compiled = _cut(load(c_source.render(kernel), kernel, "c")(scalars, inputs, memory_limit))
    found = _cut(found)
    assert sorted(found) == sorted(compiled)
    for name, buffer in found.items():
        np.testing.assert_array_equal(compiled[name], buffer, err_msg=name)
        assert compiled[name].dtype == buffer.dtype
    return {name.removeprefix("result."): buffer.tolist() for name, buffer in found.items()}


def _cut(buffers: Mapping[str, Array]) -> dict[str, Array]:
    """Cut the positions of a level below one that appends: there is room for more than it has."""
    used = {name[-1]: len(each) + 1 for name, each in buffers.items() if name.startswith("result.idx_")}
    return {
        name: each[: used.get(str(int(name[-1]) - 1))] if name.startswith("result.pos_") else each
        for name, each in buffers.items()
    }


def _size(symbols: Symbols, name: str) -> float:
    fact = symbols[name]
    return fact.value if isinstance(fact, SizeSymbol) else 0.5


def lowered(
    destination: Destination, action: Action, *extents: Term, memory_limit: int | None = None
) -> Outputs:
    return outputs_of(destination, action, csr_symbols(), DATA, extents, memory_limit)
