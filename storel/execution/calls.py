"""Calls of a compiled program with other data that satisfies all that its kernel relies on.

What a call must know of an operand depends on the operand alone: whether the kernel is right for it, and
where its arrays are. Tensors do not change, so both are found once and kept as long as the tensor lives; a
tensor that is converted first is converted once (``Tensor.converted``). A ``Call`` refers to no data by
itself. It takes few steps: behind a kernel that emptied the caches, each step of the interpreter takes three
times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from storel.arrays import Array
from storel.compilation.compiled import Compilation
from storel.compilation.environment import (
    Environment,
    ParameterFact,
    parameter_fact,
    scalar_as_declared,
    type_of,
)
from storel.compilation.results import Collector
from storel.errors import EvaluationError, TypeMismatchError
from storel.execution.loading import as_tensor
from storel.execution.places import show_place
from storel.execution.run import require_numbers, sizes_of
from storel.runtime.kernel import Input, located
from storel.runtime.listening import run_interruptibly
from storel.runtime.program import Program
from storel.scalars import ScalarType
from storel.semiring import Scalar
from storel.storage.compose import operand_of
from storel.storage.facts import ArrayForm, Likeness, likeness
from storel.storage.formats.format import Format
from storel.storage.formats.known import Formats
from storel.storage.tensor import Tensor
from storel.syntax.analyze import Definition
from storel.syntax.nodes.expressions import Expression

Value: TypeAlias = Tensor | Scalar
Inputs: TypeAlias = dict[str, Input]
"""What a kernel reads of an operand: its arrays, by the names that they have in the kernel."""


def as_value(given: Any, formats: Formats) -> Value:
    """Return what a caller binds to a name: a number as it is, all else as a tensor.

    Raises StorelError for what is neither.
    """
    if isinstance(given, Tensor):
        return given
    number = given.item() if isinstance(given, np.generic) else given
    if not isinstance(number, bool | int | float):
        return as_tensor(number, formats)
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
        raise TypeMismatchError(
            "a number does not fit into int64", found=f"{number.bit_length()} bits", hint="give a float"
        )
    return number


class Converted(NamedTuple):
    """What a kernel reads in place of an operand, or of some uses: its format, and what that is like."""

    storage: Format
    read: Likeness


@dataclass(frozen=True, eq=False)
class Operand:
    """What a kernel was compiled for: tensors like ``own``, which are read as they are, or ``converted``.

    In none of the arrays ``nonzero``, named as in the kernel, is an element zero. Arrays of this ``form`` are
    read as they lie, without making a tensor of them; it is None where the tensor has to be inspected or
    converted.
    """

    name: str
    own: Likeness
    converted: Mapping[str, Converted]
    form: ArrayForm | None
    nonzero: frozenset[str]
    _inputs: WeakKeyDictionary[Tensor, Inputs] = field(
        default_factory=WeakKeyDictionary[Tensor, Inputs], repr=False
    )

    def inputs(self, tensor: Tensor, definition: Definition, unsigned: Mapping[str, str]) -> Inputs | None:
        """Return the arrays that the kernel reads of a tensor; None if it is not right for it.

        Raises DataError if ``tensor`` is ``unsigned`` and holds numbers that its semiring has no place for.
        """
        known = self._inputs.get(tensor)
        if known is not None:
            return known
        if self.own.is_declared or likeness(tensor) != self.own:
            return None
        stored = {self.name: tensor}
        for name, (storage, read) in self.converted.items():
            stored[name] = tensor.converted(storage)
            if likeness(stored[name]) != read:
                return None
        require_numbers(definition, unsigned, {self.name: tensor})
        found = located(
            {f"{name}_{array}": each for name, made in stored.items() for array, each in made.arrays.items()}
        )
        relied = [found[name].array for name in self.nonzero if name in found]
        if any(np.count_nonzero(array) < array.size for array in relied):
            return None
        self._inputs[tensor] = found
        return found

    def inputs_of_array(self, array: Array) -> Inputs | None:
        """Return what the kernel reads of an array; None if a tensor must be made of it."""
        values = None if self.form is None else self.form.values_of(array)
        if self.form is None or values is None:
            return None
        return {f"{self.name}_{self.form.values.name}": Input.of(values)}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how the operand is pickled: the tensors that were met stay behind."""
        return Operand, (self.name, self.own, self.converted, self.form, self.nonzero)


