"""Syntax trees to text, with no parenthesis more than the grammar needs: ``parse(render(t)) == t``.

A stored tensor that composition has replaced by its mapping is shown as its mapping.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import IntEnum, auto

from storel.syntax.nodes.declarations import FormatArgument, FormatReference, TupleArgument, TypeAnnotation
from storel.syntax.nodes.expressions import (
    Binary,
    Binder,
    BlankRange,
    Call,
    Comprehension,
    EmptyDictionary,
    Expression,
    Extent,
    Generator,
    If,
    Let,
    Mapped,
    Merge,
    Name,
    Number,
    Range,
    Singleton,
    Sum,
    Text,
    Truth,
    Unary,
    Unique,
    Where,
    Window,
)


class Strength(IntEnum):
    """How tightly a form holds together, loosest first.

    ``OPEN`` forms reach as far to the right as they can; a ``LOOP`` is one whose body is
    multiplicative.
    """

    OPEN = auto()
    OR = auto()
    AND = auto()
    NOT = auto()
    COMPARISON = auto()
    RANGE = auto()
    BIT_OR = auto()
    BIT_XOR = auto()
    BIT_AND = auto()
    SHIFT = auto()
    ADDITIVE = auto()
    LOOP = auto()
    MULTIPLICATIVE = auto()
    NEGATION = auto()
    APPLICATION = auto()


OPERATORS: dict[str, Strength] = {
    "or": Strength.OR,
    "and": Strength.AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), Strength.COMPARISON),
    "|": Strength.BIT_OR,
    "^": Strength.BIT_XOR,
    "&": Strength.BIT_AND,
    **dict.fromkeys(("<<", ">>"), Strength.SHIFT),
    **dict.fromkeys(("+", "-"), Strength.ADDITIVE),
    **dict.fromkeys(("*", "/", "//", "%"), Strength.MULTIPLICATIVE),
}


def render(expression: Expression) -> str:
    """Return ``expression`` as text.

    >>> render(Binary("*", Binary("+", Name("a"), Name("b")), Unary("-", Unary("-", Name("c")))))
    '(a + b) * - -c'
    """
    match expression:
        case Name(name):
            return name
        case Number(value):
            return _number(value)
        case Truth(value):
            return "true" if value else "false"
        case Text(value):
            return quoted(value)
        case Sum(generators, body, where):
            return f"sum({_generators(generators)}{_where(where)}) {_body(body)}"
        case Comprehension(monoid, generators, body):
            head = f"{monoid}({_generators(generators)})"
            return head if body is None else f"{head} {_body(body)}"
        case Singleton(keys, value):
            return f"{{ {_keys([render(key) for key in keys])} -> {render(value)} }}"
        case EmptyDictionary():
            return "{}"
        case Call(function, arguments):
            return f"{_at(function, Strength.APPLICATION)}({_list(arguments)})"
        case Range(low, high):
            return f"{_at(low, Strength.BIT_OR)}:{_at(high, Strength.BIT_OR)}"
        case BlankRange():
            return "_"
        case Let(binder, value, body):
            return f"let {_binder(binder)} = {render(value)} in {render(body)}"
        case If(condition, positive, negative):
            head = f"if {render(condition)} then"
            if negative is None:
                return f"{head} {render(positive)}"
            return f"{head} {_at(positive, Strength.OR)} else {render(negative)}"
        case Binary(operator, left, right):
            return _binary(operator, left, right)
        case Unary("-", operand):
            text = _at(operand, Strength.NEGATION)
            return f"- {text}" if text.startswith("-") else f"-{text}"
        case Unary(operator, operand):
            return f"{operator} {_at(operand, Strength.NOT)}"
        case Merge(p, q, k, left, right, body):
            names = f"<{_binder(p)}, {_binder(q)}, {_binder(k)}>"
            sources = f"<{_at(left, Strength.RANGE)}, {_at(right, Strength.RANGE)}>"
            return f"merge({names} in {sources}) {_body(body)}"
        case Window():
            return _window(expression)
        case Unique(key):
            return f"unique({render(key)})"
        case Extent(tensor, dimension):
            return f"extent({render(tensor)}, {dimension})"
        case Mapped(_, mapping):
            return render(mapping)


def _window(window: Window) -> str:
    ordered = "" if window.ordered is None else f"{render(window.ordered)} "
    return f"{window.function}({ordered}WITHIN {_list(window.within)})"


def strength(expression: Expression) -> Strength:
    """Return how tightly the text of ``expression`` holds together."""
    match expression:
        case Let() | If():
            return Strength.OPEN
        case Sum(body=body) | Merge(body=body):
            return _loop_strength(body)
        case Comprehension(_, _, body):
            return Strength.APPLICATION if body is None else _loop_strength(body)
        case Binary(operator):
            return OPERATORS[operator]
        case Unary(operator):
            return Strength.NEGATION if operator == "-" else Strength.NOT
        case Range():
            return Strength.RANGE
        case Mapped(_, mapping):
            return strength(mapping)
        case (
            Name() | Number() | Truth() | Text() | Singleton() | EmptyDictionary() | Call()
            | BlankRange() | Unique() | Extent() | Window()
        ):  # fmt: skip
            return Strength.APPLICATION


def _loop_strength(body: Expression) -> Strength:
    return Strength.OPEN if strength(body) is Strength.OPEN else Strength.LOOP


def render_type(annotation: TypeAnnotation) -> str:
    """Return ``real[m, n]``."""
    if not annotation.extents:
        return annotation.scalar
    opening, closing = "{}" if annotation.is_hash else "[]"
    return f"{annotation.scalar}{opening}{_list(annotation.extents)}{closing}"


def render_format(reference: FormatReference) -> str:
    """Return what follows ``STORED AS``.

    >>> order = TupleArgument((Number(1), Number(0)))
    >>> render_format(FormatReference("levels", (Name("dense"), Name("dense")), (("order", order),)))
    'levels(dense, dense; order=(1, 0))'
    """
    positional = ", ".join(_argument(argument) for argument in reference.arguments)
    keywords = ", ".join(f"{name}={_argument(value)}" for name, value in reference.keywords)
    given = "; ".join(part for part in (positional, keywords) if part)
    return f"{reference.name}({given})" if given else reference.name


def render_operand(expression: Expression) -> str:
    """Return the text of what may stand on a side of ``:``."""
    return _at(expression, Strength.BIT_OR)


def quoted(text: str) -> str:
    """Return ``text`` in quotes."""
    return "'" + text.replace("'", "''") + "'"


def _argument(argument: FormatArgument) -> str:
    if isinstance(argument, TupleArgument):
        end = "," if len(argument.items) == 1 else ""  # a number in parentheses is that number
        return f"({_list(argument.items)}{end})"
    return render_format(argument) if isinstance(argument, FormatReference) else render(argument)


def _number(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "nan"
    return "inf" if math.isinf(value) else repr(value)


def _at(expression: Expression, least: Strength) -> str:
    """Return the text of ``expression``, in parentheses if it is looser than ``least``."""
    text = render(expression)
    return text if strength(expression) >= least else f"({text})"


def _body(body: Expression) -> str:
    """Return the body of a loop: one multiplicative term, or a form that is open to the right."""
    is_open = strength(body) is Strength.OPEN
    return render(body) if is_open else _at(body, Strength.LOOP)


def _binary(operator: str, left: Expression, right: Expression) -> str:
    """Operators group to the left; comparisons do not group at all."""
    own = OPERATORS[operator]
    tighter = Strength(own + 1)
    least = tighter if own is Strength.COMPARISON else own
    return f"{_at(left, least)} {operator} {_at(right, tighter)}"


def _binder(binder: Binder) -> str:
    return binder.name or "_"


def _keys(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"({', '.join(keys)})"


def _generators(generators: Iterable[Generator]) -> str:
    return ", ".join(
        f"{render_binders(generator.keys, generator.value)} in {render(generator.source)}"
        for generator in generators
    )


def render_binders(keys: Sequence[Binder], value: Binder) -> str:
    """Return ``<(i, j), v>``."""
    return f"<{_keys([_binder(key) for key in keys])}, {_binder(value)}>"


def _where(conditions: Sequence[Where]) -> str:
    if not conditions:
        return ""
    return " where " + ", ".join(f"{each.name} in {_at(each.range, Strength.RANGE)}" for each in conditions)


def _list(expressions: Iterable[Expression]) -> str:
    return ", ".join(render(expression) for expression in expressions)
