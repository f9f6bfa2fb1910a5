"""A compiled definition, run: by machine code, by the loop IR's interpreter, or by the reference."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from storel.compilation.compiled import Compilation
from storel.compilation.environment import Environment
from storel.compilation.results import sparse_format
from storel.errors import (
    DataError,
    EvaluationError,
    FormatError,
    MemoryLimitError,
    ProgramSyntaxError,
    placed_at,
)
from storel.execution.places import show_place
from storel.host import memory
from storel.loops import interpret as loop_interpreter
from storel.loops.interpret import Work
from storel.loops.python_source import sorting_steps
from storel.plan.nodes import Coordinates
from storel.runtime.listening import run_interruptibly
from storel.semiring import PLUS_TIMES, SEMIRINGS, Scalar
from storel.storage.build import from_coordinates
from storel.storage.compose import unsigned_names
from storel.storage.coordinates import is_sorted
from storel.storage.formats.format import Format
from storel.storage.tensor import Tensor
from storel.symbols import SizeSymbol
from storel.syntax.analyze import Definition
from storel.syntax.interpret import evaluate_definition
from storel.syntax.nodes.declarations import FormatReference


@contextmanager
def followed(definition: Definition, reference: FormatReference | None) -> Generator[None]:
    """Raise ProgramSyntaxError where a definition is nested too deeply for what follows it by recursion.

    The parser limits how deep a text is, but what is written side by side may be nested, too: each source
    of a sum is a loop around the next one, each key of a tuple a dictionary in the one before. A result that
    does not fit the format of ``reference`` shows that, and MemoryLimitError is raised where the system
    has no room for it: that may be less than what was free before.
    """
    place = definition.expression.span if reference is None else reference.span
    try:
        with placed_at(place, FormatError):
            yield
    except RecursionError:
        raise ProgramSyntaxError(
            f"{definition.name} has too many loops or keys inside each other",
            span=definition.expression.span,
            hint="name parts of it with CREATE TENSOR",
        ) from None
    except MemoryError as error:
        raise MemoryLimitError(
            "the system has not enough memory",
            found=f"too little to compute {definition.name}",
            span=place,
            hint="store the result in a sparse format, or ask for a smaller one",
        ) from error


def execute(compilation: Compilation, environment: Environment, memory_limit: int | None = None) -> Tensor:
    """Run the kernel on the environment's data.

    Raises EvaluationError where the program fails, MemoryLimitError where the result does not fit.
    """
    scalars, arrays = arguments(compilation, environment)
    run = partial(compilation.compiled, scalars, arrays, memory_limit)
    try:
        outputs = run_interruptibly(run) if compilation.is_long else run()
    except EvaluationError as error:
        show_place(error, compilation.composed.expression, environment.tensors)
        raise
    return compilation.collector(outputs)


def measure(
    compilation: Compilation, environment: Environment, memory_limit: int | None = None
) -> tuple[Tensor, Work]:
    """Run the plan in the loop IR's interpreter; return the result and the work counted.

    Entries that are listed must be put in order afterwards, which counts as work of the workspace.
    """
    scalars, arrays = arguments(compilation, environment)
    limit = memory.available() if memory_limit is None else memory_limit
    try:
        outputs, work = loop_interpreter.run(compilation.kernel, scalars, arrays, limit)
    except EvaluationError as error:
        show_place(error, compilation.composed.expression, environment.tensors)
        raise
    destination = compilation.plan.destination
    tensor = compilation.collector(outputs)
    if isinstance(destination, Coordinates):
        work += Work(workspace=ordering_steps(outputs, compilation.definition.rank))
    return tensor, work


def ordering_steps(outputs: Mapping[str, Any], rank: int) -> int:
    """Return how many comparisons put n listed entries in order: n, or n log n where they are not yet.

    That is what a sort by comparison takes; packing puts many of them in buckets instead, which moves each
    entry ``rank`` times.
    """
    keys = np.stack([outputs[f"result.coordinate_{number}"] for number in range(rank)])
    return keys.shape[1] if is_sorted(keys, strictly=False) else sorting_steps(keys.shape[1])


def total_work(parts: list[Work]) -> Work:
    """Add up what several kernels did."""
    return Work(*(sum(getattr(part, each.name) for part in parts) for each in fields(Work)))


def arguments(compilation: Compilation, environment: Environment) -> tuple[dict[str, Scalar], dict[str, Any]]:
    """Return the scalar and array arguments of the kernel."""
    require_numbers(compilation.definition, compilation.composed.unsigned, environment.tensors)
    tensors = {**environment.tensors, **compilation.converted}
    stored = replace(environment, tensors=tensors).physical_arrays()
    arrays = {buffer.name: stored[buffer.name] for buffer in compilation.kernel.inputs}
    return {**sizes_of(compilation), **environment.parameters}, arrays


def sizes_of(compilation: Compilation) -> dict[str, int]:
    """Return the kernel's scalar arguments that were known when it was compiled."""
    return {name: fact.value for name, fact in compilation.symbols.items() if isinstance(fact, SizeSymbol)}


