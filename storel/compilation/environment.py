"""The data of a program: stored tensors, raw arrays with what is known of them, and scalars."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from storel.arrays import Array
from storel.errors import DataError, TypeMismatchError, UnknownNameError
from storel.scalars import ScalarType
from storel.semiring import Scalar
from storel.source import Span
from storel.storage.blocks import count_runs, is_all_finite, is_ascending, is_increasing
from storel.storage.build import as_values
from storel.storage.facts import symbols_of, with_degrees
from storel.storage.formats.known import Formats
from storel.storage.formats.properties import verify_array
from storel.storage.tensor import Tensor
from storel.symbols import ArraySymbol, Fact, ParameterSymbol, SizeSymbol
from storel.syntax.constants import constant
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    DistinctElements,
    Increasing,
    ParameterDeclaration,
)
from storel.syntax.nodes.expressions import Name
from storel.syntax.signatures import (
    ArraySignature,
    Extent,
    ParameterSignature,
    Signature,
    SizeSignature,
    TensorSignature,
)


class ParameterFact(NamedTuple):
    """What a plan may rely on about a scalar whose value it does not know."""

    type: ScalarType
    is_finite: bool


@dataclass
class Environment:
    """What names stand for while a program is compiled and run.

    ``sizes`` are names that declarations of raw arrays bind, ``declared`` the types of parameters that the
    program says: real, int or bool. ``fixed`` are numbers that were given and are sizes.
    """

    formats: Formats = field(default_factory=Formats)
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    array_symbols: dict[str, ArraySymbol] = field(default_factory=dict[str, ArraySymbol])
    parameters: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    sizes: dict[str, int] = field(default_factory=dict[str, int])
    declared: dict[str, str] = field(default_factory=dict[str, str])
    fixed: dict[str, int] = field(default_factory=dict[str, int])

    def __contains__(self, name: str) -> bool:
        return any(name in held for held in (self.tensors, self.arrays, self.parameters, self.sizes))

    @property
    def types(self) -> set[ScalarType]:
        """The types of the elements of all tensors and arrays."""
        return {each.type for each in (*self.tensors.values(), *self.array_symbols.values())}

    def add_tensor(self, name: str, tensor: Tensor, span: Span | None = None) -> None:
        """Bind a tensor; its arrays are visible under ``name_array``."""
        self._require_new(name, span)
        self.tensors[name] = tensor

    def add_parameter(self, name: str, value: Scalar, span: Span | None = None) -> None:
        """Bind a scalar that is only known when the program runs."""
        self._require_new(name, span)
        self.parameters[name] = value

    def bind_parameter(self, declaration: ParameterDeclaration, span: Span) -> None:
        """Give a parameter its type, and its default unless the caller gave it a value."""
        name = declaration.name
        self.take_as_number(name, span)
        if name not in self.parameters or name in self.declared:
            if declaration.default is None:
                raise UnknownNameError(
                    f"parameter '{name}' has no value",
                    span=span,
                    hint=f"give one: -b {name}=NUMBER, from Python {name}=…",
                )
            self.add_parameter(name, constant(declaration.default), span)
        self.declare_parameter(name, declaration.type.scalar, span)

    def declare_parameter(self, name: str, scalar: str, span: Span | None = None) -> None:
        """Convert the value of a parameter to its type; raises TypeMismatchError where that changes it."""
        value = self.parameters[name]
        converted = scalar_as_declared(value, scalar)
        if converted is None:
            raise TypeMismatchError(
                f"parameter '{name}' has a value of another type",
                expected=scalar,
                found=f"{str(value).lower() if isinstance(value, bool) else value}",
                span=span,
            )
        self.parameters[name] = converted
        self.declared[name] = scalar

    def take_as_number(self, name: str, span: Span | None = None) -> None:
        """Let a tensor without dimensions be a parameter; raises TypeMismatchError for any other tensor."""
        given = self.tensors.get(name)
        if given is None:
            return
        if given.rank > 0:
            raise TypeMismatchError(
                f"parameter '{name}' is a tensor",
                expected="a number",
                found=f"shape {given.shape}",
                span=span,
                hint="the number in it is its .item()" if math.prod(given.shape) == 1 else None,
            )
        self.parameters[name] = self.tensors.pop(name).item()

    def take_as_size(self, name: str) -> None:
        """Let a parameter be known when compiling if it is one, and can be a size."""
        value = self.parameters.get(name)
        if value is not None and _can_be_size(value) and name not in self.sizes:
            self.sizes[name] = self.fixed[name] = int(self.parameters.pop(name))

    def add_array(
        self, name: str, array: Array, declaration: ArrayDeclaration | None = None, span: Span | None = None
    ) -> None:
        """Bind a raw array after its declared properties are verified; one without dimensions is a scalar.

        The bounds and the order of this very array are measured, whatever is declared of them.
        """
        array = as_values(array, f"array {name}")
        if array.ndim == 0:
            self._add_scalar(name, array.item(), span)
            return
        if array.ndim > 1:
            raise TypeMismatchError(
                f"array {name} has {array.ndim} dimensions",
                expected="one dimension, as arrays that formats are made of have",
                found=f"shape {array.shape}",
                span=span,
                hint="load it as a TENSOR, or flatten it first",
            )
        self._require_new(name, span)
        self.arrays[name] = np.ascontiguousarray(array)
        measured = self.array_symbols[name] = measured_symbol(name, self.arrays[name])
        if declaration is None:
            return
        for length in declaration.type.extents:
            if isinstance(length, Name):
                self.sizes.setdefault(length.name, len(array))
        verify_array(declaration, self.arrays, self.sizes)
        properties = declaration.properties
        within = next((each.within for each in properties if isinstance(each, Increasing)), None)
        unique = measured.unique or DistinctElements() in properties
        self.array_symbols[name] = replace(measured, within=within, unique=unique)

    def _add_scalar(self, name: str, value: Scalar, span: Span | None) -> None:
        """Bind a number that came with raw arrays: one that can be a size is known when compiling."""
        if _can_be_size(value):
            self._require_new(name, span)
            self.sizes[name] = int(value)
        else:
            self.add_parameter(name, value, span)

    def signatures(self) -> dict[str, Signature]:
        """Return what the analysis of a program has to know about each name."""
        found: dict[str, Signature] = {}
        for name, tensor in self.tensors.items():
            extents = tuple(Extent(size, tensor.is_closed) for size in tensor.shape)
            found[name] = TensorSignature(tensor.type, extents, tensor.semiring)
            for array, fact in symbols_of(tensor, name).items():
                if isinstance(fact, ArraySymbol):
                    found[array] = _array_signature(fact)
        found.update({name: _array_signature(fact) for name, fact in self.array_symbols.items()})
        found.update({name: ParameterSignature(self._parameter_fact(name).type) for name in self.parameters})
        found.update({name: SizeSignature(value) for name, value in self.sizes.items() if name not in found})
        return found

    def facts(self) -> dict[str, Fact]:
        """Return what the compiler knows about the names that are no tensors."""
        found: dict[str, Fact] = dict(self.array_symbols)
        for name, value in self.parameters.items():
            found[name] = ParameterSymbol(name, *self._parameter_fact(name), nonzero=value != 0)
        for name, value in self.sizes.items():
            found.setdefault(name, SizeSymbol(name, value))
        return found

    def physical_arrays(self) -> dict[str, Array]:
        """Return every array under the name that terms give it.

        Raises DataError if a tensor is declared by its statistics only.
        """
        for name, tensor in self.tensors.items():
            if tensor.declared is not None:
                raise DataError(
                    f"{name} is declared by its statistics and has no data",
                    hint="programs can be explained for it; bind the data itself to run them",
                )
        stored = {
            f"{name}_{array}": values
            for name, tensor in self.tensors.items()
            for array, values in tensor.arrays.items()
        }
        return stored | self.arrays

    def parameter_facts(self) -> dict[str, ParameterFact]:
        """Return what a plan may rely on about each scalar."""
        return {name: self._parameter_fact(name) for name in self.parameters}

    def _parameter_fact(self, name: str) -> ParameterFact:
        return parameter_fact(self.parameters[name], self.declared.get(name))

    def _require_new(self, name: str, span: Span | None) -> None:
        if name in self:
            hint = "it was given, or comes from an earlier statement: leave out one"
            if span is None:
                hint = "two of -b and --stats name it: leave out one"
            raise UnknownNameError(f"'{name}' is defined twice", span=span, hint=hint)


def _can_be_size(value: Scalar) -> bool:
    return type_of(value) is ScalarType.INT64 and value >= 0


def parameter_fact(value: Scalar, scalar: str | None) -> ParameterFact:
    """Return what a plan may rely on about a scalar of the declared type, if there is one."""
    is_measured = scalar in (None, "real", "int")
    return ParameterFact(type_of(value) if is_measured else ScalarType(scalar), math.isfinite(value))


def scalar_as_declared(value: Scalar, scalar: str | None) -> Scalar | None:
    """Return a scalar as one of the declared type, None if it is none; without one it is as it is.

    >>> scalar_as_declared(2, "real"), scalar_as_declared(2.0, "int"), scalar_as_declared(2.5, "int")
    (2.0, 2, None)
    >>> scalar_as_declared(0.5, "float32"), scalar_as_declared(2**31, "int32")
    (0.5, None)
    >>> scalar_as_declared(True, "int")
    """
    match scalar:
        case None:
            return value
        case "real" | "float64":
            return float(value)
        case "float32":
            with np.errstate(over="ignore"):
                nearest = float(np.float32(value))
            return nearest if math.isfinite(nearest) or not math.isfinite(value) else None
        case "int" | "int32" | "int64" if math.isfinite(value) and not isinstance(value, bool):
            number, type_ = int(value), ScalarType.INT32 if scalar == "int32" else ScalarType.INT64
            return number if number == value and type_.first <= number <= type_.last else None
        case "bool" if value in (False, True):
            return bool(value)
        case _:
            return None


def type_of(value: Scalar) -> ScalarType:
    """Return the type of a Python scalar."""
    if isinstance(value, bool):
        return ScalarType.BOOL
    return ScalarType.INT64 if isinstance(value, int) else ScalarType.FLOAT64


def measured_symbol(name: str, array: Array) -> ArraySymbol:
    """Return the facts about a raw array that are found by looking at it."""
    scalar_type = ScalarType.of(array.dtype)
    assert scalar_type is not None
    if not scalar_type.is_integer:
        is_real = scalar_type.is_real
        finite = not is_real or is_all_finite(array)
        nonzeros = int(np.count_nonzero(array))
        nonzero = nonzeros == len(array)
        return ArraySymbol(name, scalar_type, len(array), nonzeros=nonzeros, nonzero=nonzero, finite=finite)
    if len(array) == 0:
        return ArraySymbol(name, scalar_type, 0, finite=True)
    ascending, increasing = is_ascending(array), is_increasing(array)
    symbol = ArraySymbol(
        name,
        scalar_type,
        len(array),
        low=int(array.min()),
        high=int(array.max()),
        ascending=ascending,
        increasing=increasing,
        unique=increasing,
        first=int(array[0]),
        last=int(array[-1]),
        distinct=count_runs(array) if ascending else None,
        finite=True,
    )
    return with_degrees(symbol, array)


def _array_signature(fact: ArraySymbol) -> ArraySignature:
    return ArraySignature(fact.type, fact.length, fact.low, fact.high)