@dataclass(frozen=True)
class Call:
    """A compiled program with one result, without the data that it was compiled for.

    ``expression`` is what it was compiled from. ``defaults`` are the scalars that a call may leave out,
    ``facts`` what the plan relies on about each, ``declared`` the types that the program says of some,
    ``fixed`` the sizes that were given as scalars, ``nonzero`` what must not be zero, ``unsigned`` the
    operands without negative numbers. A call that ``is_long`` can be interrupted.
    """

    program: Program
    definition: Definition
    expression: Expression
    collector: Collector
    operands: Mapping[str, Operand]
    sizes: Mapping[str, int]
    defaults: Mapping[str, Scalar]
    facts: Mapping[str, ParameterFact]
    declared: Mapping[str, str]
    fixed: Mapping[str, int]
    nonzero: frozenset[str]
    memory_limit: int | None
    unsigned: Mapping[str, str]
    is_long: bool

    @staticmethod
    def of(compilation: Compilation, environment: Environment, memory_limit: int | None) -> Call:
        """Return calls with data like that of ``environment``, which the definition was compiled for."""
        converted: dict[str, dict[str, Converted]] = {name: {} for name in environment.tensors}
        for name, tensor in compilation.converted.items():
            converted[operand_of(name)][name] = Converted(tensor.storage, likeness(tensor))
        unsigned, reliance = compilation.composed.unsigned, compilation.reliance
        operands: dict[str, Operand] = {}
        for name, tensor in environment.tensors.items():
            form = None if converted[name] or name in unsigned else ArrayForm.of(tensor)
            if form is not None and not reliance.is_on_numbers(f"{name}_{form.values.name}"):
                form = replace(form, promises=None)
            operands[name] = Operand(name, likeness(tensor), converted[name], form, reliance.nonzero)
        return Call(
            program=compilation.program,
            definition=compilation.definition,
            expression=compilation.composed.expression,
            collector=compilation.collector,
            operands=operands,
            sizes=sizes_of(compilation),
            defaults=dict(environment.parameters),
            facts=environment.parameter_facts(),
            declared=dict(environment.declared),
            fixed=dict(environment.fixed),
            nonzero=reliance.nonzero,
            memory_limit=memory_limit,
            unsigned=unsigned,
            is_long=compilation.is_long,
        )

    def inputs_of_array(self, name: str, array: Array) -> Inputs | None:
        """Return what the kernel reads of an array; None if a tensor must be made of it."""
        operand = self.operands.get(name)
        return None if operand is None else operand.inputs_of_array(array)

    def __call__(self, values: Mapping[str, Value | Inputs]) -> Tensor | None:
        """Return the result; None if the kernel is not right for ``values``.

        They are tensors, what the kernel reads of arrays, and numbers, by name.

        Raises EvaluationError where the program fails, MemoryLimitError where the result does not fit.
        """
        inputs: Inputs = {}
        scalars: dict[str, Scalar] = {**self.sizes, **self.defaults}
        missing = len(self.operands)
        for name, value in values.items():
            if isinstance(value, dict):
                inputs |= value
                missing -= 1
                continue
            if not isinstance(value, Tensor) or (name in self.declared and value.rank == 0):
                scalar = self._scalar(name, value.item() if isinstance(value, Tensor) else value)
                if scalar is None:
                    return None
                scalars[name] = scalar
                continue
            operand = self.operands.get(name)
            found = None if operand is None else operand.inputs(value, self.definition, self.unsigned)
            if found is None:
                return None
            inputs |= found
            missing -= 1
        if missing:
            return None
        run = partial(self.program.compiled.run, scalars, inputs, self.memory_limit)
        try:
            outputs = run_interruptibly(run) if self.is_long else run()
        except EvaluationError as error:
            show_place(error, self.expression, self.operands)
            raise
        return self.collector(outputs)

    def _scalar(self, name: str, value: Scalar) -> Scalar | None:
        """Return a number as the kernel takes it; None if the kernel is not right for it."""
        declared = self.declared.get(name)
        scalar = scalar_as_declared(value, declared)
        if scalar is None:
            return None
        if name in self.fixed and type_of(scalar) is ScalarType.INT64:
            return scalar if scalar == self.fixed[name] else None
        if name in self.nonzero and scalar == 0:
            return None
        return scalar if self.facts.get(name) == parameter_fact(scalar, declared) else None


@dataclass(frozen=True)
class Calls:
    """A program of one kernel or several, each of which reads what those before it have made.

    ``results`` are the names of what is returned.
    """

    kernels: tuple[Call, ...]
    results: tuple[str, ...]

    def inputs_of_array(self, name: str, array: Array) -> Inputs | None:
        """Return what the kernel reads of an array; None if a tensor must be made of it."""
        return self.kernels[0].inputs_of_array(name, array) if len(self.kernels) == 1 else None

    def __call__(self, values: Mapping[str, Value | Inputs]) -> Tensor | dict[str, Tensor] | None:
        """Return the result, or all of them by name; None if a kernel is not right for its operands."""
        made: dict[str, Tensor] = {}
        for kernel in self.kernels:
            tensor = kernel({**values, **made} if made else values)
            if tensor is None:
                return None
            made[kernel.definition.name] = tensor
        results = {name: made[name] for name in self.results}
        return next(iter(results.values())) if len(results) == 1 else results
