"""The abstract syntax of scripts.

statement  ::= CREATE TENSOR | CREATE FORMAT | LOAD TENSOR | LOAD ARRAY | LOAD ARRAYS
             | SAVE | EXPLAIN | INCLUDE | PARAMETER
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from storel.source import NOWHERE, Source, Span
from storel.syntax.nodes.declarations import (
    ArrayDeclaration,
    FormatReference,
    ParameterDeclaration,
    PartDeclaration,
    TypeAnnotation,
)
from storel.syntax.nodes.expressions import Expression


@dataclass(frozen=True, slots=True)
class CreateTensor:
    """``CREATE TENSOR name [: type] [OVER semiring] [STORED AS format] AS expression``."""

    name: str
    type: TypeAnnotation | None
    semiring: str | None
    format: FormatReference | None
    expression: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    semiring_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateFormat:
    """``CREATE FORMAT name(T: type; parameters) WHERE requirements USING arrays and parts AS mapping``."""

    name: str
    tensor: str
    type: TypeAnnotation
    parameters: tuple[ParameterDeclaration, ...]
    requirements: tuple[Expression, ...]
    arrays: tuple[ArrayDeclaration, ...]
    parts: tuple[PartDeclaration, ...]
    mapping: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LoadTensor:
    """``LOAD TENSOR name [: type] [OVER semiring] FROM 'file' [STORED AS format]``."""

    name: str
    type: TypeAnnotation | None
    semiring: str | None
    path: str
    format: FormatReference | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    semiring_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LoadArray:
    """``LOAD ARRAY x: int[n] INCREASING FROM 'x.npy'``."""

    array: ArrayDeclaration
    path: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LoadArrays:
    """``LOAD ARRAYS FROM 'c.npz'``: the keys are the names."""

    path: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Save:
    """``SAVE name TO 'file'``."""

    name: str
    path: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    path_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN [ANALYZE] name``."""

    name: str
    analyze: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Include:
    """``INCLUDE 'file.sdql'``."""

    path: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parameter:
    """``PARAMETER beta: real = 0.5``."""

    declaration: ParameterDeclaration
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Statement: TypeAlias = (
    CreateTensor | CreateFormat | LoadTensor | LoadArray | LoadArrays | Save | Explain | Include | Parameter
)


@dataclass(frozen=True, slots=True)
class Script:
    """The statements of a file, in order."""

    statements: tuple[Statement, ...]
    source: Source = field(compare=False, repr=False)
