"""The abstract syntax of SDQLite. Spans take no part in equality: equal programs compare equal.

    expression ::= name | literal | sum(generators) e | monoid(generators) e | count(generators)
                 | { keys -> e } | {} | e(arguments) | e:e | _ | let x = e in e
                 | if (e) then e else e | e op e | op e | merge(<p, q, k> in <e, e>) e | unique(e)
                 | extent(T, n) | stored T
    statement  ::= CREATE TENSOR | CREATE FORMAT | LOAD TENSOR | LOAD ARRAY | LOAD ARRAYS
                 | SAVE | EXPLAIN | INCLUDE | PARAMETER

``Call`` is application in the text's sense: a lookup, a sub-array, or a pointwise function; which of
them is known once names are resolved. ``stored T`` does not occur in text: composition puts it
where a stored tensor was named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from storel.source import Source, Span

NOWHERE = Span(Source("<generated>", ""), 0, 0)
"""The span of what no text says."""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, tensor, array, parameter or size."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    """An ``int`` or ``float`` literal; ``inf`` and ``nan`` too."""

    value: int | float
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted string; only file names and options take one."""

    value: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binder:
    """A name that a generator or ``let`` binds; None for ``_``."""

    name: str | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Generator:
    """``<(i, j), v> in source``: one binder per key, then one for the value."""

    keys: tuple[Binder, ...]
    value: Binder
    source: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Where:
    """``where name in low:high`` after the generators: settles a range that cannot be inferred."""

    name: str
    range: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """``sum(generators where …) body``."""

    generators: tuple[Generator, ...]
    body: Expression
    where: tuple[Where, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comprehension:
    """``min``, ``max``, ``prod``, ``any``, ``all`` or ``count`` over entries; ``count`` has no body."""

    monoid: str
    generators: tuple[Generator, ...]
    body: Expression | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Singleton:
    """``{key -> value}`` or ``{(k1, k2, …) -> value}``: the keys are kept as they are written."""

    keys: tuple[Expression, ...]
    value: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EmptyDictionary:
    """``{}``: the zero of whatever rank is needed."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """``function(argument, …)``: lookup, sub-array (one ``Range`` argument), or pointwise function."""

    function: Expression
    arguments: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Range:
    """``low:high``."""

    low: Expression
    high: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BlankRange:
    """``_`` as a source: a range left to inference."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    """``let name = value in body``."""

    binder: Binder
    value: Expression
    body: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """``if (condition) then positive else negative``; without ``else`` the zero."""

    condition: Expression
    positive: Expression
    negative: Expression | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """``left operator right``; operators as written: ``+ - * / // % == != < <= > >= and or & | ^ << >>``."""

    operator: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``-operand`` or ``not operand``."""

    operator: str
    operand: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Merge:
    """``merge(<p, q, k> in <left, right>) body``."""

    left_position: Binder
    right_position: Binder
    key: Binder
    left: Expression
    right: Expression
    body: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unique:
    """``unique(key)``."""

    key: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Extent:
    """``extent(tensor, dimension)``."""

    tensor: Expression
    dimension: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A stored tensor or a view, by its mapping over ``semiring``: only arrays and sizes are free in it."""

    tensor: str
    mapping: Expression
    semiring: str = "plus_times"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expression: TypeAlias = (
    Name
    | Number
    | Truth
    | Text
    | Sum
    | Comprehension
    | Singleton
    | EmptyDictionary
    | Call
    | Range
    | BlankRange
    | Let
    | If
    | Binary
    | Unary
    | Merge
    | Unique
    | Extent
    | Mapped
)


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


@dataclass(frozen=True, slots=True)
class PartDeclaration:
    """``a: format TAKES condition`` in a composed format."""

    name: str
    format: FormatReference
    condition: Expression | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParameterDeclaration:
    """``width: int = 4``, of a format or of a script (``PARAMETER beta: real = 0.5``)."""

    name: str
    type: TypeAnnotation
    default: Expression | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateTensor:
    """``CREATE TENSOR name [: type] [OVER semiring] [STORED AS format] AS expression``."""

    name: str
    type: TypeAnnotation | None
    semiring: str | None
    format: FormatReference | None
    expression: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateFormat:
    """``CREATE FORMAT name(T: real[m, n]; parameters) USING arrays and parts AS mapping``."""

    name: str
    tensor: str
    type: TypeAnnotation
    parameters: tuple[ParameterDeclaration, ...]
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


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN [ANALYZE] name``."""

    name: str
    analyze: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


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
