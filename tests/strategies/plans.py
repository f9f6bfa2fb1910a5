"""Plans by hand and plans of programs, with their data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from storel.calculus.nodes import Add, Literal, Lookup, Symbol, Term, Variable
from storel.compilation.compiled import Compilation
from storel.compilation.compiler import Options, compile_as_stored
from storel.compilation.environment import Environment
from storel.execution.script import Runner
from storel.plan.nodes import Elements, Positions, ScalarStore
from storel.scalars import ScalarType
from storel.source import Source
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, ParameterSymbol, SizeSymbol, Symbols

ADD = ScalarStore(ScalarType.FLOAT64, "add", 0)


def number(value: int) -> Literal:
    return Literal(value, ScalarType.INT64)


def real(value: float) -> Literal:
    return Literal(value, ScalarType.FLOAT64)


def var(index: int) -> Variable:
    return Variable(index)


def read(array: str, position: Term) -> Lookup:
    return Lookup(Symbol(array), position)


def upto(size: str) -> Positions:
    return Positions(number(0), Symbol(size))


def row(row: Term, tensor: str = "A") -> Elements:
    """The segment of a matrix in CSR."""
    low, high = read(f"{tensor}_pos", row), read(f"{tensor}_pos", Add(row, number(1)))
    return Elements(f"{tensor}_idx", low, high)


def csr_symbols(tensor: str = "A", rows: int = 3, columns: int = 4, entries: int = 4) -> Symbols:
    """Facts about a matrix in CSR, a COO of as many entries, and vectors ``x`` and ``beta``."""
    facts = [
        SizeSymbol("m", rows),
        SizeSymbol("n", columns),
        SizeSymbol("nnz", entries),
        ArraySymbol(f"{tensor}_pos", ScalarType.INT64, rows + 1, low=0, high=entries, ascending=True),
        ArraySymbol(
            f"{tensor}_idx", ScalarType.INT32, entries, low=0, high=columns - 1, within=f"{tensor}_pos"
        ),
        ArraySymbol(f"{tensor}_val", ScalarType.FLOAT64, entries, finite=True),
        ArraySymbol("x", ScalarType.FLOAT64, columns, finite=True),
        ParameterSymbol("beta", ScalarType.FLOAT64),
    ]
    return {fact.name: fact for fact in facts}


@dataclass(frozen=True)
class Planned:
    """The way of a program to its plan, and the data that the plan reads."""

    compilation: Compilation
    values: Mapping[str, Any]
    environment: Environment


def planned(text: str, **inputs: Tensor | float) -> Planned:
    """Compile a program of one tensor without running it, every stage verified."""
    return _planned(Runner(_environment(inputs), Options(verifies=True), runs=False), text)


def normalized(text: str, **inputs: Tensor | float) -> Planned:
    """Compile a program for its operands as they are stored, in the order of its sums."""
    options = Options(floating_point="strict", verifies=True)
    return _planned(Runner(_environment(inputs), options, runs=False, compiler=compile_as_stored), text)


def _environment(inputs: Mapping[str, Tensor | float]) -> Environment:
    environment = Environment()
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            environment.add_tensor(name, value)
        else:
            environment.add_parameter(name, value)
    return environment


def _planned(runner: Runner, text: str) -> Planned:
    environment = runner.environment
    compilation = list(runner.run(Source("test", text)).compilations.values())[-1]
    environment.tensors |= compilation.converted
    return Planned(compilation, {**environment.physical_arrays(), **environment.parameters}, environment)


def close(left: Any, right: Any) -> bool:
    """Return whether two values of the calculus are equal up to rounding."""
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12) or (left != left and right != right)