def evaluate_reference(
    definition: Definition,
    environment: Environment,
    storage: Format | None,
    memory_limit: int | None = None,
) -> Tensor:
    """Evaluate a definition by the reference interpreter and store what it gives.

    Raises MemoryLimitError where that does not fit.
    """
    unsigned = unsigned_names(definition.expression, definition.semiring)
    require_numbers(definition, unsigned, environment.tensors)
    value = evaluate_definition(definition, {}, reference_values(environment))
    shape = definition.shape
    found = list(_entries(value, len(shape), ()))
    keys = np.array([key for key, _ in found], dtype=np.int64).reshape(len(found), len(shape))
    numbers = np.array([number for _, number in found], dtype=definition.type.dtype)
    if storage is None and shape:
        storage = sparse_format(shape, len(found), environment.formats)
    return from_coordinates(
        keys.T,
        numbers,
        shape,
        environment.formats,
        storage,
        semiring=definition.semiring,
        memory_limit=memory_limit,
    )


def reference_values(environment: Environment) -> dict[str, Any]:
    """Return what the reference interpreter sees of the data: dictionaries, raw arrays, scalars."""
    values: dict[str, Any] = {**environment.parameters, **environment.physical_arrays()}
    for name, tensor in environment.tensors.items():
        coordinates, entries = tensor.to_coo()
        zero = SEMIRINGS[tensor.semiring].zero
        values[name] = _nested(coordinates.T.tolist(), entries.tolist(), tensor.rank, zero)
    return values


def require_numbers(
    definition: Definition, unsigned: Mapping[str, str], tensors: Mapping[str, Tensor]
) -> None:
    """Raise DataError if one of the ``unsigned`` tensors has entries that its semiring has no place for."""
    for name in sorted(unsigned.keys() & tensors.keys()):
        coordinates, values = tensors[name].to_coo()
        is_bad = ~(values >= 0)
        if is_bad.any():
            first = int(np.argmax(is_bad))
            key = ", ".join(map(str, coordinates[:, first]))
            raise DataError(
                f"{name}({key}) is {values[first]}",
                expected=f"numbers from 0: the sums and products of {unsigned[name]} are of no others",
                span=definition.expression.span,
                hint=f"leave it out in a definition over {PLUS_TIMES.name} that this one uses",
            )


def _nested(keys: list[list[int]], entries: list[Scalar], rank: int, zero: Scalar) -> Any:
    if rank == 0:
        return entries[0] if entries else zero
    found: dict[int, Any] = {}
    for key, value in zip(keys, entries, strict=True):
        inner = found
        for each in key[:-1]:
            inner = inner.setdefault(each, {})
        inner[key[-1]] = value
    return found


def _entries(value: Any, rank: int, keys: tuple[int, ...]) -> list[tuple[tuple[int, ...], Any]]:
    if rank == 0:
        return [(keys, value)]
    return [entry for key, inner in value.items() for entry in _entries(inner, rank - 1, (*keys, key))]
