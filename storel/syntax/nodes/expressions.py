"""The abstract syntax of expressions.

    expression ::= name | literal | sum(generators) e | monoid(generators) e | count(generators)
                 | { keys -> e } | {} | e(arguments) | e:e | _ | let x = e in e
                 | if (e) then e else e | e op e | op e | merge(<p, q, k> in <e, e>) e | unique(e)
                 | extent(T, n) | rank(e WITHIN e, …) | count(WITHIN e, …) | stored T

``Call`` is application in the text's sense: a lookup, a sub-array, or a pointwise function; which of
them is known once names are resolved. ``WITHIN`` is only for the entries that a part of a composed format
takes. ``stored T`` does not occur in text: composition puts it
where a stored tensor was named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from storel.source import NOWHERE, Span


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
    """``let name = value in body``; a value that ``is_index`` is ordinary arithmetic over any semiring."""

    binder: Binder
    value: Expression
    body: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    is_index: bool = False


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
    """A stored tensor or a view, by its mapping over ``semiring``: only arrays and sizes are free in it.

    Where it is known that its keys are natural, also those of zeros, nothing has to check them.
    """

    tensor: str
    mapping: Expression
    semiring: str = "plus_times"
    has_natural_keys: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Window:
    """``rank(e WITHIN k, …)``: how many distinct lesser ``e`` there are among the entries with equal ``k``.

    ``count(WITHIN k, …)``, with ``ordered`` None, is how many entries these are.
    """

    function: str
    ordered: Expression | None
    within: tuple[Expression, ...]
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
    | Window
    | Mapped
)
