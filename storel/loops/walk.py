"""All statements of a body and all parts of an expression, from the outside in, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it."""
    yield expression
    match expression:
        case Constant() | Local():
            pass
        case Load(_, index):
            yield from parts(index)
        case Binary(_, left, right):
            yield from all_parts((left, right))
        case Unary(_, operand) | Cast(_, operand):
            yield from parts(operand)
        case Select(condition, positive, negative):
            yield from all_parts((condition, positive, negative))


def loads_of(expression: Expression) -> list[Load]:
    """Return all that an expression reads from buffers."""
    return [part for part in parts(expression) if isinstance(part, Load)]


def substituted(expression: Expression, values: Mapping[Local, Expression]) -> Expression:
    """Return an expression with values in the place of locals."""
    match expression:
        case Constant():
            return expression
        case Local():
            return values.get(expression, expression)
        case Load(buffer, index):
            return Load(buffer, substituted(index, values))
        case Binary(operator, left, right, role):
            return Binary(operator, substituted(left, values), substituted(right, values), role)
        case Unary(operator, operand, role):
            return Unary(operator, substituted(operand, values), role)
        case Cast(to, operand):
            return Cast(to, substituted(operand, values))
        case Select(condition, positive, negative, branchless):
            chosen = substituted(positive, values), substituted(negative, values)
            return Select(substituted(condition, values), *chosen, branchless)


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
