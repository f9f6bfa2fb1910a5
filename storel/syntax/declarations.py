"""Declared types against what is found: names in a type bind extents, numbers must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from storel.errors import ExtentError, TypeMismatchError, nearest
from storel.scalars import ScalarType
from storel.semiring import PLUS_TIMES, Scalar, Semiring
from storel.syntax.constants import constant
from storel.syntax.free_names import free_names
from storel.syntax.nodes.declarations import TypeAnnotation
from storel.syntax.nodes.expressions import Expression, If, Name, Number, Singleton, Truth
from storel.syntax.signatures import (
    SCALAR_TYPES,
    ArraySignature,
    Extent,
    ParameterSignature,
    Signature,
    Signatures,
    SizeSignature,
    TensorSignature,
)
from storel.syntax.types import Type


def sizes_of(signatures: Signatures) -> dict[str, Scalar]:
    """Return the values of all sizes."""
    return {
        name: signature.value
        for name, signature in signatures.items()
        if isinstance(signature, SizeSignature)
    }


def declared_extents(
    annotation: TypeAnnotation, found: Sequence[Extent | None], signatures: Signatures
) -> tuple[tuple[Extent, ...], dict[str, int]]:
    """Return the declared extents, now closed, and the values of the names that the type binds.

    ``found`` are the extents that data or inference give, None where neither does. A name that is new
    takes what is found, of several open extents the largest. Raises ``ExtentError``.
    """
    pairs = list(zip(annotation.extents, found, strict=True))
    bound = _bound(pairs, signatures)
    known = {**sizes_of(signatures), **bound}
    extents: list[Extent] = []
    for declared, extent in pairs:
        size = _size(declared, known, signatures)
        if extent is not None and extent.is_closed and extent.size != size:
            raise ExtentError(
                "extents disagree with the declared type",
                expected=f"{size}, as declared",
                found=str(extent.size),
                span=declared.span,
            )
        extents.append(Extent(size))
    return tuple(extents), bound


def _bound(pairs: Sequence[tuple[Expression, Extent | None]], signatures: Signatures) -> dict[str, int]:
    """Return the values of the names that no signature explains."""
    bound: dict[str, Extent] = {}
    for declared, extent in pairs:
        if not isinstance(declared, Name) or declared.name in signatures:
            continue
        if extent is None:
            raise ExtentError(
                f"the extent '{declared.name}' cannot be inferred",
                span=declared.span,
                hint="write a number, or a size that is known",
            )
        before = bound.get(declared.name, extent)
        if before.is_closed and not extent.is_closed:
            continue
        is_first = extent.is_closed and not before.is_closed
        size = extent.size if is_first else max(before.size, extent.size)
        bound[declared.name] = Extent(before.size if before.is_closed else size, extent.is_closed)
    return {name: extent.size for name, extent in bound.items()}


def _size(declared: Expression, known: Mapping[str, Scalar], signatures: Signatures) -> int:
    for name in sorted(free_names(declared) - known.keys()):
        if name in signatures:
            raise ExtentError(
                f"'{name}' is no size",
                expected="numbers, sizes, and parameters that are natural numbers",
                found=_description(signatures[name]),
                span=declared.span,
                hint=_naming(name, signatures[name]),
            )
        raise ExtentError(
            f"the size '{name}' is not known here",
            expected="numbers, sizes, and parameters that are natural numbers",
            span=declared.span,
            hint=nearest(name, known) or "a type further up names it, or PARAMETER does",
        )
    size = constant(declared, known)
    if isinstance(size, float) or size < 0:
        raise ExtentError("an extent is a non-negative integer", found=str(size), span=declared.span)
    return int(size)


def _description(signature: Signature) -> str:
    """Say what is no size: all integers that are parameters are sizes, unless they are negative."""
    match signature:
        case ParameterSignature(ScalarType.INT64):
            return "a negative integer"
        case ParameterSignature(type_):
            return f"a parameter of type {type_.value}"
        case TensorSignature():
            return "a tensor"
        case ArraySignature():
            return "an array"
        case SizeSignature(value):
            return str(value)


def _naming(name: str, signature: Signature) -> str | None:
    """Return how what is no size gives one: a type names the extents that a tensor or an array has."""
    match signature:
        case TensorSignature(type_, extents) if extents:
            names = ", ".join(f"n{axis}" for axis in range(len(extents)))
            return f"its extents get names by a type: CREATE TENSOR sized: {type_.value}[{names}] AS {name}"
        case ArraySignature(type_):
            return f"its length gets a name by a type: LOAD ARRAY {name}: {type_.value}[n]"
        case TensorSignature() | ParameterSignature() | SizeSignature():
            return None


def declared_type(annotation: TypeAnnotation, kind: Type, ring: Semiring = PLUS_TIMES) -> ScalarType:
    """Return the scalar type of a value of type ``kind`` over ``ring`` under a declared type; it may widen.

    ``real`` and ``int`` stand for every width. No type is shorter than what it is declared for: float32 holds
    int32, and rounds as float64 does of int64, but not int64. Raises ``TypeMismatchError``.
    """
    rank = len(annotation.extents)
    if not kind.is_zero and kind.rank != rank:
        declared = Type(SCALAR_TYPES[annotation.scalar], rank)
        raise TypeMismatchError(
            "ranks do not fit", expected=f"{declared}, as declared", found=str(kind), span=annotation.span
        )
    scalar = SCALAR_TYPES[annotation.scalar]
    if annotation.scalar == "real" and kind.scalar.is_real:
        return kind.scalar
    if annotation.scalar == "int" and kind.scalar.is_integer:
        return kind.scalar
    if scalar.join(kind.scalar) is not scalar or scalar.itemsize < kind.scalar.itemsize:
        raise TypeMismatchError(
            "scalar types do not fit",
            expected=f"{annotation.scalar}, as declared",
            found=kind.scalar.value,
            span=annotation.span,
            hint=f"over {ring.name} what is missing is {ring.zero}, which is no integer"
            if isinstance(ring.zero, float)
            else None,
        )
    return scalar


def require_default(annotation: TypeAnnotation, kind: Type) -> None:
    """Raise ``TypeMismatchError`` if a parameter of a declared type cannot have a default of type ``kind``.

    The number of a default is known, so it may be made shorter: binding it tells whether it stays the same.
    """
    scalar = {"int32": "int", "float32": "real"}.get(annotation.scalar, annotation.scalar)
    declared_type(replace(annotation, scalar=scalar), kind)


def typed_zero(scalar: ScalarType, rank: int) -> Expression:
    """Return the zero of a type: one that says its rank and what it holds, which ``{}`` does not."""
    entry: Expression = Truth(True)
    if scalar is not ScalarType.BOOL:
        entry = Number(1.0 if scalar.is_real else 1)
    if rank > 0:
        entry = Singleton((Number(0),) * rank, entry)
    return If(Truth(False), entry, None)
