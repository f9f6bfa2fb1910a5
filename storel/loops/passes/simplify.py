"""Peephole simplification, from the leaves up; ``LAWS`` and the ``match`` below it are all there is.

Expressions have no effects, so a law may drop one. A law on reals holds for NaN, inf and rounding; only the
sign of a zero may be lost, which no program can see. Constants are folded by ``arithmetic``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from storel.loops import arithmetic
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
    Kernel,
    Procedure,
    Select,
    Sort,
    Statement,
    Store,
    Unary,
    Update,
    While,
)
from storel.loops.types import ANY, INTEGERS, NUMBERS, PREDICATES, type_of
from storel.loops.walk import mapped
from storel.scalars import ScalarType

X = "x"  # stands for any expression, the same one in both places
Pattern: TypeAlias = str | int | bool

# operator, left, right, result, the types of the operands for which it holds
LAWS: tuple[tuple[str, Pattern, Pattern, Pattern, frozenset[ScalarType]], ...] = (
    ("add", X, 0, X, NUMBERS),
    ("add", 0, X, X, NUMBERS),
    ("subtract", X, 0, X, NUMBERS),
    ("subtract", X, X, 0, INTEGERS),
    ("multiply", X, 1, X, NUMBERS),
    ("multiply", 1, X, X, NUMBERS),
    ("multiply", X, 0, 0, INTEGERS),
    ("multiply", 0, X, 0, INTEGERS),
    ("divide", X, 1, X, NUMBERS),
    ("floor_divide", X, 1, X, INTEGERS),
    ("modulo", X, 1, 0, INTEGERS),
    ("shift_left", X, 0, X, INTEGERS),
    ("shift_right", X, 0, X, INTEGERS),
    ("bit_or", X, 0, X, INTEGERS),
    ("bit_or", 0, X, X, INTEGERS),
    ("bit_and", X, 0, 0, INTEGERS),
    ("bit_and", 0, X, 0, INTEGERS),
    ("minimum", X, X, X, ANY),
    ("maximum", X, X, X, ANY),
    ("equal", X, X, True, INTEGERS),
    ("less_equal", X, X, True, INTEGERS),
    ("less", X, X, False, INTEGERS),
    ("not_equal", X, X, False, INTEGERS),
    ("and", X, True, X, ANY),
    ("and", True, X, X, ANY),
    ("and", X, False, False, ANY),
    ("and", False, X, False, ANY),
    ("or", X, False, X, ANY),
    ("or", False, X, X, ANY),
    ("or", X, True, True, ANY),
    ("or", True, X, True, ANY),
)


def simplify(kernel: Kernel) -> Kernel:
    """Return an equivalent kernel by the laws above."""
    divide = None if kernel.divide is None else _procedure(kernel.divide)
    return replace(kernel, bound=_procedure(kernel.bound), compute=_procedure(kernel.compute), divide=divide)


def _procedure(procedure: Procedure) -> Procedure:
    return replace(procedure, body=block(procedure.body))


def block(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return equivalent statements."""
    return tuple(simple for statement in statements for simple in simplify_statement(statement))


def simplify_statement(statement: Statement) -> tuple[Statement, ...]:
    """Return the statements that ``statement`` amounts to.

    if true {a} else {b} = a;  if false {a} else {b} = b;  if c {} else {} = nothing;
    if c {} else {b} = if not c {b};  for x in l:h {…} = nothing where h <= l;  for x in l:h {} = nothing;
    while false {…} = nothing;  x = x  is nothing.
    """
    match statement:
        case Declare(local, value):
            return (Declare(local, expression(value)),)
        case Assign(local, value):
            value = expression(value)
            return () if value == local else (Assign(local, value),)
        case Store(buffer, index, value):
            return (Store(buffer, expression(index), expression(value)),)
        case Update(buffer, index, operator, value):
            return (Update(buffer, expression(index), operator, expression(value)),)
        case For():
            return _for(statement)
        case While(condition, body, role):
            condition = expression(condition)
            return () if _is(condition, False) else (While(condition, block(body), role),)
        case If(condition, body, otherwise):
            return _if(expression(condition), block(body), block(otherwise), is_total=statement.is_total)
        case Sort(buffer, low, high):
            return (Sort(buffer, expression(low), expression(high)),)
        case Fail(code, detail):
            return (Fail(code, expression(detail)),)


def _for(loop: For) -> tuple[Statement, ...]:
    low, high, body = expression(loop.low), expression(loop.high), block(loop.body)
    is_empty = low == high or (
        isinstance(low, Constant) and isinstance(high, Constant) and high.value <= low.value
    )
    return () if is_empty or not body else (replace(loop, low=low, high=high, body=body),)


def _if(
    condition: Expression, body: tuple[Statement, ...], otherwise: tuple[Statement, ...], *, is_total: bool
) -> tuple[Statement, ...]:
    if isinstance(condition, Constant):
        return body if condition.value else otherwise
    if not body:
        return (If(expression(Unary("not", condition)), otherwise),) if otherwise else ()
    return (If(condition, body, otherwise, is_total),)


def expression(this: Expression) -> Expression:
    """Return an equivalent expression.

    (T) x = x where x has type T;  c ? x : x = x;  true ? x : y = x;  not not x = x; and ``LAWS``.

    >>> from storel.loops.nodes import Local
    >>> i, zero = Local("i", ScalarType.INT64), Constant(0, ScalarType.INT64)
    >>> expression(Binary("add", Binary("multiply", i, zero), i)) == i
    True
    """
    match mapped(this, expression):
        case Binary() as made:
            return _binary(made)
        case Unary() as made:
            return _unary(made)
        case Cast(to, operand):
            return _cast(to, operand)
        case Select() as made:
            return _select(made)
        case made:
            return made


def _binary(this: Binary) -> Expression:
    operator, left, right, of = this.operator, this.left, this.right, type_of(this.left)
    if isinstance(left, Constant) and isinstance(right, Constant):
        a, b = arithmetic.cast(of, left.value), arithmetic.cast(right.type, right.value)
        return Constant(arithmetic.binary(operator, of, a, b), type_of(this))
    for law_operator, law_left, law_right, result, types in LAWS:
        if operator == law_operator and of in types and _matches(law_left, left, law_right, right):
            if result == X:
                return left if law_left == X else right
            assert not isinstance(result, str)
            return Constant(result, type_of(this))
    return this


def _matches(law_left: Pattern, left: Expression, law_right: Pattern, right: Expression) -> bool:
    if law_left == law_right == X:
        return left == right
    return (law_left == X or _is(left, law_left)) and (law_right == X or _is(right, law_right))


def _is(this: Expression, value: Pattern) -> bool:
    return isinstance(this, Constant) and this.value == value


def _unary(this: Unary) -> Expression:
    match this:
        case Unary("not", Unary("not", operand)):
            return operand
        case Unary(operator, Constant(value, of)) if not (operator == "trailing_zeros" and value == 0):
            value = arithmetic.unary(operator, of, arithmetic.cast(of, value))
            return Constant(value, ScalarType.BOOL if operator in PREDICATES else of)
        case _:
            return this


def _cast(to: ScalarType, operand: Expression) -> Expression:
    if isinstance(operand, Constant):
        return Constant(arithmetic.cast(to, arithmetic.cast(operand.type, operand.value)), to)
    return operand if type_of(operand) is to else Cast(to, operand)


def _select(this: Select) -> Expression:
    if isinstance(this.condition, Constant):
        return this.positive if this.condition.value else this.negative
    return this.positive if this.positive == this.negative else this
