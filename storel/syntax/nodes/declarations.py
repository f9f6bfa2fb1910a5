"""The abstract syntax of what is declared: types, storage formats, arrays and their properties.

type      ::= scalar | scalar[e, …] | scalar{e, …}
format    ::= name | name(argument, …; keyword=argument, …)
array     ::= name: type property …
property  ::= IN e:e | ASCENDING | INCREASING | INCREASING WITHIN array | INCREASING (array, …)
            | UNIQUE | FROM e TO e | PAD e
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from storel.source import NOWHERE, Span
from storel.syntax.nodes.expressions import Binder, Expression


@dataclass(frozen=True, slots=True)
class TypeAnnotation:
    """``real[m, 4]``: a scalar type's name and one extent per dimension; a ``Name`` binds the extent.

    ``hash`` dimensions ``real{m, n}`` set ``is_hash``. A scalar has no extents.
    """

    scalar: str
    extents: tuple[Expression, ...] = ()
    is_hash: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FormatReference:
    """What may follow ``STORED AS``: ``csr``, ``band(lower=1)``, ``levels(dense, compressed; order=(1,0))``.

    A tuple argument such as ``(1,0)`` is a ``TupleArgument``; a level's name is a ``Name``.
    """

    name: str
    arguments: tuple[FormatArgument, ...] = ()
    keywords: tuple[tuple[str, FormatArgument], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TupleArgument:
    """``(1, 0)`` as an argument of a format."""

    items: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


FormatArgument: TypeAlias = Expression | TupleArgument | FormatReference


@dataclass(frozen=True, slots=True)
class InRange:
    """``IN low:high``: every element, padding excepted, is in the range."""

    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class Ascending:
    """``ASCENDING``: no element is less than the one before it."""


@dataclass(frozen=True, slots=True)
class Increasing:
    """``INCREASING``, or ``INCREASING WITHIN pos``: strictly, in each segment that ``pos`` delimits."""

    within: str | None = None


@dataclass(frozen=True, slots=True)
class IncreasingTuple:
    """``INCREASING (row, col)``: the tuples of these arrays' elements strictly increase."""

    arrays: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DistinctElements:
    """``UNIQUE``: no element occurs twice."""


@dataclass(frozen=True, slots=True)
class FromTo:
    """``FROM first TO last``: the values at both ends."""

    first: Expression
    last: Expression


@dataclass(frozen=True, slots=True)
class Pad:
    """``PAD value``: an element with this value is padding and exempt from the other properties."""

    value: Expression


Property: TypeAlias = InRange | Ascending | Increasing | IncreasingTuple | DistinctElements | FromTo | Pad


@dataclass(frozen=True, slots=True)
class ArrayDeclaration:
    """``idx: int[nnz] IN 0:n INCREASING WITHIN pos`` in a format or after ``LOAD ARRAY``."""

    name: str
    type: TypeAnnotation
    properties: tuple[Property, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def holds_indices(self) -> bool:
        """Whether the elements are keys, positions or sizes."""
        return self.type.scalar.startswith("int")

    @property
    def holds_values(self) -> bool:
        """Whether the elements are of the tensor's type: no indices, and no marks."""
        return not self.holds_indices and self.type.scalar != "bool"


@dataclass(frozen=True, slots=True)
class Taking:
    """``TAKES <(i, j), v> WHERE condition``: the entries that a part of a composed format may hold."""

    keys: tuple[Binder, ...]
    value: Binder
    condition: Expression


@dataclass(frozen=True, slots=True)
class PartDeclaration:
    """``a: format TAKES …`` in a composed format."""

    name: str
    format: FormatReference
    taking: Taking | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """``width: int = 4``, of a format or of a script (``PARAMETER beta: real = 0.5``)."""

    name: str
    type: TypeAnnotation
    default: Expression | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)
