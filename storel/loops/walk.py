"""All statements of a body and all parts of an expression, from the outside in, in the order of the text.

And the same statements and expressions with others in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from storel.loops.nodes import (
    Assign,
    Binary,
    Cast,
    Constant,
    Declare,
    Expression,
    Fail,
    For,
    If,
    Load,
    Local,
    Select,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)

LONGEST = 1_000
"""Parts up to which an expression is written out where a local stands for it: of a chain of locals, each
used twice in the next one, it is as long as there are paths through the chain."""


def walk(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of ``body``, and of the bodies inside it."""
    for statement in body:
        yield statement
        match statement:
            case For(body=inner) | While(body=inner):
                yield from walk(inner)
            case If(_, inner, otherwise):
                yield from walk(inner)
                yield from walk(otherwise)
            case _:
                pass


def evaluated(statement: Statement) -> tuple[Expression, ...]:
    """Return the expressions that a statement itself evaluates."""
    match statement:
        case Declare(_, value) | Assign(_, value):
            return (value,)
        case Store(_, index, value) | Update(_, index, _, value):
            return (index, value)
        case For(_, low, high) | Sort(_, low, high):
            return (low, high)
        case While(condition) | If(condition):
            return (condition,)
        case Fail(_, detail):
            return (detail,)


def operands(expression: Expression) -> tuple[Expression, ...]:
    """Return what an expression is made of."""
    match expression:
        case Constant() | Local():
            return ()
        case Load(_, operand) | Unary(_, operand) | Cast(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Select(condition, positive, negative):
            return (condition, positive, negative)


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it."""
    yield expression
    for operand in operands(expression):
        yield from parts(operand)


def certain(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it that may be evaluated whatever the rest of it is."""
    yield expression
    for operand in certain_operands(expression):
        yield from certain(operand)


def certain_operands(expression: Expression) -> tuple[Expression, ...]:
    """Return what an expression is made of, but what only something before it may let be evaluated."""
    is_guard = isinstance(expression, Binary) and expression.operator in ("and", "or")
    return operands(expression)[: 1 if is_guard else None]


def loads_of(expression: Expression) -> list[Load]:
    """Return all that an expression reads from buffers."""
    return [part for part in parts(expression) if isinstance(part, Load)]


def mapped(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return an expression with what it is made of changed."""
    match expression:
        case Constant() | Local():
            return expression
        case Load(buffer, index):
            return Load(buffer, change(index))
        case Binary(operator, left, right, role):
            return Binary(operator, change(left), change(right), role)
        case Unary(operator, operand, role):
            return Unary(operator, change(operand), role)
        case Cast(to, operand):
            return Cast(to, change(operand))
        case Select(condition, positive, negative, branchless):
            return Select(change(condition), change(positive), change(negative), branchless)


def substituted(expression: Expression, values: Mapping[Local, Expression]) -> Expression:
    """Return an expression with values in the place of locals."""
    if isinstance(expression, Local):
        return values.get(expression, expression)
    return mapped(expression, lambda part: substituted(part, values))


def replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with ``new`` in the place of ``old``."""
    return new if expression == old else mapped(expression, lambda part: replaced(part, old, new))


def rewritten(
    body: tuple[Statement, ...], change: Callable[[Expression], Expression]
) -> tuple[Statement, ...]:
    """Return statements with all that they evaluate changed, and what is in them, too."""
    return tuple(_rewritten(statement, change) for statement in body)


def _rewritten(statement: Statement, change: Callable[[Expression], Expression]) -> Statement:
    match statement:
        case Declare(_, value) | Assign(_, value):
            return replace(statement, value=change(value))
        case Store(_, index, value) | Update(_, index, _, value):
            return replace(statement, index=change(index), value=change(value))
        case For(_, low, high, body):
            return replace(statement, low=change(low), high=change(high), body=rewritten(body, change))
        case While(condition, body):
            return replace(statement, condition=change(condition), body=rewritten(body, change))
        case If(condition, body, otherwise):
            branches = rewritten(body, change), rewritten(otherwise, change)
            return If(change(condition), *branches, statement.is_total)
        case Sort(_, low, high):
            return replace(statement, low=change(low), high=change(high))
        case Fail(_, detail):
            return replace(statement, detail=change(detail))


def note(declared: Declare, known: dict[Local, Expression]) -> bool:
    """Add the value of a local to those that are ``known``, by which it is said; return whether it was added.

    It is not where it would be too long.
    """
    value = substituted(declared.value, known)
    is_short = sum(1 for _ in parts(value)) <= LONGEST
    if is_short:
        known[declared.local] = value
    return is_short


def all_parts(expressions: Iterable[Expression]) -> Iterator[Expression]:
    """Yield expressions and everything inside them."""
    return (part for expression in expressions for part in parts(expression))
